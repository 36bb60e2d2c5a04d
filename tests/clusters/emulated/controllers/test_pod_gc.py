"""Pods that nobody else would end."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.clock import VirtualClock
from clusters.emulated.cluster import EmulatedCluster
from clusters.emulated.controllers.pod_gc import surplus

PODS = "/api/v1/namespaces/default/pods"


def advance(cluster: EmulatedCluster, seconds: float) -> None:
    assert isinstance(cluster.clock, VirtualClock)
    cluster.clock.advance(seconds)


@pytest.fixture
def ready(cluster: EmulatedCluster) -> EmulatedCluster:
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    cluster.wait_until(lambda: cluster.api.request("GET", account).code == 200, 5)
    return cluster


def make_pod(cluster: EmulatedCluster, name: str, **spec: Any) -> None:
    body = {"containers": [{"name": "c", "image": "x"}], "schedulerName": "nobody", **spec}
    cluster.api.create(PODS, {"metadata": {"name": name}, "spec": body})


def exists(cluster: EmulatedCluster, name: str) -> bool:
    return cluster.api.request("GET", f"{PODS}/{name}").code == 200


def test_pods_of_a_node_that_is_gone_go_after_a_quarantine(ready: EmulatedCluster) -> None:
    make_pod(ready, "orphan", nodeName="ghost")
    ready.api.patch(f"{PODS}/orphan", {"metadata": {"finalizers": ["example.com/look"]}})
    advance(ready, 40)
    assert "deletionTimestamp" not in ready.api.get(f"{PODS}/orphan")["metadata"]
    advance(ready, 40)
    found = ready.api.get(f"{PODS}/orphan")
    assert "deletionTimestamp" in found["metadata"]
    assert found["status"]["phase"] == "Failed"
    (target,) = [each for each in found["status"]["conditions"] if each["type"] == "DisruptionTarget"]
    assert (target["reason"], target["message"]) == ("DeletionByPodGC", "PodGC: node no longer exists")


def test_a_pod_that_is_deleted_before_it_is_scheduled(ready: EmulatedCluster) -> None:
    make_pod(ready, "held")
    ready.api.patch(f"{PODS}/held", {"metadata": {"finalizers": ["example.com/look"]}})
    ready.api.delete(f"{PODS}/held")
    advance(ready, 21)
    assert ready.api.get(f"{PODS}/held")["status"]["phase"] == "Failed"


def test_a_node_out_of_service_lets_its_pods_go(ready: EmulatedCluster) -> None:
    ready.api.create("/api/v1/nodes", {"metadata": {"name": "dead"}})
    make_pod(ready, "stuck", nodeName="dead")
    ready.api.delete(f"{PODS}/stuck")
    advance(ready, 45)
    assert exists(ready, "stuck")
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    ready.api.patch("/api/v1/nodes/dead", {"spec": {"taints": [taint]}})
    advance(ready, 21)
    assert not exists(ready, "stuck")


def test_of_too_many_finished_pods_the_evicted_and_the_oldest_go() -> None:
    def pod(name: str, created: str, phase: str, reason: str = "") -> dict[str, Any]:
        return {
            "metadata": {"name": name, "namespace": "n", "creationTimestamp": created},
            "status": {"phase": phase, "reason": reason},
        }

    pods = [
        pod("new", "2026-01-03T00:00:00Z", "Succeeded"),
        pod("old", "2026-01-01T00:00:00Z", "Succeeded"),
        pod("running", "2025-01-01T00:00:00Z", "Running"),
        pod("evicted", "2026-01-04T00:00:00Z", "Failed", "Evicted"),
    ]
    assert [each["metadata"]["name"] for each in surplus(pods, 1)] == ["evicted", "old"]
    assert surplus(pods, 3) == []
