"""Controllers: every key is reconciled until it succeeds; components: stopped, started, and restarted after a crash."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from clusters.emulated.client.api import Object
from clusters.emulated.client.controller import ComponentContext, Controller
from clusters.emulated.client.errors import Conflict
from clusters.emulated.client.informers import InformerFactory
from clusters.emulated.client.inprocess_api import InProcessApi
from clusters.emulated.client.resources import CONFIG_MAPS
from clusters.emulated.clock import Randomness, VirtualClock
from clusters.emulated.cluster import EmulatedCluster
from clusters.emulated.components import CONTROLLERS, Component, Components, UnknownComponentError

PATH = "/api/v1/namespaces/default/configmaps"


class Recording(Controller):
    """Notes when it reconciles what, and fails where it is told to."""

    name = "recording"

    def __init__(self, context: ComponentContext, failures: dict[str, list[Exception]] | None = None) -> None:
        super().__init__(context)
        self.failures = failures or {}
        self.log: list[tuple[float, str]] = []
        self.ticks: list[float] = []

    def setup(self) -> None:
        self.config_maps = self.informer(CONFIG_MAPS, "default")
        self.config_maps.add_handler(self.enqueue, lambda _, new: self.enqueue(new), lambda old, _: self.enqueue(old))
        self.periodic(60, self.tick)

    async def reconcile(self, key: str) -> None:
        self.log.append((round(self.clock.monotonic_s(), 3), key))
        if self.failures.get(key):
            raise self.failures[key].pop(0)

    async def tick(self) -> None:
        self.ticks.append(self.clock.monotonic_s())


class Fixture:
    """Keeps the controllers that a component was, one after the other."""

    def __init__(self, cluster: EmulatedCluster, api: InProcessApi) -> None:
        self.cluster = cluster
        self.api = api
        self.made: list[Recording] = []
        self.failures: dict[str, list[Exception]] = {}

    def make(self, ends: AsyncExitStack) -> Component:
        clock = self.cluster.clock
        informers = InformerFactory(self.api, clock)
        ends.push_async_callback(informers.stop)
        self.made.append(Recording(ComponentContext(self.api, clock, Randomness(1), informers), self.failures))
        return self.made[-1]


@pytest.fixture
def components(cluster: EmulatedCluster) -> Components:
    components = Components(cluster.plane, groups=())
    cluster.plane.at_stop(components.stop)
    return components


@pytest.fixture
def recording(cluster: EmulatedCluster, api: InProcessApi, components: Components) -> Fixture:
    fixture = Fixture(cluster, api)
    components.add("recording", CONTROLLERS, fixture.make)
    return fixture


def create(cluster: EmulatedCluster, name: str) -> None:
    cluster.api.create(PATH, {"metadata": {"name": name}})


def test_what_fails_is_tried_again_later_and_later(
    cluster: EmulatedCluster, components: Components, recording: Fixture, clock: VirtualClock
) -> None:
    recording.failures["default/a"] = [Conflict(409, "changed"), KeyError("broken"), KeyError("broken")]
    cluster.run(components.start("recording"))
    create(cluster, "a")
    create(cluster, "b")
    clock.advance(1)
    assert recording.made[0].log == [
        (0, "default/a"), (0, "default/b"), (0.005, "default/a"), (0.015, "default/a"), (0.035, "default/a"),
    ]  # fmt: skip
    assert recording.made[0].queue.num_requeues("default/a") == 0
    assert components.busy() == []


def test_loops_run_beside_the_queue(
    cluster: EmulatedCluster, components: Components, recording: Fixture, clock: VirtualClock
) -> None:
    cluster.run(components.start("recording"))
    clock.advance(125)
    assert recording.made[0].ticks == [0, 60, 120]


def test_stopped_it_does_nothing_and_started_it_catches_up(
    cluster: EmulatedCluster, components: Components, recording: Fixture, clock: VirtualClock
) -> None:
    cluster.run(components.start("recording"))
    create(cluster, "a")
    clock.settle()
    cluster.run(components.stop(CONTROLLERS))
    assert not components.is_running("recording")
    assert components["recording"] is None
    create(cluster, "b")
    clock.advance(600)
    assert [key for _, key in recording.made[0].log] == ["default/a"]
    cluster.run(components.start("recording"))
    clock.advance(1)
    assert [key for _, key in recording.made[1].log] == ["default/a", "default/b"]


def test_a_crash_is_a_restart_after_a_second(
    cluster: EmulatedCluster,
    components: Components,
    api: InProcessApi,
    clock: VirtualClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    began: list[float] = []

    class Crashing:
        async def run(self) -> None:
            began.append(clock.monotonic_s())
            await clock.sleep(10)
            raise ValueError("the disk is full")

    make: Callable[[AsyncExitStack], Component] = lambda _: Crashing()  # noqa: E731
    components.add("crashing", CONTROLLERS, make)
    cluster.run(components.start("crashing"))
    clock.advance(30)
    assert began == [0, 11, 22]
    assert components.crashes("crashing") == 2
    assert "crashing crashed" in caplog.text
    assert "the disk is full" in caplog.text


def test_a_controller_that_gives_up_forgets(
    cluster: EmulatedCluster, components: Components, recording: Fixture, clock: VirtualClock
) -> None:
    recording.failures["default/a"] = [KeyError("broken")] * 100
    cluster.run(components.start("recording"))
    recording.made[0].retries_max = 3
    create(cluster, "a")
    clock.advance(60)
    assert len(recording.made[0].log) == 4


def test_an_unknown_name_says_what_there_is(
    cluster: EmulatedCluster, components: Components, recording: Fixture
) -> None:
    with pytest.raises(UnknownComponentError, match=r"no component 'nonsense'; there are .*recording"):
        cluster.run(components.start("nonsense"))


def test_events_carry_the_controllers_name(
    cluster: EmulatedCluster, components: Components, recording: Fixture, clock: VirtualClock
) -> None:
    cluster.run(components.start("recording"))
    create(cluster, "a")
    clock.settle()

    async def tell() -> None:
        obj: Object | None = recording.made[0].config_maps.store.get("default/a")
        assert obj is not None
        recording.made[0].recorder.event(obj, "Normal", "Seen", "hello")

    cluster.run(tell())
    clock.settle()
    (event,) = cluster.api.get("/api/v1/namespaces/default/events")["items"]
    assert event["source"] == {"component": "recording"}
