"""A cluster in virtual time whose controllers run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clusters.emulated.cluster import EmulatedCluster


@pytest.fixture
def cluster() -> Iterator[EmulatedCluster]:
    with EmulatedCluster(clock="virtual", seed=1, components=True) as cluster:
        yield cluster
