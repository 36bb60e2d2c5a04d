"""Virtual time: frozen between waits, jumping inside them, standing still for real I/O."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from clusters.emulated.clock import VirtualClock
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.clock.virtual import VirtualTimeoutError


@pytest.fixture
def clock() -> Iterator[VirtualClock]:
    clock = VirtualClock(io_patience_s=0.2)
    with clock.running():
        yield clock


async def later(clock: VirtualClock, delay_s: float, seen: list[tuple[float, str]], name: str) -> None:
    await clock.sleep(delay_s)
    seen.append((clock.monotonic_s(), name))


def spawn(clock: VirtualClock, *work: object) -> list[asyncio.Task[object]]:
    async def begin() -> list[asyncio.Task[object]]:
        return [asyncio.get_running_loop().create_task(each) for each in work]  # type: ignore[arg-type]

    return clock.run(begin())


def test_time_begins_at_a_fixed_instant_and_stands_still(clock: VirtualClock) -> None:
    assert rfc3339(clock.now_s()) == "2026-01-01T00:00:00Z"
    time.sleep(0.01)
    assert clock.monotonic_s() == 0


def test_advancing_stops_at_every_timer_on_the_way(clock: VirtualClock) -> None:
    seen: list[tuple[float, str]] = []
    spawn(clock, later(clock, 30, seen, "b"), later(clock, 10, seen, "a"), later(clock, 300, seen, "c"))
    clock.advance(60)
    assert seen == [(10, "a"), (30, "b")]
    assert clock.monotonic_s() == 60
    clock.advance(240)
    assert seen[2:] == [(300, "c")], "what is due exactly at the end happens before it"


def test_a_call_that_waits_lets_time_pass_and_no_more(clock: VirtualClock) -> None:
    clock.run(clock.sleep(5))
    assert clock.monotonic_s() == 5
    clock.run(asyncio.sleep(0))
    assert clock.monotonic_s() == 5


def test_what_a_call_raises_reaches_the_caller(clock: VirtualClock) -> None:
    async def fail() -> None:
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        clock.run(fail())


def test_waiting_ends_as_soon_as_it_is_so(clock: VirtualClock) -> None:
    seen: list[tuple[float, str]] = []
    spawn(clock, later(clock, 40, seen, "a"), later(clock, 50, seen, "b"))
    clock.wait_until(lambda: bool(seen), within_s=100)
    assert clock.monotonic_s() == 40


def test_waiting_in_vain_takes_exactly_so_long(clock: VirtualClock) -> None:
    with pytest.raises(VirtualTimeoutError, match="after 90 s"):
        clock.wait_until(lambda: False, within_s=90)
    assert clock.monotonic_s() == 90


def test_with_a_version_it_looks_only_when_that_changes_or_a_second_passed(clock: VirtualClock) -> None:
    seen: list[tuple[float, str]] = []
    looks: list[float] = []
    spawn(clock, *(later(clock, tenth / 10, seen, "") for tenth in range(1, 100)))

    def nine() -> bool:
        looks.append(clock.monotonic_s())
        return clock.monotonic_s() >= 9

    clock.wait_until(nine, within_s=100, version=lambda: len(seen) // 50)
    assert looks[:6] == [0, 1, 2, 3, 4, 5]
    assert len(looks) <= 11


def test_time_stands_still_while_a_thread_works(clock: VirtualClock) -> None:
    async def work() -> None:
        await asyncio.get_running_loop().run_in_executor(None, time.sleep, 0.05)
        done_at_s.append(clock.monotonic_s())

    done_at_s: list[float] = []
    spawn(clock, work())
    clock.advance(1000)
    assert done_at_s == [0]


def test_time_stands_still_while_a_socket_is_awaited(clock: VirtualClock) -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    read_at_s: list[float] = []

    async def read() -> None:
        with clock.io():
            await asyncio.get_running_loop().sock_recv(ours, 1)
        read_at_s.append(clock.monotonic_s())

    spawn(clock, read())
    answering = threading.Timer(0.05, theirs.send, (b"x",))
    answering.start()
    clock.advance(1000)
    answering.join()
    assert read_at_s == [0]
    ours.close()
    theirs.close()


def test_io_that_hangs_does_not_stop_time_for_ever(clock: VirtualClock) -> None:
    async def hang() -> None:
        with clock.io():
            await asyncio.get_running_loop().create_future()

    (hanging,) = spawn(clock, hang())
    seen: list[tuple[float, str]] = []
    spawn(clock, later(clock, 10, seen, "deadline"))
    clock.advance(10)
    assert seen == [(10, "deadline")]
    clock.run(ended(hanging))


async def ended(task: asyncio.Task[object]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_calls_are_begun_when_everything_else_has_come_to_rest(clock: VirtualClock) -> None:
    order: list[str] = []

    async def busy() -> None:
        for _ in range(1000):
            await asyncio.sleep(0)
        order.append("busy")

    async def call() -> None:
        order.append("call")

    spawn(clock, busy())
    clock.run(call())
    assert order == ["busy", "call"]


def test_an_interrupted_wait_lets_time_stand_still_again(clock: VirtualClock) -> None:
    class InterruptedError(Exception):
        """As KeyboardInterrupt, but nobody else's."""

    def interrupt(*_: object) -> None:
        raise InterruptedError

    def tick() -> None:
        clock.call_later(0.001, tick)

    clock.loop.call_soon_threadsafe(tick)
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(InterruptedError):
            clock.advance(1e9)
    finally:
        signal.signal(signal.SIGALRM, before)
    clock.run(asyncio.sleep(0))
    stopped_s = clock.monotonic_s()
    time.sleep(0.05)
    assert 0 < clock.monotonic_s() == stopped_s


def test_what_the_version_raises_reaches_who_waits(clock: VirtualClock) -> None:
    with pytest.raises(ZeroDivisionError):
        clock.wait_until(lambda: False, within_s=10, version=lambda: 1 // 0)
    clock.advance(1)


def test_a_million_idle_seconds_are_short(clock: VirtualClock) -> None:
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        clock.call_later(10, tick)

    clock.run(asyncio.sleep(0))
    clock.loop.call_soon_threadsafe(tick)
    began_s = time.monotonic()
    clock.advance(1_000_000)
    assert ticks == 100_001
    assert time.monotonic() - began_s < 10, "it takes well below one second on an idle machine"
