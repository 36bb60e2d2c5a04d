"""A whole emulated cluster, asked for bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from clusters.emulated.client.blocking import ADMIN
from clusters.emulated.cluster import EmulatedCluster
from clusters.emulated.transport.inprocess import InProcess

PROTOBUF = "application/vnd.kubernetes.protobuf"
JSON = "application/json"


@dataclass(frozen=True)
class Reply:
    code: int
    content_type: str
    body: bytes


class Wire:
    """Requests and answers as bytes; a stream is read until the server ends it."""

    def __init__(self, cluster: EmulatedCluster) -> None:
        self._cluster = cluster
        self._transport = InProcess(cluster.plane.handler)

    def ask(
        self, method: str, path: str, body: bytes = b"", *, accept: str = PROTOBUF, content_type: str = PROTOBUF
    ) -> Reply:
        return self._cluster.run(self._ask(method, path, body, accept, content_type))

    async def _ask(self, method: str, path: str, body: bytes, accept: str, content_type: str) -> Reply:
        headers = [("Accept", accept), ("User-Agent", "test")]
        if body:
            headers.append(("Content-Type", content_type))
        response = await self._transport.request(method, path, headers, body, ADMIN)
        data = b"".join([chunk async for chunk in response.chunks()])
        return Reply(response.status, response.headers.get("content-type") or "", data)


@pytest.fixture
def cluster() -> Iterator[EmulatedCluster]:
    with EmulatedCluster() as cluster:
        yield cluster


@pytest.fixture
def wire(cluster: EmulatedCluster) -> Wire:
    return Wire(cluster)
