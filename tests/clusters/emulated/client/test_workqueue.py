"""client-go's work queue: each item once, one worker per item, nothing lost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from clusters.emulated.client.workqueue import QueueShutDownError, WorkQueue
from clusters.emulated.clock import Randomness, VirtualClock


@pytest.fixture
def clock() -> Iterator[VirtualClock]:
    clock = VirtualClock()
    with clock.running():
        yield clock


def queue_of(clock: VirtualClock, **limits: float) -> WorkQueue[str]:
    return WorkQueue(clock, Randomness(1), **limits)  # type: ignore[arg-type]


def test_an_item_is_queued_once(clock: VirtualClock) -> None:
    queue = queue_of(clock)
    for item in ("a", "b", "a"):
        queue.add(item)
    assert len(queue) == 2
    assert [clock.run(queue.get()), clock.run(queue.get())] == ["a", "b"]


def test_what_is_added_while_it_is_worked_on_comes_again_after_it(clock: VirtualClock) -> None:
    queue = queue_of(clock)
    queue.add("a")
    clock.run(queue.get())
    queue.add("a")
    queue.add("a")
    assert len(queue) == 0, "nobody else may work on it meanwhile"
    queue.done("a")
    assert len(queue) == 1
    clock.run(queue.get())
    queue.done("a")
    assert queue.idle


def test_of_several_delays_the_shortest_counts(clock: VirtualClock) -> None:
    async def scenario() -> list[float]:
        queue = queue_of(clock)
        queue.add_after("a", 50)
        queue.add_after("a", 10)
        queue.add_after("a", 30)
        await queue.get()
        times = [clock.monotonic_s()]
        queue.done("a")
        await clock.sleep(100)
        times.append(len(queue))
        return times

    assert clock.run(scenario()) == [10, 0]


def test_retries_wait_twice_as_long_each_time(clock: VirtualClock) -> None:
    async def scenario() -> list[float]:
        queue = queue_of(clock, max_s=1)
        waits = []
        for _ in range(10):
            began_s = clock.monotonic_s()
            queue.add_rate_limited("a")
            await queue.get()
            queue.done("a")
            waits.append(round(clock.monotonic_s() - began_s, 6))
        assert queue.num_requeues("a") == 10
        queue.forget("a")
        assert queue.num_requeues("a") == 0
        return waits

    assert clock.run(scenario()) == [0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1, 1]


def test_all_retries_together_pass_through_one_bucket(clock: VirtualClock) -> None:
    async def scenario() -> float:
        queue = queue_of(clock, qps=10, burst=100)
        for number in range(150):
            queue.add_rate_limited(f"item-{number}")
        for _ in range(150):
            await queue.get()
        return clock.monotonic_s()

    assert clock.run(scenario()) == pytest.approx(5.0, abs=0.01), "100 at once, then ten a second"


def test_workers_take_their_turns_in_order(clock: VirtualClock) -> None:
    async def scenario() -> list[str]:
        queue = queue_of(clock)
        log: list[str] = []

        async def worker(name: str) -> None:
            while True:
                item = await queue.get()
                log.append(f"{name}:{item}")
                await clock.sleep(1)
                queue.done(item)

        tasks = [asyncio.create_task(worker(name)) for name in ("x", "y")]
        await asyncio.sleep(0)
        for item in "abcd":
            queue.add(item)
        await clock.sleep(5)
        for task in tasks:
            task.cancel()
        return log

    assert clock.run(scenario()) == ["x:a", "y:b", "x:c", "y:d"]


def test_a_cancelled_worker_loses_nothing(clock: VirtualClock) -> None:
    async def scenario() -> str:
        queue = queue_of(clock)
        first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
        await asyncio.sleep(0)
        queue.add("a")
        first.cancel()
        return await second

    assert clock.run(scenario()) == "a"


def test_after_shutting_down_workers_end(clock: VirtualClock) -> None:
    async def scenario() -> None:
        queue = queue_of(clock)
        waiting = asyncio.create_task(queue.get())
        queue.add_after("late", 10)
        await asyncio.sleep(0)
        queue.shut_down()
        queue.add("more")
        with pytest.raises(QueueShutDownError):
            await waiting

    clock.run(scenario())
