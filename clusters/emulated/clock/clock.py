"""Clocks: what time it is in the cluster, and how to wait for a later one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Cluster time. `now_s` is Unix time, `monotonic_s` never goes back; both run at the cluster's pace."""

    def now_s(self) -> float: ...

    def monotonic_s(self) -> float: ...

    async def sleep(self, delay_s: float) -> None: ...

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle: ...

    def io(self) -> AbstractContextManager[None]:
        """Around waiting for something real (a socket, a disk): virtual time stands still meanwhile."""
        ...


class RealClock:
    """Cluster time is the machine's time."""

    def now_s(self) -> float:
        return time.time()

    def monotonic_s(self) -> float:
        return time.monotonic()

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(delay_s, callback)

    def io(self) -> AbstractContextManager[None]:
        return nullcontext()


class ScaledClock:
    """Cluster time runs `factor` times as fast as the machine's, starting from the machine's now.

    With factor 60, `sleep(30)` returns after half a second and the stamps are 30 s apart.
    """

    def __init__(self, factor: float) -> None:
        if not factor > 0:
            raise ValueError(f"a clock cannot run at {factor} times real time; give a factor above 0")
        self._factor = factor
        self._wall_start_s = time.time()
        self._start_s = time.monotonic()

    def now_s(self) -> float:
        return self._wall_start_s + self.monotonic_s()

    def monotonic_s(self) -> float:
        return (time.monotonic() - self._start_s) * self._factor

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s / self._factor)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(delay_s / self._factor, callback)

    def io(self) -> AbstractContextManager[None]:
        return nullcontext()


def rfc3339(unix_s: float) -> str:
    """Seconds since the epoch as metav1.Time writes them, e.g. `2026-11-18T09:08:45Z`."""
    return datetime.fromtimestamp(int(unix_s), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(unix_s: float) -> str:
    """Seconds since the epoch as metav1.MicroTime writes them, e.g. `2026-11-18T09:08:45.660000Z`."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
