"""The Python client `kubernetes_asyncio`: many requests at once, and a watch beside them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

client: Any = pytest.importorskip("kubernetes_asyncio.client", reason="kubernetes_asyncio is not installed")
config: Any = pytest.importorskip("kubernetes_asyncio.config")
watch: Any = pytest.importorskip("kubernetes_asyncio.watch")

COUNT = 30


async def scenario(kubeconfig: Path) -> None:
    api_client = await config.new_client_from_config(str(kubeconfig))
    async with api_client:
        core = client.CoreV1Api(api_client)
        version = (await core.list_namespaced_config_map("default")).metadata.resource_version
        watching = asyncio.ensure_future(seen(core, version))
        bodies = [{"metadata": {"name": f"many-{number}"}} for number in range(COUNT)]
        created = await asyncio.gather(*(core.create_namespaced_config_map("default", body) for body in bodies))
        versions = sorted(int(item.metadata.resource_version) for item in created)
        assert len(set(versions)) == COUNT
        assert await asyncio.wait_for(watching, 30) == versions
        with pytest.raises(client.ApiException) as exists:
            await core.create_namespaced_config_map("default", bodies[0])
        assert exists.value.status == 409
        await core.patch_namespaced_config_map(
            "many-0", "default", [{"op": "add", "path": "/data", "value": {"a": "b"}}]
        )
        assert (await core.read_namespaced_config_map("many-0", "default")).data == {"a": "b"}
        await core.delete_collection_namespaced_config_map("default", field_selector="metadata.name=many-0")
        assert len((await core.list_namespaced_config_map("default")).items) == COUNT - 1


async def seen(core: Any, version: str) -> list[int]:
    versions = []
    async with watch.Watch() as watcher:
        stream = watcher.stream(core.list_namespaced_config_map, "default", resource_version=version)
        async for event in stream:
            versions.append(int(event["object"].metadata.resource_version))
            if len(versions) == COUNT:
                break
    return versions


def test_many_requests_at_once_and_a_watch_beside_them(kubeconfig: Path) -> None:
    asyncio.run(scenario(kubeconfig))
