"""A whole emulated cluster, asked in-process, with a namespace in which Pods can be made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clusters.base import ApiError
from clusters.emulated.client.blocking import BlockingApi
from clusters.emulated.cluster import EmulatedCluster


@pytest.fixture
def cluster() -> Iterator[EmulatedCluster]:
    with EmulatedCluster() as cluster:
        cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
        cluster.api.create("/api/v1/namespaces/shop/serviceaccounts", {"metadata": {"name": "default"}})
        yield cluster


@pytest.fixture
def api(cluster: EmulatedCluster) -> BlockingApi:
    return cluster.api


@pytest.fixture
def refused() -> Callable[[Callable[[], Any]], ApiError]:
    def check(call: Callable[[], Any]) -> ApiError:
        with pytest.raises(ApiError) as error:
            call()
        return error.value

    return check


@pytest.fixture
def make_pod(api: BlockingApi) -> Callable[..., dict[str, Any]]:
    def make(name: str, **spec: Any) -> dict[str, Any]:
        containers = spec.pop("containers", [{"name": "c", "image": "x"}])
        pod = {"metadata": {"name": name, "labels": {"app": "web"}}, "spec": {"containers": containers, **spec}}
        return api.create("/api/v1/namespaces/shop/pods", pod)

    return make
