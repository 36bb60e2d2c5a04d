"""Virtual time: it stands still, and while somebody waits it jumps from timer to timer.

    clock = VirtualClock()
    with clock.running():                       # its event loop, in a thread of its own
        clock.run(cluster.start())              # a coroutine in the loop; time moves only if it has to
        clock.advance(300)                      # five minutes, in as long as the work in them takes
        clock.wait_until(lambda: ..., within_s=600)

Time moves only inside `advance`, `wait_until` and a `run` that waits for a timer, only when nothing is runnable,
and never while real I/O is pending (`io`, and everything in executor threads). What the test's thread asks for is
begun when the loop is quiescent, so the same calls with the same seed give the same order of everything.
Between the waits time is frozen, and requests from outside are served.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from clusters.emulated.clock.virtual_loop import VirtualEventLoop

T = TypeVar("T")

#: 2026-01-01T00:00:00Z
EPOCH_S: Final = 1767225600.0
#: No call of a test takes longer than this; it is stuck on something that will never come.
CALL_MAX_S: Final = 24 * 3600.0
#: How often `wait_until` looks at least, however little happens.
LOOK_EVERY_S: Final = 1.0


class VirtualTimeoutError(TimeoutError):
    """So much cluster time has passed in vain."""


class VirtualClock:
    """A `Clock` with its own event loop. I/O that is older than `io_patience_s` of real time counts as hanging, and
    no longer keeps time from moving."""

    def __init__(self, epoch_s: float = EPOCH_S, *, io_patience_s: float = 5.0) -> None:
        self.epoch_s = epoch_s
        self._loop = VirtualEventLoop(io_patience_s)
        self._thread: threading.Thread | None = None

    # Clock

    def now_s(self) -> float:
        return self.epoch_s + self._loop.time()

    def monotonic_s(self) -> float:
        return self._loop.time()

    async def sleep(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return self._loop.call_later(delay_s, callback)

    @contextmanager
    def io(self) -> Iterator[None]:
        began = self._loop.io_began()
        try:
            yield
        finally:
            self._loop.io_ended(began)

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Around a wait that I/O in this loop hangs for, on purpose: time goes on although that I/O is pending."""
        self._loop.hanging += 1
        try:
            yield
        finally:
            self._loop.hanging -= 1

    @property
    def loop(self) -> VirtualEventLoop:
        return self._loop

    # From the test's thread

    def start(self) -> None:
        """Runs the loop in a thread of its own."""
        assert self._thread is None, "the loop runs already"
        self._thread = threading.Thread(target=self._loop.run_forever, name="kaput-virtual", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the loop, for good."""
        assert self._thread is not None, "the loop does not run"
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @contextmanager
    def running(self) -> Iterator[VirtualClock]:
        self.start()
        try:
            yield self
        finally:
            self.stop()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Carries out a coroutine in the loop, begun when everything else has come to rest at this instant.

        Time moves if the work waits for some; what it sets off beside itself goes on after it.
        """
        done: Future[T] = Future()

        def begin() -> None:
            task = self._loop.create_task(work)
            wait = self._loop.begin_wait(self._loop.time() + CALL_MAX_S, None, lambda: task.cancel())

            def ended(_: asyncio.Task[T]) -> None:
                self._loop.end_wait(wait)
                if done.done():
                    return  # Given up.
                if task.cancelled():
                    done.set_exception(_call_ended(wait.expired))
                elif (error := task.exception()) is not None:
                    done.set_exception(error)
                else:
                    done.set_result(task.result())

            task.add_done_callback(ended)
            done.add_done_callback(lambda _: self._give_up(done, task.cancel))

        return self._when_quiescent(begin, done)

    def advance(self, seconds: float) -> None:
        """Lets this much time pass, and everything that is due in it happen, the end included."""
        done: Future[None] = Future()

        def begin() -> None:
            self._wait(self._loop.time() + seconds, None, done)

        self._when_quiescent(begin, done)

    def settle(self) -> None:
        """Lets everything happen that can without time passing."""
        self.advance(0.0)

    def wait_until(
        self, predicate: Callable[[], bool], within_s: float, version: Callable[[], object] | None = None
    ) -> None:
        """Lets time pass until the predicate, asked in this thread whenever all is at rest, is true.

        Raises `VirtualTimeoutError` when it is still false after `within_s`. With `version`, it is asked again
        only when that has changed, or a second has passed: give the state's, if looking is expensive.
        """
        deadline_s = self._loop.time() + within_s
        self.settle()
        while not predicate():
            if self._loop.time() >= deadline_s:
                raise VirtualTimeoutError(f"still not so after {within_s:g} s of cluster time")
            self._step(deadline_s, version)

    def _step(self, deadline_s: float, version: Callable[[], object] | None) -> None:
        """Moves to the next timer, and on while the version stays the same."""
        done: Future[None] = Future()

        def begin() -> None:
            now_s = self._loop.time()
            if version is None:
                self._wait(deadline_s, lambda: self._loop.time() > now_s, done)
                return
            before = version()
            self._wait(min(deadline_s, now_s + LOOK_EVERY_S), _or_failed(done, lambda: version() != before), done)

        self._when_quiescent(begin, done)

    def _wait(self, until_s: float, enough: Callable[[], bool] | None, done: Future[None]) -> None:
        def ended() -> None:
            if not done.done():
                done.set_result(None)

        wait = self._loop.begin_wait(until_s, enough, ended)
        done.add_done_callback(lambda _: self._give_up(done, lambda: self._loop.end_wait(wait)))

    def _when_quiescent(self, begin: Callable[[], None], done: Future[T]) -> T:
        assert asyncio._get_running_loop() is not self._loop, "waiting in the loop's thread would wait for ever"
        assert not self._loop.is_closed(), "the loop has ended"
        self._loop.post(lambda: _or_failed(done, begin)())
        try:
            return done.result()
        except BaseException:
            # Ctrl-C, most likely: nobody waits any more, so time must not go on.
            done.cancel()
            raise

    def _give_up(self, done: Future[Any], undo: Callable[[], object]) -> None:
        if done.cancelled() and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(undo)


def _or_failed(done: Future[Any], call: Callable[[], Any]) -> Callable[[], Any]:
    """The call, with what it raises given to who waits instead of to the loop, whose end that would be."""

    def safe() -> Any:
        try:
            return call()
        except Exception as error:  # noqa: BLE001  (it is raised again, in the thread that waits)
            if not done.done():
                done.set_exception(error)
            return True

    return safe


def _call_ended(expired: bool) -> BaseException:
    if expired:
        return VirtualTimeoutError(f"the call had not ended after {CALL_MAX_S:g} s of cluster time")
    return asyncio.CancelledError()
