"""RBAC: which rules apply to whom, and what a refusal says."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.apiserver.authorization import rbac
from clusters.emulated.apiserver.authorization.attributes import Attributes, Decision, forbidden
from clusters.emulated.apiserver.authorization.rbac import RbacAuthorizer
from clusters.emulated.apiserver.request import UserInfo
from tests.clusters.emulated.apiserver.authorization.memory_objects import MemoryObjects

ALICE = UserInfo("alice", groups=("dev", "system:authenticated"))


def cluster_role(name: str, *rules: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "rules": list(rules)}


def rule(verbs: str, groups: str, resources: str, *names: str) -> dict[str, Any]:
    made: dict[str, Any] = {
        "verbs": verbs.split(","),
        "apiGroups": groups.split(","),
        "resources": resources.split(","),
    }
    return made | ({"resourceNames": list(names)} if names else {})


def binding(name: str, kind: str, role: str, *subjects: dict[str, str], namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    role_ref = {"apiGroup": rbac.GROUP, "kind": kind, "name": role}
    return {"metadata": metadata, "roleRef": role_ref, "subjects": list(subjects)}


USER_ALICE = {"kind": "User", "name": "alice", "apiGroup": rbac.GROUP}
GROUP_DEV = {"kind": "Group", "name": "dev", "apiGroup": rbac.GROUP}


def bound(*rules: dict[str, Any]) -> RbacAuthorizer:
    objects = MemoryObjects()
    objects.put(rbac.CLUSTER_ROLES, cluster_role("r", *rules))
    objects.put(rbac.CLUSTER_ROLE_BINDINGS, binding("b", "ClusterRole", "r", USER_ALICE))
    return RbacAuthorizer(objects)


@pytest.mark.parametrize(
    ("granted", "verb", "group", "resource", "subresource", "name", "allowed"),
    [
        (rule("get", "", "pods"), "get", "", "pods", "", "a", True),
        (rule("get", "", "pods"), "list", "", "pods", "", "", False),
        (rule("get", "", "pods"), "get", "apps", "pods", "", "", False),
        (rule("get", "", "pods"), "get", "", "pods", "log", "a", False),
        (rule("get", "", "pods/log"), "get", "", "pods", "log", "a", True),
        (rule("get", "", "pods/log"), "get", "", "pods", "", "a", False),
        (rule("*", "*", "*"), "escalate", "x.io", "things", "status", "a", True),
        (rule("update", "*", "*/scale"), "update", "apps", "deployments", "scale", "a", True),
        (rule("update", "*", "*/scale"), "update", "apps", "deployments", "", "a", False),
        (rule("get", "", "secrets", "one"), "get", "", "secrets", "", "one", True),
        (rule("get", "", "secrets", "one"), "get", "", "secrets", "", "two", False),
        (rule("list", "", "secrets", "one"), "list", "", "secrets", "", "", False),
        (rule("create", "", "pods/*"), "create", "", "pods", "exec", "a", False),
    ],
)
def test_what_a_rule_allows(
    granted: dict[str, Any], verb: str, group: str, resource: str, subresource: str, name: str, allowed: bool
) -> None:
    asked = Attributes(ALICE, verb, group, "v1", resource, subresource, "shop", name)
    assert bound(granted).decide(asked).allowed is allowed


@pytest.mark.parametrize(
    ("url", "path", "allowed"),
    [
        ("/metrics", "/metrics", True),
        ("/metrics", "/metrics/x", False),
        ("/healthz/*", "/healthz/etcd", True),
        ("/healthz/*", "/healthz", False),
        ("*", "/anything", True),
    ],
)
def test_what_a_url_rule_allows(url: str, path: str, allowed: bool) -> None:
    authorizer = bound({"verbs": ["get"], "nonResourceURLs": [url]})
    assert authorizer.decide(Attributes(ALICE, "get", is_resource=False, path=path)).allowed is allowed


def test_an_allowed_request_names_the_binding() -> None:
    objects = MemoryObjects()
    objects.put(rbac.CLUSTER_ROLES, cluster_role("view", rule("list", "", "pods")))
    service_account = {"kind": "ServiceAccount", "name": "robot"}
    objects.put(rbac.ROLE_BINDINGS, binding("readers", "ClusterRole", "view", service_account, namespace="shop"))
    robot = UserInfo("system:serviceaccount:shop:robot")
    verdict = RbacAuthorizer(objects).decide(Attributes(robot, "list", "", "v1", "pods", namespace="shop"))
    assert verdict.reason == (
        'RBAC: allowed by RoleBinding "readers/shop" of ClusterRole "view" to ServiceAccount "robot/shop"'
    )


def test_a_role_binding_counts_in_its_own_namespace_only() -> None:
    objects = MemoryObjects()
    objects.put(rbac.ROLES, {"metadata": {"name": "r", "namespace": "shop"}, "rules": [rule("get", "", "pods")]})
    objects.put(rbac.ROLE_BINDINGS, binding("b", "Role", "r", GROUP_DEV, namespace="shop"))
    authorizer = RbacAuthorizer(objects)
    for namespace, allowed in (("shop", True), ("other", False), ("", False)):
        asked = Attributes(ALICE, "get", "", "v1", "pods", namespace=namespace, name="a")
        assert authorizer.decide(asked).allowed is allowed


def test_a_change_of_a_role_counts_at_once() -> None:
    objects = MemoryObjects()
    objects.put(rbac.CLUSTER_ROLES, cluster_role("r"))
    objects.put(rbac.CLUSTER_ROLE_BINDINGS, binding("b", "ClusterRole", "r", USER_ALICE))
    authorizer = RbacAuthorizer(objects)
    asked = Attributes(ALICE, "list", "", "v1", "nodes")
    assert authorizer.decide(asked).decision is Decision.NO_OPINION
    objects.put(rbac.CLUSTER_ROLES, cluster_role("r", rule("list", "", "nodes")))
    assert authorizer.decide(asked).allowed
    objects.remove(rbac.CLUSTER_ROLE_BINDINGS, "", "b")
    assert not authorizer.decide(asked).allowed


def test_a_binding_to_a_missing_role_shows_in_the_refusal_of_its_subjects() -> None:
    objects = MemoryObjects()
    objects.put(rbac.CLUSTER_ROLE_BINDINGS, binding("b", "ClusterRole", "gone", USER_ALICE))
    objects.put(rbac.ROLE_BINDINGS, binding("b", "Role", "lost", USER_ALICE, namespace="shop"))
    authorizer = RbacAuthorizer(objects)
    asked = Attributes(ALICE, "list", "", "v1", "pods", namespace="shop")
    error = forbidden(asked, authorizer.decide(asked).reason)
    assert error.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace '
        '"shop": RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, '
        'role.rbac.authorization.k8s.io "lost" not found]',
        "reason": "Forbidden",
        "details": {"kind": "pods"},
        "code": 403,
    }
    bob = Attributes(UserInfo("bob"), "list", "", "v1", "pods", namespace="shop")
    assert authorizer.decide(bob).reason == ""


def test_refusals_at_cluster_scope_of_a_subresource_and_of_a_path() -> None:
    nodes = forbidden(Attributes(ALICE, "get", "", "v1", "nodes", "proxy", name="n"), "")
    assert nodes.message == (
        'nodes "n" is forbidden: User "alice" cannot get resource "nodes/proxy" in API group "" at the cluster scope'
    )
    path = forbidden(Attributes(ALICE, "get", is_resource=False, path="/metrics"), "")
    assert path.message == 'forbidden: User "alice" cannot get path "/metrics"'
    assert path.status()["details"] == {}
