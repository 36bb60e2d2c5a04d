"""Where a Pod waits, and what makes it move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import pytest

from clusters.emulated.scheduler.cluster_events import Action, Event, Registration, node_changes, pod_changes
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.queue.nominator import Nominator
from clusters.emulated.scheduler.queue.scheduling_queue import SchedulingQueue
from clusters.emulated.scheduler.status import Status, unresolvable
from tests.clusters.emulated.scheduler.builders import node, pod

Object = dict[str, Any]
NODE_ADDED = Event("Node", Action.ADD)


class HandClock:
    """Time moves when the test says so; timers run when their time has come."""

    def __init__(self) -> None:
        self.time_s = 1000.5
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def now_s(self) -> float:
        return self.time_s

    monotonic_s = now_s

    async def sleep(self, delay_s: float) -> None:
        raise NotImplementedError

    def io(self) -> AbstractContextManager[None]:
        return nullcontext()

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        self.timers.append((self.time_s + delay_s, callback))
        return cast("asyncio.TimerHandle", None)

    def advance(self, seconds: float) -> None:
        until_s = self.time_s + seconds
        while due := [timer for timer in self.timers if timer[0] <= until_s]:
            timer = min(due, key=lambda one: one[0])
            self.timers.remove(timer)
            self.time_s = max(self.time_s, timer[0])
            timer[1]()
        self.time_s = until_s


def info(name: str, **more: Any) -> PodInfo:
    made = pod(name, **more)
    made["metadata"]["uid"] = f"uid-{name}"
    return PodInfo(made)


def gates(pod: PodInfo) -> Status | None:
    return unresolvable("gated").by("SchedulingGates") if pod.spec.get("schedulingGates") else None


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def queue(clock: HandClock) -> SchedulingQueue:
    registrations: dict[str, tuple[Registration, ...]] = {
        "Fit": (Registration("Node", Action.ADD),),
        "Picky": (Registration("Node", Action.ADD, lambda pod, old, new: (new or {})["metadata"]["name"] == "nice"),),
        "SchedulingGates": (Registration("Pod", Action.POD_GATES_GONE),),
    }
    return SchedulingQueue(clock, gates, registrations, Nominator(lambda _: True))


def fail(queue: SchedulingQueue, *plugins: str) -> None:
    queued = queue.try_pop()
    assert queued is not None
    queued.plugins = set(plugins)
    queue.add_unschedulable(queued)


def popped(queue: SchedulingQueue) -> str:
    queued = queue.try_pop()
    return "" if queued is None else queued.info.name


def test_priority_then_age(queue: SchedulingQueue, clock: HandClock) -> None:
    queue.add(info("old"))
    queue.add(info("same-instant"))
    clock.advance(1)
    queue.add(info("young"))
    queue.add(info("important", priority=10))
    assert [popped(queue) for _ in range(5)] == ["important", "old", "same-instant", "young", ""]


def test_an_unschedulable_pod_waits_for_an_event_of_its_plugin(queue: SchedulingQueue) -> None:
    queue.add(info("p"))
    fail(queue, "Fit")
    queue.move(Event("Pod", Action.DELETE), pod("other"), None)
    assert popped(queue) == ""
    queue.move(NODE_ADDED, None, node("a"))
    assert popped(queue) == "p"


def test_the_hint_of_the_plugin_decides(queue: SchedulingQueue) -> None:
    queue.add(info("p"))
    fail(queue, "Picky")
    queue.move(NODE_ADDED, None, node("a"))
    assert popped(queue) == ""
    queue.move(NODE_ADDED, None, node("nice"))
    assert popped(queue) == "p"


def test_who_backs_off_comes_after_who_does_not(queue: SchedulingQueue) -> None:
    queue.add(info("failed", priority=5))
    fail(queue, "Fit")
    queue.move(NODE_ADDED, None, node("a"))
    queue.add(info("fresh"))
    assert [popped(queue), popped(queue)] == ["fresh", "failed"]


def test_errors_wait_out_their_back_off(queue: SchedulingQueue, clock: HandClock) -> None:
    queue.add(info("p"))
    fail(queue)
    clock.advance(1)  # 1001.5: the second in which the back-off ends is not over yet.
    assert popped(queue) == ""
    clock.advance(0.5)
    fail(queue)
    clock.advance(2.5)
    assert popped(queue) == ""
    clock.advance(0.5)
    assert popped(queue) == "p"


def test_a_gated_pod_waits_for_its_gates_only(queue: SchedulingQueue) -> None:
    gated = info("p", schedulingGates=[{"name": "example.com/wait"}])
    queue.add(gated)
    queue.move(NODE_ADDED, None, node("a"))
    assert popped(queue) == ""
    free = info("p")
    queue.update(gated.pod, free)
    assert popped(queue) == "p"


def test_after_five_minutes_a_pod_is_tried_anyway(queue: SchedulingQueue, clock: HandClock) -> None:
    queue.add(info("p"))
    fail(queue, "Fit")
    clock.advance(300)
    assert popped(queue) == ""
    clock.advance(30)
    assert popped(queue) == "p"


def test_a_deleted_pod_is_nowhere(queue: SchedulingQueue) -> None:
    for plugins in ((), ("Fit",)):
        queue.add(info("p"))
        fail(queue, *plugins)
        queue.delete("default/p", "uid-p")
        queue.move(NODE_ADDED, None, node("a"))
        assert popped(queue) == ""
        assert len(queue) == 0


def test_a_promise_survives_an_update_that_does_not_know_of_it() -> None:
    nominator = Nominator(lambda _: True)
    nominator.add(info("p"), "a")
    nominator.update("", info("p"))
    assert [one.name for one in nominator.of_node("a")] == ["p"]
    nominator.update("a", info("p"))
    assert nominator.of_node("a") == []


def test_a_heartbeat_is_no_event() -> None:
    before, after = node("a"), node("a")
    after["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-11-18T09:00:00Z"
    assert node_changes(before, after) == []


def test_uncordoning_is_like_losing_a_taint() -> None:
    assert node_changes(node("a", unschedulable=True), node("a")) == [Event("Node", Action.NODE_TAINT)]
    assert node_changes(node("a"), node("a", unschedulable=True)) == []


def test_what_changed_in_a_pod() -> None:
    before, after = pod("p", cpu="2"), pod("p", cpu="1", labels={"app": "x"})
    assert pod_changes(before, after) == [Event("Pod", Action.POD_LABEL), Event("Pod", Action.POD_SCALE_DOWN)]
    assert pod_changes(before, before) == [Event("Pod", Action.UPDATE)]
