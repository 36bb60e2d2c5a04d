"""A cluster in virtual time, and an `Api` of its administrator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clusters.emulated.client.blocking import ADMIN
from clusters.emulated.client.inprocess_api import InProcessApi
from clusters.emulated.clock import VirtualClock
from clusters.emulated.cluster import EmulatedCluster


@pytest.fixture
def cluster() -> Iterator[EmulatedCluster]:
    with EmulatedCluster(clock="virtual", seed=7) as cluster:
        yield cluster


@pytest.fixture
def clock(cluster: EmulatedCluster) -> VirtualClock:
    assert isinstance(cluster.clock, VirtualClock)
    return cluster.clock


@pytest.fixture
def api(cluster: EmulatedCluster) -> InProcessApi:
    return InProcessApi(cluster.plane.handler, ADMIN, "tests/v0")
