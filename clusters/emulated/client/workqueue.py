"""The queue between handlers and workers, with client-go's promises.

An item is in the queue at most once, is worked on by at most one worker, and is never lost: what is added while
it is worked on is queued again when the worker is `done`.

    add(a) add(a)      queue: a
    get() -> a         queue: -     processing: a
    add(a)             queue: -     processing: a   dirty: a
    done(a)            queue: a
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from typing import Generic, TypeVar

from clusters.emulated.clock import Clock, Randomness

T = TypeVar("T", bound=Hashable)


class QueueShutDownError(Exception):
    """The queue gives no more work: the worker ends."""


class WorkQueue(Generic[T]):
    """First in, first out. Retries wait `base_s`, doubled per failure up to `max_s`, and for the common bucket
    of `qps` with `burst`, whichever is longer."""

    def __init__(
        self,
        clock: Clock,
        randomness: Randomness,
        base_s: float = 0.005,
        max_s: float = 1000,
        qps: float = 10,
        burst: int = 100,
    ) -> None:
        self._clock = clock
        self._randomness = randomness
        self._base_s = base_s
        self._max_s = max_s
        self._qps = qps
        self._burst = burst
        self._tokens = float(burst)
        self._filled_at_s = 0.0
        self._queue: deque[T] = deque()
        self._dirty: set[T] = set()
        self._processing: set[T] = set()
        self._failures: dict[T, int] = {}
        self._waiting: dict[T, tuple[float, asyncio.TimerHandle]] = {}
        self._getters: deque[asyncio.Future[None]] = deque()
        self._ended = False

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def idle(self) -> bool:
        """Nothing is queued and nobody works; what waits for its time does not count."""
        return not self._queue and not self._processing

    # In

    def add(self, item: T) -> None:
        if self._ended or item in self._dirty:
            return
        self._dirty.add(item)
        if item not in self._processing:
            self._queue.append(item)
            self._wake()

    def add_after(self, item: T, delay_s: float, jitter: float = 0.0) -> None:
        """Adds it once `delay_s` have passed, lengthened by up to `jitter` times itself.

        Of several times for the same item the earliest counts.
        """
        if jitter:
            delay_s += delay_s * jitter * self._randomness.fraction()
        if delay_s <= 0:
            self.add(item)
            return
        if self._ended:
            return
        due_s = self._clock.monotonic_s() + delay_s
        planned = self._waiting.get(item)
        if planned is not None:
            if planned[0] <= due_s:
                return
            planned[1].cancel()

        def due() -> None:
            del self._waiting[item]
            self.add(item)

        self._waiting[item] = (due_s, self._clock.call_later(delay_s, due))

    def add_rate_limited(self, item: T) -> None:
        failures = self._failures.get(item, 0)
        self._failures[item] = failures + 1
        # The exponent is bounded because 2.0 ** 1024 is no float.
        own_s = min(self._base_s * 2.0 ** min(failures, 64), self._max_s)
        self.add_after(item, max(own_s, self._reserve_s()))

    def forget(self, item: T) -> None:
        """It succeeded, or is given up: the next failure is the first again."""
        self._failures.pop(item, None)

    def num_requeues(self, item: T) -> int:
        return self._failures.get(item, 0)

    def _reserve_s(self) -> float:
        """Takes a token from the common bucket; how long until it is there."""
        now_s = self._clock.monotonic_s()
        self._tokens = min(self._burst, self._tokens + (now_s - self._filled_at_s) * self._qps) - 1
        self._filled_at_s = now_s
        return max(0.0, -self._tokens / self._qps)

    # Out

    async def get(self) -> T:
        """The next item, to be given back with `done`. Raises `QueueShutDownError` when there will be none."""
        while not self._queue:
            if self._ended:
                raise QueueShutDownError
            getter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._getters.append(getter)
            try:
                await getter
            except asyncio.CancelledError:
                if getter.done() and not getter.cancelled():
                    self._wake()  # It was our turn; let somebody else have it.
                else:
                    self._getters.remove(getter)
                raise
        item = self._queue.popleft()
        self._processing.add(item)
        self._dirty.discard(item)
        return item

    def done(self, item: T) -> None:
        self._processing.discard(item)
        if item in self._dirty:
            self._queue.append(item)
            self._wake()

    def shut_down(self) -> None:
        """Takes nothing more; what is queued is still given out, what waits for its time is not."""
        self._ended = True
        for _, timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()
        while self._getters:
            self._wake()

    def _wake(self) -> None:
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return
