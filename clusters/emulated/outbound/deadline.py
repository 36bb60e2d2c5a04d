"""A deadline in cluster time around a block of waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Self

from clusters.emulated.clock import Clock


class Deadline:
    """Cancels the block when `seconds` of cluster time have passed, and raises what `error` makes instead.

    `asyncio.timeout` would do the same by the machine's time, which is not the cluster's.
    """

    def __init__(self, clock: Clock, seconds: float | None, error: Callable[[], Exception]) -> None:
        self._clock = clock
        self._seconds = seconds
        self._error = error
        self._expired = False
        self._timer: asyncio.TimerHandle | None = None
        self._cancelling = 0

    async def __aenter__(self) -> Self:
        if self._seconds is not None:
            task = asyncio.current_task()
            assert task is not None, "a deadline is set inside a task"
            self._cancelling = task.cancelling()

            def expire() -> None:
                self._expired = True
                task.cancel()

            self._timer = self._clock.call_later(max(0.0, self._seconds), expire)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._expired:
            task = asyncio.current_task()
            # Somebody else's cancellation that came at the same time stays one.
            if task is not None and task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
                raise self._error() from error
