"""An event loop whose time is virtual. `virtual.py` says what it promises; this is how.

asyncio asks its selector to wait when no callback is ready. That is the one moment at which time may move, and the
selector here decides, in this order:

    something came from outside        deal with it
    real I/O is pending                wait for it, up to `io_patience_s` of real time
    a call of the test's thread waits  begin it
    somebody waits for time to pass    jump to the next timer, or to the end of the wait
    otherwise                          sleep until something comes from outside
"""

from __future__ import annotations

import asyncio
import logging
import selectors
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeVar, TypeVarTuple, Unpack

log = logging.getLogger(__name__)

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
_Events = list[tuple[selectors.SelectorKey, int]]


@dataclass(eq=False, slots=True)
class Wait:
    """Somebody waits for time to pass until `until_s`, or until there has been `enough`."""

    until_s: float
    enough: Callable[[], bool] | None
    ended: Callable[[], object]
    expired: bool = False


class VirtualEventLoop(asyncio.SelectorEventLoop):
    """Real sockets and threads work; timers and `time()` are virtual."""

    def __init__(self, io_patience_s: float) -> None:
        self._now_s = 0.0
        #: Real I/O on its way, and since when in real time, the youngest last.
        self._io: dict[int, float] = {}
        self._io_count = 0
        #: How many waits there are that I/O hangs for, on purpose.
        self.hanging = 0
        self._io_patience_s = io_patience_s
        self._calls: deque[Callable[[], None]] = deque()
        self._waits: list[Wait] = []
        self._outside = selectors.DefaultSelector()
        #: How often time has jumped; for figures.
        self.jumps = 0
        super().__init__(_QuiescentSelector(self._outside, self._at_rest))

    def time(self) -> float:
        return self._now_s

    # Real I/O

    def io_began(self) -> int:
        """Notes that time has to stand still until `io_ended` is called with what this returns."""
        self._io_count += 1
        self._io[self._io_count] = time.monotonic()
        return self._io_count

    def io_ended(self, began: int) -> None:
        del self._io[began]

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Ts]], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Work in threads (fsync, name lookups) is real I/O as well."""
        future = super().run_in_executor(executor, func, *args)
        began = self.io_began()
        future.add_done_callback(lambda _: self.io_ended(began))
        return future

    # Waits; all but `post` belong to the loop's thread

    def post(self, call: Callable[[], None]) -> None:
        """Has `call` called in the loop once it is at rest; from any thread."""
        self._calls.append(call)
        self._write_to_self()  # type: ignore[attr-defined]

    def begin_wait(self, until_s: float, enough: Callable[[], bool] | None, ended: Callable[[], object]) -> Wait:
        wait = Wait(until_s, enough, ended)
        self._waits.append(wait)
        return wait

    def end_wait(self, wait: Wait) -> None:
        if wait in self._waits:
            self._waits.remove(wait)

    # Rest

    def _at_rest(self) -> _Events:
        """Nothing is runnable. Returns what came from outside, or nothing after making something runnable."""
        while True:
            events = self._from_outside()
            if events or self._ready:  # type: ignore[attr-defined]
                return events
            if self._calls:
                self._calls.popleft()()
                return []
            if not self._waits:
                return self._outside.select(None)
            if self._move():
                return []

    def _from_outside(self) -> _Events:
        if len(self._outside.get_map()) > 1:
            events = self._outside.select(0)
            if events:
                return events
        # Otherwise there is only the pipe that wakes us, and nobody sleeps here: asking would only cost time.
        return self._await_io() if self._io and not self.hanging else []

    def _await_io(self) -> _Events:
        """Waits for I/O that is younger than `io_patience_s`. What is older hangs, and the deadlines that could
        end it are in virtual time: they would never come if time stood still."""
        youngest_s = next(reversed(self._io.values()))
        left_s = youngest_s + self._io_patience_s - time.monotonic()
        return self._outside.select(left_s) if left_s > 0 else []

    def _move(self) -> bool:
        """Moves time to what comes next; whether that made something runnable."""
        for wait in self._waits:
            if wait.enough is not None and wait.enough():
                self._finish(wait)
                return False
        first = min(self._waits, key=_until)
        scheduled = self._scheduled  # type: ignore[attr-defined]
        if scheduled and scheduled[0]._when <= first.until_s:
            self._now_s = max(self._now_s, scheduled[0]._when)
            self.jumps += 1
            return True
        self._now_s = max(self._now_s, first.until_s)
        first.expired = True
        self._finish(first)
        return False

    def _finish(self, wait: Wait) -> None:
        self._waits.remove(wait)
        wait.ended()


def _until(wait: Wait) -> float:
    return wait.until_s


class _QuiescentSelector(selectors.BaseSelector):
    """A real selector that asks `at_rest` instead of waiting."""

    def __init__(self, outside: selectors.BaseSelector, at_rest: Callable[[], _Events]) -> None:
        self._outside = outside
        self._at_rest = at_rest
        # The loop calls these very often; there is nothing to add to them.
        self.register = outside.register  # type: ignore[method-assign]
        self.unregister = outside.unregister  # type: ignore[method-assign]
        self.modify = outside.modify  # type: ignore[method-assign]

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._outside.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._outside.unregister(fileobj)

    def select(self, timeout: float | None = None) -> _Events:
        if timeout is not None and timeout <= 0:
            # Something is runnable. Sockets have their turn as well, unless there are none.
            return self._outside.select(0) if len(self._outside.get_map()) > 1 else []
        return self._at_rest()

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._outside.get_map()

    def close(self) -> None:
        self._outside.close()
