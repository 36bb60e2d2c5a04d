"""Waiting on the cluster's clock: a future with a time limit, and a gate that opens and closes."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from clusters.emulated.clock import Clock

T = TypeVar("T")


async def within(clock: Clock, future: asyncio.Future[T], limit_s: float) -> T:
    """The future's result, or TimeoutError after `limit_s` of cluster time. The future itself goes on."""
    if future.done():
        return future.result()
    waiter: asyncio.Future[None] = future.get_loop().create_future()

    def wake(_: object = None) -> None:
        if not waiter.done():
            waiter.set_result(None)

    timer = clock.call_later(limit_s, wake)
    future.add_done_callback(wake)
    try:
        await waiter
    finally:
        timer.cancel()
        future.remove_done_callback(wake)
    if future.done():
        return future.result()
    raise TimeoutError


class Gate:
    """Open, or closed by any number of reasons; `wait` returns at once when it is open."""

    def __init__(self) -> None:
        self._closed_by = 0
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def is_open(self) -> bool:
        return self._closed_by == 0

    def close(self) -> None:
        self._closed_by += 1

    def open(self) -> None:
        assert self._closed_by > 0, "the gate is open already"
        self._closed_by -= 1
        if self._closed_by == 0:
            waiters, self._waiters = self._waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)

    async def wait(self, clock: Clock | None = None, limit_s: float = 0.0) -> None:
        """Until the gate is open; with a limit, TimeoutError when it stays closed so long."""
        while self._closed_by:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            if clock is None:
                await waiter
            else:
                await within(clock, waiter, limit_s)
