"""What ResourceQuotas say is used, after admission has charged and things have gone."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.clock import VirtualClock
from clusters.emulated.cluster import EmulatedCluster

BASE = "/api/v1/namespaces/shop"
QUOTAS = f"{BASE}/resourcequotas"


@pytest.fixture
def shop(cluster: EmulatedCluster) -> EmulatedCluster:
    cluster.api.create("/api/v1/nodes", {"metadata": {"name": "node-1"}})
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    root_ca = f"{BASE}/configmaps/kube-root-ca.crt"
    cluster.wait_until(lambda: cluster.api.request("GET", root_ca).code == 200, 5)
    settle(cluster)
    return cluster


def settle(cluster: EmulatedCluster, seconds: float = 1.0) -> None:
    assert isinstance(cluster.clock, VirtualClock)
    cluster.clock.advance(seconds)


def make_quota(cluster: EmulatedCluster, hard: dict[str, str], name: str = "quota", **spec: Any) -> None:
    cluster.api.create(QUOTAS, {"metadata": {"name": name}, "spec": {"hard": hard, **spec}})
    settle(cluster)


def used(cluster: EmulatedCluster, name: str = "quota") -> dict[str, str]:
    found: dict[str, str] = cluster.api.get(f"{QUOTAS}/{name}")["status"]["used"]
    return found


def make_pod(cluster: EmulatedCluster, name: str, cpu: str = "", **spec: Any) -> None:
    container: dict[str, Any] = {"name": "c", "image": "x"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}
    body = {"containers": [container], "schedulerName": "nobody", "nodeName": "node-1", **spec}
    cluster.api.create(f"{BASE}/pods", {"metadata": {"name": name}, "spec": body})


def test_what_was_there_before_the_quota_is_counted(shop: EmulatedCluster) -> None:
    make_pod(shop, "a", "250m")
    make_pod(shop, "b", "1")
    make_quota(shop, {"pods": "10", "requests.cpu": "4", "limits.cpu": "4", "configmaps": "5", "secrets": "1"})
    status = shop.api.get(f"{QUOTAS}/quota")["status"]
    assert status["hard"] == {
        "pods": "10", "requests.cpu": "4", "limits.cpu": "4", "configmaps": "5", "secrets": "1"
    }  # fmt: skip
    assert status["used"] == {
        "pods": "2", "requests.cpu": "1250m", "limits.cpu": "1250m", "configmaps": "1", "secrets": "0"
    }  # fmt: skip


def test_deletion_and_the_end_of_a_pod_give_back(shop: EmulatedCluster) -> None:
    make_quota(shop, {"pods": "10", "requests.cpu": "4", "count/pods": "10"})
    make_pod(shop, "a", "1")
    make_pod(shop, "b", "1")
    assert used(shop) == {"pods": "2", "requests.cpu": "2", "count/pods": "2"}
    shop.api.patch(f"{BASE}/pods/a/status", {"status": {"phase": "Succeeded"}})
    settle(shop)
    assert used(shop) == {"pods": "1", "requests.cpu": "1", "count/pods": "2"}
    shop.api.delete(f"{BASE}/pods/b", {"gracePeriodSeconds": 0})
    settle(shop)
    assert used(shop) == {"pods": "0", "requests.cpu": "0", "count/pods": "1"}


def test_any_kind_can_be_counted(shop: EmulatedCluster) -> None:
    make_quota(shop, {"count/roles.rbac.authorization.k8s.io": "2", "count/things.example.com": "1"})
    assert used(shop) == {"count/roles.rbac.authorization.k8s.io": "0"}
    roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles"
    shop.api.create(roles, {"metadata": {"name": "r"}})
    assert used(shop) == {"count/roles.rbac.authorization.k8s.io": "1"}
    shop.api.delete(f"{roles}/r")
    settle(shop)
    assert used(shop) == {"count/roles.rbac.authorization.k8s.io": "0"}


def test_scopes_say_which_pods_count(shop: EmulatedCluster) -> None:
    make_pod(shop, "effort")
    make_pod(shop, "limited", "1")
    make_pod(shop, "ending", "1", activeDeadlineSeconds=600)
    make_quota(shop, {"pods": "9"}, "best", scopes=["BestEffort"])
    make_quota(shop, {"pods": "9", "requests.cpu": "9"}, "lasting", scopes=["NotTerminating", "NotBestEffort"])
    assert used(shop, "best") == {"pods": "1"}
    assert used(shop, "lasting") == {"pods": "1", "requests.cpu": "1"}


def test_services_and_claims(shop: EmulatedCluster) -> None:
    ports = [{"port": 80}]
    shop.api.create(f"{BASE}/services", {"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": ports}})
    resources = {"requests": {"storage": "3Gi"}}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": resources, "storageClassName": "fast"}
    shop.api.create(f"{BASE}/persistentvolumeclaims", {"metadata": {"name": "d"}, "spec": claim})
    by_class = "fast.storageclass.storage.k8s.io/requests.storage"
    make_quota(shop, {"services": "5", "services.nodeports": "2", "requests.storage": "10Gi", by_class: "9Gi"})
    assert used(shop) == {"services": "1", "services.nodeports": "1", "requests.storage": "3Gi", by_class: "3Gi"}
    shop.api.patch(f"{BASE}/services/a", {"spec": {"type": "ClusterIP"}})
    settle(shop)
    assert used(shop)["services.nodeports"] == "0"


def test_a_changed_limit_shows_in_the_status(shop: EmulatedCluster) -> None:
    make_quota(shop, {"pods": "1", "secrets": "3"})
    shop.api.patch(f"{QUOTAS}/quota", {"spec": {"hard": {"pods": "7", "secrets": None}}})
    settle(shop)
    status = shop.api.get(f"{QUOTAS}/quota")["status"]
    assert status == {"hard": {"pods": "7"}, "used": {"pods": "0"}}


def test_a_wrong_number_is_corrected_within_five_minutes(shop: EmulatedCluster) -> None:
    make_quota(shop, {"pods": "9"})
    shop.api.patch(f"{QUOTAS}/quota/status", {"status": {"used": {"pods": "5"}}})
    settle(shop, 301)
    assert used(shop) == {"pods": "0"}
