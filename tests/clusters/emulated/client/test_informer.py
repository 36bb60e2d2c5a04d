"""An informer's copy follows the api-server through cuts, compactions and missed deletions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from clusters.emulated.client.api import WatchEvent
from clusters.emulated.client.errors import Unreachable
from clusters.emulated.client.informer import Informer
from clusters.emulated.client.informers import InformerFactory
from clusters.emulated.client.inprocess_api import InProcessApi
from clusters.emulated.client.resources import CONFIG_MAPS, Resource
from clusters.emulated.clock import VirtualClock
from clusters.emulated.cluster import EmulatedCluster

PATH = "/api/v1/namespaces/default/configmaps"


class Cuttable(InProcessApi):
    """An Api whose watches can be cut, and refused for as long as `down` is set."""

    down = False

    @asynccontextmanager
    async def watch(
        self, resource: Resource, namespace: str = "", **options: Any
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:  # type: ignore[override]
        if self.down:
            raise Unreachable(0, "connection refused")
        async with super().watch(resource, namespace, **options) as events:
            yield self._until_down(events)

    async def _until_down(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent]:
        async for event in events:
            if self.down:
                raise Unreachable(0, "connection reset")
            yield event


class Seen:
    """What the handlers were told."""

    def __init__(self, informer: Any) -> None:
        self.events: list[str] = []
        self.updates: list[tuple[dict[str, Any], dict[str, Any]]] = []
        informer.add_handler(
            lambda obj: self.events.append(f"+{obj['metadata']['name']}"),
            self._updated,
            lambda obj, unknown: self.events.append(f"-{obj['metadata']['name']}{'?' if unknown else ''}"),
        )

    def _updated(self, old: dict[str, Any], new: dict[str, Any]) -> None:
        self.events.append(f"~{new['metadata']['name']}")
        self.updates.append((old, new))

    def taken(self) -> list[str]:
        events, self.events = self.events, []
        return events


def create(cluster: EmulatedCluster, name: str, **labels: str) -> None:
    cluster.api.create(PATH, {"metadata": {"name": name, "labels": labels}})


def started(cluster: EmulatedCluster, informer: Informer) -> Seen:
    seen = Seen(informer)
    cluster.run(informer.start())
    cluster.run(informer.wait_synced())
    return seen


def test_what_is_there_and_what_comes(cluster: EmulatedCluster, api: InProcessApi, clock: VirtualClock) -> None:
    create(cluster, "a")
    informer = Informer(api, CONFIG_MAPS, "default", clock=clock)
    assert not informer.has_synced
    seen = started(cluster, informer)
    assert informer.has_synced
    create(cluster, "b")
    cluster.api.patch(f"{PATH}/a", {"data": {"x": "y"}})
    cluster.api.delete(f"{PATH}/b")
    clock.settle()
    assert seen.taken() == ["+a", "+b", "~a", "-b"]
    assert informer.store.get("default/a")["data"] == {"x": "y"}  # type: ignore[index]
    assert [*informer.store] == ["default/a"]
    listed, watched = seen.updates[0]
    assert (listed["kind"], listed["apiVersion"]) == (watched["kind"], watched["apiVersion"]) == ("ConfigMap", "v1")
    cluster.run(informer.stop())


def test_a_label_that_is_lost_is_a_deletion(cluster: EmulatedCluster, api: InProcessApi, clock: VirtualClock) -> None:
    informer = Informer(api, CONFIG_MAPS, label_selector="app=web", clock=clock)
    seen = started(cluster, informer)
    create(cluster, "a", app="web")
    create(cluster, "b", app="other")
    cluster.api.patch(f"{PATH}/a", {"metadata": {"labels": {"app": "other"}}})
    clock.settle()
    assert seen.taken() == ["+a", "-a"]
    cluster.run(informer.stop())


def test_a_watch_that_times_out_goes_on_where_it_ended(
    cluster: EmulatedCluster, api: InProcessApi, clock: VirtualClock
) -> None:
    informer = Informer(api, CONFIG_MAPS, "default", clock=clock)
    seen = started(cluster, informer)
    for name in ("a", "b", "c"):
        create(cluster, name)
        clock.advance(1200)
    assert seen.taken() == ["+a", "+b", "+c"]
    assert informer.relists == 1
    cluster.run(informer.stop())


def test_a_cut_watch_misses_nothing(cluster: EmulatedCluster, clock: VirtualClock, api: InProcessApi) -> None:
    cuttable = Cuttable(cluster.plane.handler, api.user, "tests/v0")
    informer = Informer(cuttable, CONFIG_MAPS, "default", clock=clock)
    seen = started(cluster, informer)
    create(cluster, "a")
    clock.settle()
    cuttable.down = True
    create(cluster, "b")
    cluster.api.delete(f"{PATH}/a")
    clock.advance(5)
    assert seen.taken() == ["+a"]
    cuttable.down = False
    clock.advance(60)
    assert seen.taken() == ["+b", "-a"]
    assert informer.relists == 1, "the history was still there"
    cluster.run(informer.stop())


def test_history_that_is_gone_makes_it_list_anew(
    cluster: EmulatedCluster, clock: VirtualClock, api: InProcessApi
) -> None:
    for name in ("gone", "same", "changed", "anew"):
        create(cluster, name)
    cuttable = Cuttable(cluster.plane.handler, api.user, "tests/v0")
    informer = Informer(cuttable, CONFIG_MAPS, "default", clock=clock)
    seen = started(cluster, informer)
    seen.taken()
    cuttable.down = True
    cluster.api.delete(f"{PATH}/gone")
    cluster.api.patch(f"{PATH}/changed", {"data": {"x": "y"}})
    cluster.api.delete(f"{PATH}/anew")
    create(cluster, "anew")
    create(cluster, "new")
    before = informer.store.get("default/anew")
    cluster.levers.store.compact()
    cluster.run(restarted(cluster))
    cuttable.down = False
    clock.advance(60)
    assert sorted(seen.taken()) == ["+new", "-gone?", "~anew", "~changed"]
    assert informer.relists == 2
    old, new = next(pair for pair in seen.updates if pair[0]["metadata"]["name"] == "anew")
    assert old is before
    assert old["metadata"]["uid"] != new["metadata"]["uid"]
    cluster.run(informer.stop())


async def restarted(cluster: EmulatedCluster) -> None:
    """The api-server as after a restart: its watch caches begin with the present."""
    for storage in cluster.plane.replicas[0].storages.values():
        storage.cache.stop()
        await storage.cache.start()


def test_a_late_handler_is_told_of_everything(cluster: EmulatedCluster, api: InProcessApi, clock: VirtualClock) -> None:
    create(cluster, "a")
    informer = Informer(api, CONFIG_MAPS, "default", clock=clock)
    started(cluster, informer)
    assert Seen(informer).taken() == ["+a"]
    cluster.run(informer.stop())


def test_a_broken_handler_does_not_keep_the_others(
    cluster: EmulatedCluster, api: InProcessApi, clock: VirtualClock
) -> None:
    informer = Informer(api, CONFIG_MAPS, "default", clock=clock)
    informer.add_handler(on_add=lambda obj: obj["nonsense"])
    seen = started(cluster, informer)
    create(cluster, "a")
    clock.settle()
    assert seen.taken() == ["+a"]
    cluster.run(informer.stop())


def test_resync_tells_everything_again(cluster: EmulatedCluster, api: InProcessApi, clock: VirtualClock) -> None:
    create(cluster, "a")
    informer = Informer(api, CONFIG_MAPS, "default", clock=clock, resync_s=30)
    seen = started(cluster, informer)
    clock.advance(65)
    assert seen.taken() == ["+a", "~a", "~a"]
    cluster.run(informer.stop())


def test_informers_are_shared_and_handlers_are_not(
    cluster: EmulatedCluster, api: InProcessApi, clock: VirtualClock
) -> None:
    factory = InformerFactory(api, clock)
    one, two = factory.scope(), factory.scope()
    first, second = Seen(one.informer(CONFIG_MAPS, "default")), Seen(two.informer(CONFIG_MAPS, "default"))
    assert one.informer(CONFIG_MAPS, "default").store is two.informer(CONFIG_MAPS, "default").store
    assert one.informer(CONFIG_MAPS).store is not one.informer(CONFIG_MAPS, "default").store
    cluster.run(one.start_all())
    cluster.run(two.start_all())
    cluster.run(two.wait_synced())
    create(cluster, "a")
    clock.settle()
    one.release()
    create(cluster, "b")
    clock.settle()
    assert first.taken() == ["+a"]
    assert second.taken() == ["+a", "+b"]
    cluster.run(factory.stop())
