"""A clock that stands still until a test advances it: timers fire in order, at exactly their time."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

YIELDS = 12  # turns of the loop that let everything runnable run before time moves on


class SteppedClock:
    def __init__(self) -> None:
        self._now_s = 1000.0
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._count = 0

    def now_s(self) -> float:
        return self._now_s

    def monotonic_s(self) -> float:
        return self._now_s

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        due_s = self._now_s + delay_s
        handle = asyncio.TimerHandle(due_s, callback, (), asyncio.get_running_loop())
        self._count += 1
        heapq.heappush(self._timers, (due_s, self._count, handle))
        return handle

    def io(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def sleep(self, delay_s: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        self.call_later(delay_s, lambda: woken.done() or woken.set_result(None))
        await woken

    async def advance(self, seconds: float) -> None:
        """Moves time on, stopping at every timer on the way."""
        end_s = self._now_s + seconds
        await settle()
        while self._timers and self._timers[0][0] <= end_s:
            due_s, _, handle = heapq.heappop(self._timers)
            if not handle.cancelled():
                self._now_s = due_s
                handle._run()
                await settle()
        self._now_s = end_s
        await settle()


async def settle() -> None:
    for _ in range(YIELDS):
        await asyncio.sleep(0)
