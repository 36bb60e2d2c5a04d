from __future__ import annotations

import pytest

from clusters.base import Cluster
from harness.kubectl import Kubectl
from suites.objects import CONFIG_MAPS, config_map, role, role_binding

pytestmark = pytest.mark.hop(3)

RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"


def test_without_a_binding_a_user_may_nothing(cluster: Cluster) -> None:
    answer = cluster.api.as_user("jane").request("GET", CONFIG_MAPS)
    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    assert answer.body["message"] == (
        'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" '
        'in the namespace "default"'
    )


def test_anonymous_is_named_as_such(cluster: Cluster) -> None:
    answer = cluster.api.anonymous().request("GET", "/api/v1/namespaces")
    assert answer.code == 403
    assert 'User "system:anonymous" cannot list resource "namespaces"' in answer.body["message"]
    assert answer.body["message"].endswith("at the cluster scope")


def test_a_binding_gives_the_right_and_its_loss_takes_it(cluster: Cluster) -> None:
    jane = cluster.api.as_user("jane")
    cluster.api.create(f"{RBAC}/roles", role("reader", ["get", "list"], ["configmaps"]))
    cluster.api.create(f"{RBAC}/rolebindings", role_binding("jane-reads", "reader", "jane"))
    assert jane.request("GET", CONFIG_MAPS).code == 200
    assert jane.request("POST", CONFIG_MAPS, config_map("a")).code == 403, "reading is not writing"
    cluster.api.delete(f"{RBAC}/rolebindings/jane-reads")
    assert jane.request("GET", CONFIG_MAPS).code == 403


def test_nobody_can_give_a_right_that_they_do_not_have(cluster: Cluster) -> None:
    writer = role("role-writer", ["create"], ["roles"], group="rbac.authorization.k8s.io")
    cluster.api.create(f"{RBAC}/roles", writer)
    cluster.api.create(f"{RBAC}/rolebindings", role_binding("jane-writes-roles", "role-writer", "jane"))
    jane = cluster.api.as_user("jane")
    answer = jane.request("POST", f"{RBAC}/roles", role("all-secrets", ["get"], ["secrets"]))
    assert answer.code == 403
    assert "is attempting to grant RBAC permissions not currently held" in answer.body["message"]


def test_kubectl_auth_can_i(cluster: Cluster, kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "pods").stdout == "yes\n"
    denied = kubectl("auth", "can-i", "create", "pods", "--as=jane", exit_code=1)
    assert denied.stdout == "no\n"
