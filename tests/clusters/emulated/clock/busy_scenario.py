"""A busy quarter of an hour of a cluster in virtual time; prints the digest of its history.

    python -m tests.clusters.emulated.clock.busy_scenario <seed>

Several namespaces, informers, a controller whose work keeps failing, leader election that changes hands, events
that are counted, combined and dropped.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack

from clusters.emulated.client.api import Api
from clusters.emulated.client.blocking import ADMIN
from clusters.emulated.client.controller import ComponentContext, Controller
from clusters.emulated.client.errors import ApiFailure
from clusters.emulated.client.indexer import split_key
from clusters.emulated.client.informers import InformerFactory
from clusters.emulated.client.inprocess_api import InProcessApi
from clusters.emulated.client.leader_election import LeaderElector
from clusters.emulated.client.resources import CONFIG_MAPS, SECRETS
from clusters.emulated.cluster import EmulatedCluster
from clusters.emulated.components import CONTROLLERS, Component, Components
from clusters.emulated.history import History

NAMESPACES = ("shop", "bank", "mill")


class Copier(Controller):
    """Has a Secret for each ConfigMap; fails by chance, and tells the world all about it."""

    name = "copier"
    workers = 3

    def setup(self) -> None:
        self.config_maps = self.informer(CONFIG_MAPS)
        self.secrets = self.informer(SECRETS)
        self.config_maps.add_handler(self.enqueue, lambda _, new: self.enqueue(new), lambda old, _: self.enqueue(old))

    async def reconcile(self, key: str) -> None:
        config_map = self.config_maps.store.get(key)
        namespace, name = split_key(key)
        if config_map is None:
            return
        await self.clock.sleep(self.randomness.fraction() * 0.2)
        attempt = self.queue.num_requeues(key)
        self.recorder.event(config_map, "Warning", "Trying", f"attempt {attempt}")
        if self.randomness.fraction() < 0.9:
            raise ApiFailure(500, "no luck")
        if self.secrets.store.get(key) is None:
            secret = {"metadata": {"generateName": f"{name}-", "namespace": namespace}}
            await self.api.create(SECRETS, secret, namespace)
            self.recorder.event(config_map, "Normal", "Copied", "copied")


class Contender:
    """Wants to lead; steps down after a while."""

    def __init__(self, cluster: EmulatedCluster, name: str) -> None:
        plane = cluster.plane
        self._clock = plane.clock
        self._elector = LeaderElector(
            admin(cluster), name, "busy", clock=plane.clock, randomness=plane.randomness.derived(name)
        )

    async def run(self) -> None:
        while True:
            await self._elector.run(self._lead)

    async def _lead(self) -> None:
        await self._clock.sleep(100)


def admin(cluster: EmulatedCluster) -> Api:
    return InProcessApi(cluster.plane.handler, ADMIN, "busy")


def run(seed: int) -> History:
    with EmulatedCluster(clock="virtual", seed=seed) as cluster:
        components = Components(cluster.plane, groups=())
        cluster.plane.at_stop(components.stop)
        components.add("copier", CONTROLLERS, copier(cluster))
        for name in ("one", "two"):
            components.add(name, CONTROLLERS, contender(cluster, name))
        cluster.run(components.start())
        for namespace in NAMESPACES:
            cluster.api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
            for _ in range(5):
                config_map = {"metadata": {"generateName": "settings-"}, "data": {"a": "b"}}
                cluster.api.create(f"/api/v1/namespaces/{namespace}/configmaps", config_map)
        cluster.clock.advance(300)  # type: ignore[attr-defined]  # a virtual one
        cluster.run(components.stop("copier"))
        cluster.api.delete("/api/v1/namespaces/bank/configmaps")
        cluster.clock.advance(60)  # type: ignore[attr-defined]
        cluster.run(components.start("copier"))
        cluster.clock.advance(540)  # type: ignore[attr-defined]
        assert cluster.history is not None, "in virtual time it is kept"
    return cluster.history


def copier(cluster: EmulatedCluster) -> Callable[[AsyncExitStack], Component]:
    def make(ends: AsyncExitStack) -> Component:
        clock, randomness = cluster.plane.clock, cluster.plane.randomness.derived("copier")
        informers = InformerFactory(admin(cluster), clock, randomness)
        ends.push_async_callback(informers.stop)
        return Copier(ComponentContext(admin(cluster), clock, randomness, informers))

    return make


def contender(cluster: EmulatedCluster, name: str) -> Callable[[AsyncExitStack], Component]:
    return lambda _: Contender(cluster, name)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    history = run(int(sys.argv[1]))
    print(history.digest(), history.length)  # noqa: T201
    if len(sys.argv) > 2:
        for entry in history.entries():
            print(entry)  # noqa: T201
