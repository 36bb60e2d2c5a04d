"""The same controller, with the identity of the real one, in an emulated control plane and over HTTPS."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from clusters.emulated.client.api import Api
from clusters.emulated.client.blocking import ADMIN
from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import Forbidden, Unreachable
from clusters.emulated.client.https_api import HttpsApi
from clusters.emulated.client.inprocess_api import InProcessApi
from clusters.emulated.client.resources import NAMESPACES, NODES, REPLICA_SETS
from clusters.emulated.clock import Randomness, RealClock, VirtualClock
from clusters.emulated.cluster import EmulatedCluster
from clusters.emulated.component_hosts import ComponentHost, EmulatedHost, KubeconfigHost
from clusters.emulated.components import Components
from clusters.emulated.control_plane import ControlPlane
from clusters.emulated.transport.kubeconfig import write_kubeconfig

REAL = Path(os.environ.get("KAPUT_REAL_KUBECONFIG", "/tmp/real-shared/kubeconfig"))
WITHIN_S = 30.0


class Observer(Controller):
    """Tells of each ReplicaSet that it has seen it; tries what its identity may not do."""

    name = "observer"
    service_account = "replicaset-controller"

    def setup(self) -> None:
        self.replica_sets = self.informer(REPLICA_SETS)
        self.replica_sets.add_handler(self.enqueue, lambda _, new: self.enqueue(new))

    async def reconcile(self, key: str) -> None:
        replica_set = self.replica_sets.store.get(key)
        if replica_set is None or not replica_set["metadata"]["namespace"].startswith("components-"):
            return
        seen = replica_set["metadata"]["generation"]
        if replica_set["status"].get("observedGeneration") == seen:
            return
        with pytest.raises(Forbidden):
            await self.api.delete(NODES, "any")
        status = {**replica_set["status"], "replicas": 0, "observedGeneration": seen}
        await self.api.update(REPLICA_SETS, {**replica_set, "status": status}, subresource="status")


class Opened(Protocol):
    def __call__(self, directory: Path) -> AbstractAsyncContextManager[tuple[ComponentHost, Api]]: ...


@asynccontextmanager
async def in_process(directory: Path) -> AsyncIterator[tuple[ComponentHost, Api]]:
    plane = ControlPlane()
    await plane.start()
    try:
        yield EmulatedHost(plane), InProcessApi(plane.handler, ADMIN, "tests/v0")
    finally:
        await plane.stop()


@asynccontextmanager
async def over_https(directory: Path) -> AsyncIterator[tuple[ComponentHost, Api]]:
    plane = ControlPlane()
    await plane.start()
    await plane.listen()
    path = write_kubeconfig(directory / "kubeconfig", plane.admin_kubeconfig())
    host = KubeconfigHost(path, clock=RealClock(), seed=1)
    try:
        yield host, HttpsApi.from_kubeconfig(path)
    finally:
        host.close()
        await plane.stop()


@asynccontextmanager
async def real(directory: Path) -> AsyncIterator[tuple[ComponentHost, Api]]:
    if not REAL.exists():
        pytest.skip(f"no real kube-apiserver: {REAL} is not there")
    api = HttpsApi.from_kubeconfig(REAL)
    try:
        await api.list(NODES)
    except Unreachable as unreachable:
        pytest.skip(f"no real kube-apiserver: {unreachable}")
    host = KubeconfigHost(REAL, clock=RealClock(), seed=1)
    try:
        yield host, api
    finally:
        host.close()
        api.close()


@pytest.mark.parametrize("opened", [in_process, over_https, real], ids=lambda opened: opened.__name__)
def test_a_controller_runs_anywhere_as_who_it_is(opened: Opened, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(WITHIN_S), opened(tmp_path) as (host, api):
            namespace = f"components-{Randomness().suffix()}"
            await api.create(NAMESPACES, {"metadata": {"name": namespace}})
            components = Components(host, groups=())
            components.add_controller(Observer)
            await components.start()
            created = await api.create(REPLICA_SETS, replica_set("web"), namespace)
            try:
                async with api.watch(
                    REPLICA_SETS, namespace, resource_version=created["metadata"]["resourceVersion"]
                ) as events:
                    observed = (await anext(events)).object
            finally:
                await components.stop()
                await api.delete(REPLICA_SETS, "web", namespace)
                await api.delete(NAMESPACES, namespace)
                found = await api.get(NAMESPACES, namespace)
                await api.update(NAMESPACES, {**found, "spec": {"finalizers": []}}, subresource="finalize")
            assert observed["status"]["observedGeneration"] == 1
            managers = {entry["manager"] for entry in observed["metadata"]["managedFields"]}
            assert "kube-controller-manager" in managers
            assert components.crashes("observer") == 0

    asyncio.run(scenario())


def test_a_duplicate_works_beside_the_first_until_one_stops() -> None:
    with EmulatedCluster(clock="virtual", seed=1) as cluster:
        clock = cluster.clock
        assert isinstance(clock, VirtualClock)
        components = Components(cluster.plane, groups=())
        cluster.plane.at_stop(components.stop)
        components.add_controller(Observer)
        other = components.duplicate("observer")
        assert [*components] == ["observer", other]
        cluster.run(components.start())
        cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "components-a"}})
        path = "/apis/apps/v1/namespaces/components-a/replicasets"
        cluster.api.create(path, replica_set("one"))
        clock.advance(1)
        assert cluster.api.get(f"{path}/one")["status"]["observedGeneration"] == 1
        cluster.run(components.stop("observer"))
        cluster.api.create(path, replica_set("two"))
        clock.advance(1)
        assert cluster.api.get(f"{path}/two")["status"]["observedGeneration"] == 1
        cluster.run(components.stop(other))
        cluster.api.create(path, replica_set("three"))
        clock.advance(60)
        assert "observedGeneration" not in cluster.api.get(f"{path}/three")["status"]


def replica_set(name: str) -> dict[str, Any]:
    labels = {"app": name}
    pod = {"containers": [{"name": "c", "image": "registry.test/c:1"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
