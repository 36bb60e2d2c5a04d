"""The same `Api` in the same process, over HTTPS to the emulated api-server, and to a real one where there is one."""

from __future__ import annotations

import asyncio
import os
import ssl
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.error import URLError

import pytest

from clusters.emulated.client import errors
from clusters.emulated.client.api import Api
from clusters.emulated.client.blocking import ADMIN
from clusters.emulated.client.https_api import HttpsApi
from clusters.emulated.client.informer import Informer
from clusters.emulated.client.inprocess_api import InProcessApi
from clusters.emulated.client.resources import CONFIG_MAPS, NAMESPACES, NODES, PODS, SERVICE_ACCOUNTS
from clusters.emulated.clock import Randomness, RealClock
from clusters.emulated.cluster import EmulatedCluster
from clusters.emulated.control_plane import ControlPlane

REAL = Path(os.environ.get("KAPUT_REAL_KUBECONFIG", "/tmp/real-shared/kubeconfig"))
WITHIN_S = 20.0


@asynccontextmanager
async def in_process() -> AsyncIterator[Api]:
    plane = ControlPlane()
    await plane.start()
    try:
        yield InProcessApi(plane.handler, ADMIN, "tests/v0")
    finally:
        await plane.stop()


@asynccontextmanager
async def over_https() -> AsyncIterator[Api]:
    plane = ControlPlane()
    await plane.start()
    await plane.listen()
    admin, ca = plane.pki.admin, plane.pki.ca.certificate_pem
    api = HttpsApi(plane.server_url, ca, certificate_pem=admin.certificate_pem, key_pem=admin.key_pem)
    try:
        yield api
    finally:
        api.close()
        await plane.stop()


@asynccontextmanager
async def real() -> AsyncIterator[Api]:
    if not REAL.exists() or not answers(REAL):
        pytest.skip("no real kube-apiserver runs on this machine")
    api = HttpsApi.from_kubeconfig(REAL)
    try:
        yield api
    finally:
        api.close()


def answers(kubeconfig: Path) -> bool:
    url = HttpsApi.from_kubeconfig(kubeconfig).server_url
    unverified = ssl._create_unverified_context()
    try:
        with urllib.request.urlopen(f"{url}/readyz", context=unverified, timeout=2):
            return True
    except URLError as error:
        return hasattr(error, "code")


@pytest.fixture(params=[in_process, over_https, real], ids=lambda opened: opened.__name__)
def run(request: pytest.FixtureRequest) -> Iterator[Callable[[Callable[[Api, str], Awaitable[None]]], None]]:
    """Runs a scenario with an Api and a namespace of its own."""

    def run(scenario: Callable[[Api, str], Awaitable[None]]) -> None:
        async def with_api() -> None:
            async with asyncio.timeout(WITHIN_S), request.param() as api:
                name = f"api-{Randomness().suffix()}"
                await api.create(NAMESPACES, {"metadata": {"name": name}})
                try:
                    await scenario(api, name)
                finally:
                    await remove(api, name)

        asyncio.run(with_api())

    return run  # type: ignore[return-value]


async def remove(api: Api, namespace: str) -> None:
    """Also where no controller finishes the deletion of namespaces."""
    for config_map in (await api.list(CONFIG_MAPS, namespace)).items:
        await api.delete(CONFIG_MAPS, config_map["metadata"]["name"], namespace)
    await api.delete(NAMESPACES, namespace)
    found = await api.get(NAMESPACES, namespace)
    await api.update(NAMESPACES, {**found, "spec": {"finalizers": []}}, subresource="finalize")


def test_the_verbs(run) -> None:  # type: ignore[no-untyped-def]
    async def scenario(api: Api, namespace: str) -> None:
        created = await api.create(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}}, namespace)
        assert (await api.get(CONFIG_MAPS, "a", namespace))["data"] == {"x": "1"}
        updated = await api.update(CONFIG_MAPS, {**created, "data": {"x": "2"}})
        with pytest.raises(errors.Conflict):
            await api.update(CONFIG_MAPS, {**created, "data": {"x": "3"}})
        patched = await api.patch(CONFIG_MAPS, "a", {"data": {"y": "1"}}, namespace, type="strategic")
        assert patched["data"] == {"x": "2", "y": "1"}
        change = [{"op": "remove", "path": "/data/x"}]
        assert (await api.patch(CONFIG_MAPS, "a", change, namespace, type="json"))["data"] == {"y": "1"}
        applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"z": "1"}}
        result = await api.patch(CONFIG_MAPS, "a", applied, namespace, type="apply", field_manager="tests", force=True)
        assert result["data"] == {"y": "1", "z": "1"}
        found = await api.list(CONFIG_MAPS, namespace, field_selector="metadata.name=a")
        assert [(item["kind"], item["metadata"]["name"]) for item in found.items] == [("ConfigMap", "a")]
        assert int(found.resource_version) > int(updated["metadata"]["resourceVersion"])
        await api.delete(CONFIG_MAPS, "a", namespace, {"preconditions": {"uid": created["metadata"]["uid"]}})
        with pytest.raises(errors.NotFound):
            await api.get(CONFIG_MAPS, "a", namespace)

    run(scenario)


def test_failures_are_typed(run) -> None:  # type: ignore[no-untyped-def]
    async def scenario(api: Api, namespace: str) -> None:
        await api.create(SERVICE_ACCOUNTS, {"metadata": {"name": "a"}}, namespace)
        with pytest.raises(errors.AlreadyExists):
            await api.create(SERVICE_ACCOUNTS, {"metadata": {"name": "a"}}, namespace)
        with pytest.raises(errors.Invalid) as invalid:
            await api.create(CONFIG_MAPS, {"metadata": {"name": "A"}}, namespace)
        assert invalid.value.status["details"]["causes"][0]["field"] == "metadata.name"
        with pytest.raises(errors.Forbidden, match='serviceaccount "default" not found'):
            await api.create(PODS, {"metadata": {"name": "a"}, "spec": {"containers": []}}, namespace)
        with pytest.raises(errors.NotFound, match='nodes "no such node" not found'):
            await api.get(NODES, "no such node")

    run(scenario)


def test_a_watch_from_the_past_is_expired(run) -> None:  # type: ignore[no-untyped-def]
    async def scenario(api: Api, namespace: str) -> None:
        async def follow() -> None:
            async with api.watch(CONFIG_MAPS, namespace, resource_version="1") as events:
                async for _ in events:
                    raise AssertionError("that history is gone")

        with pytest.raises(errors.Expired) as expired:
            await follow()
        assert expired.value.code == 410

    run(scenario)


def test_an_informer_follows(run) -> None:  # type: ignore[no-untyped-def]
    async def scenario(api: Api, namespace: str) -> None:
        await api.create(CONFIG_MAPS, {"metadata": {"name": "before"}}, namespace)
        informer = Informer(
            api, CONFIG_MAPS, namespace, field_selector="metadata.name!=kube-root-ca.crt", clock=RealClock()
        )
        seen: asyncio.Queue[str] = asyncio.Queue()
        informer.add_handler(
            lambda obj: seen.put_nowait(f"+{obj['metadata']['name']}"),
            lambda _, new: seen.put_nowait(f"~{new['metadata']['name']}"),
            lambda obj, _: seen.put_nowait(f"-{obj['metadata']['name']}"),
        )
        await informer.start()
        await informer.wait_synced()
        await api.create(CONFIG_MAPS, {"metadata": {"name": "after"}}, namespace)
        await api.patch(CONFIG_MAPS, "after", {"data": {"x": "y"}}, namespace)
        await api.delete(CONFIG_MAPS, "after", namespace)
        assert [await seen.get() for _ in range(4)] == ["+before", "+after", "~after", "-after"]
        assert [*informer.store] == [f"{namespace}/before"]
        await informer.stop()

    run(scenario)


def test_authorization_is_that_of_the_given_user(cluster: EmulatedCluster) -> None:
    from clusters.emulated.client import identities

    api = InProcessApi(cluster.plane.handler, identities.SCHEDULER, "kube-scheduler/v1.36.0")
    assert cluster.run(api.list(NODES)).items == []
    with pytest.raises(errors.Forbidden, match='User "system:kube-scheduler" cannot create resource "nodes"'):
        cluster.run(api.create(NODES, {"metadata": {"name": "n"}}))


def test_nobody_there_is_unreachable() -> None:
    api = HttpsApi("https://127.0.0.1:1", b"", token="t")
    with pytest.raises(errors.Unreachable, match="connection refused"):
        asyncio.run(api.get(NODES, "n"))


def test_a_stranger_is_not_trusted() -> None:
    async def scenario() -> None:
        plane = ControlPlane()
        await plane.start()
        await plane.listen()
        other = ControlPlane()
        await other.start()
        api = HttpsApi(plane.server_url, other.pki.ca.certificate_pem)
        with pytest.raises(errors.Unreachable, match="failed to verify certificate"):
            await api.get(NODES, "n")
        await plane.stop()
        await other.stop()

    asyncio.run(scenario())
