"""A whole emulated cluster, asked in-process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clusters.emulated.client.blocking import BlockingApi
from clusters.emulated.cluster import EmulatedCluster


@pytest.fixture
def cluster() -> Iterator[EmulatedCluster]:
    with EmulatedCluster() as cluster:
        cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
        yield cluster


@pytest.fixture
def api(cluster: EmulatedCluster) -> BlockingApi:
    return cluster.api
