"""Namespaces, default ServiceAccounts, the root CA, aggregated roles and garbage collection."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.base import ApiError
from clusters.emulated.cluster import EmulatedCluster

MAPS = "/api/v1/namespaces/shop/configmaps"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def exists(cluster: EmulatedCluster, path: str) -> bool:
    return cluster.api.request("GET", path).code == 200


def make_namespace(cluster: EmulatedCluster, name: str = "shop") -> None:
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    cluster.wait_until(lambda: exists(cluster, f"/api/v1/namespaces/{name}/serviceaccounts/default"), 5)


def test_a_new_namespace_gets_its_default_service_account_and_the_root_ca(cluster: EmulatedCluster) -> None:
    make_namespace(cluster)
    cluster.wait_until(lambda: exists(cluster, f"{MAPS}/kube-root-ca.crt"), 5)
    assert cluster.api.get(f"{MAPS}/kube-root-ca.crt")["data"]["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")


def test_a_deleted_default_service_account_comes_back(cluster: EmulatedCluster) -> None:
    make_namespace(cluster)
    path = "/api/v1/namespaces/shop/serviceaccounts/default"
    first = cluster.api.get(path)["metadata"]["uid"]
    cluster.api.delete(path)
    cluster.wait_until(lambda: exists(cluster, path) and cluster.api.get(path)["metadata"]["uid"] != first, 5)


def test_a_namespace_ends_with_everything_in_it(cluster: EmulatedCluster) -> None:
    make_namespace(cluster)
    cluster.api.create(MAPS, {"metadata": {"name": "a"}})
    cluster.api.delete("/api/v1/namespaces/shop")
    cluster.wait_until(lambda: not exists(cluster, "/api/v1/namespaces/shop"), 30)


def test_a_stuck_namespace_says_what_keeps_it(cluster: EmulatedCluster) -> None:
    make_namespace(cluster)
    cluster.api.create(MAPS, {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}})
    cluster.api.delete("/api/v1/namespaces/shop")

    def conditions() -> dict[str, Any]:
        status = cluster.api.get("/api/v1/namespaces/shop")["status"]
        return {each["type"]: each for each in status.get("conditions") or ()}

    cluster.wait_until(lambda: conditions().get("NamespaceContentRemaining", {}).get("status") == "True", 30)
    found = conditions()
    assert (
        found["NamespaceContentRemaining"]["message"]
        == "Some resources are remaining: configmaps. has 1 resource instances"
    )
    assert found["NamespaceFinalizersRemaining"]["message"] == (
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"
    )
    assert found["NamespaceDeletionDiscoveryFailure"]["status"] == "False"
    cluster.api.patch(f"{MAPS}/held", {"metadata": {"finalizers": None}})
    cluster.wait_until(lambda: not exists(cluster, "/api/v1/namespaces/shop"), 60)


def test_an_aggregated_role_follows_its_parts(cluster: EmulatedCluster) -> None:
    rule = {"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get"]}
    cluster.api.create(
        ROLES,
        {
            "metadata": {"name": "part", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
            "rules": [rule],
        },
    )
    cluster.wait_until(lambda: rule in cluster.api.get(f"{ROLES}/view")["rules"], 5)
    cluster.api.delete(f"{ROLES}/part")
    cluster.wait_until(lambda: rule not in cluster.api.get(f"{ROLES}/view")["rules"], 5)


def owned(cluster: EmulatedCluster, owner: dict[str, Any], name: str, **reference: Any) -> dict[str, Any]:
    metadata = owner["metadata"]
    link = {"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"], **reference}
    return cluster.api.create(MAPS, {"metadata": {"name": name, "ownerReferences": [link]}})


def test_dependents_go_in_the_background_after_their_owner(cluster: EmulatedCluster) -> None:
    make_namespace(cluster)
    owner = cluster.api.create(MAPS, {"metadata": {"name": "owner"}})
    child = owned(cluster, owner, "child")
    owned(cluster, child, "grandchild")
    cluster.api.delete(f"{MAPS}/owner", {"propagationPolicy": "Background"})
    cluster.wait_until(lambda: not exists(cluster, f"{MAPS}/grandchild"), 60)
    assert not exists(cluster, f"{MAPS}/child")


def test_orphaned_dependents_stay_and_lose_their_reference(cluster: EmulatedCluster) -> None:
    make_namespace(cluster)
    owner = cluster.api.create(MAPS, {"metadata": {"name": "owner"}})
    owned(cluster, owner, "child")
    cluster.api.delete(f"{MAPS}/owner", {"propagationPolicy": "Orphan"})
    cluster.wait_until(lambda: not exists(cluster, f"{MAPS}/owner"), 60)
    assert "ownerReferences" not in cluster.api.get(f"{MAPS}/child")["metadata"]


def test_a_foreground_deletion_waits_for_what_blocks_it(cluster: EmulatedCluster) -> None:
    make_namespace(cluster)
    owner = cluster.api.create(MAPS, {"metadata": {"name": "owner"}})
    owned(cluster, owner, "child", blockOwnerDeletion=True)
    cluster.api.patch(f"{MAPS}/child", {"metadata": {"finalizers": ["example.com/hold"]}})
    cluster.api.delete(f"{MAPS}/owner", {"propagationPolicy": "Foreground"})
    cluster.wait_until(lambda: "deletionTimestamp" in cluster.api.get(f"{MAPS}/child")["metadata"], 60)
    assert exists(cluster, f"{MAPS}/owner")
    cluster.api.patch(f"{MAPS}/child", {"metadata": {"finalizers": None}})
    cluster.wait_until(lambda: not exists(cluster, f"{MAPS}/owner"), 60)


def test_a_reference_to_an_owner_that_never_was_is_fatal(cluster: EmulatedCluster) -> None:
    make_namespace(cluster)
    owned(cluster, {"metadata": {"name": "ghost", "uid": "00000000-0000-0000-0000-000000000000"}}, "child")
    cluster.wait_until(lambda: not exists(cluster, f"{MAPS}/child"), 60)


def test_one_living_owner_is_enough(cluster: EmulatedCluster) -> None:
    make_namespace(cluster)
    first = cluster.api.create(MAPS, {"metadata": {"name": "first"}})
    second = cluster.api.create(MAPS, {"metadata": {"name": "second"}})
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": each["metadata"]["name"], "uid": each["metadata"]["uid"]}
        for each in (first, second)
    ]
    cluster.api.create(MAPS, {"metadata": {"name": "child", "ownerReferences": references}})
    cluster.api.delete(f"{MAPS}/first")
    cluster.wait_until(lambda: len(cluster.api.get(f"{MAPS}/child")["metadata"]["ownerReferences"]) == 1, 60)
    with pytest.raises(ApiError):
        cluster.api.get(f"{MAPS}/first")
