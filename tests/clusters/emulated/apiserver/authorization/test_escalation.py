"""Nobody grants what they do not hold."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clusters.emulated.apiserver.authorization import rbac
from clusters.emulated.apiserver.authorization.aggregation import aggregate
from clusters.emulated.apiserver.authorization.chain import AuthorizerChain, PrivilegedGroups
from clusters.emulated.apiserver.authorization.escalation import EscalationCheck
from clusters.emulated.apiserver.authorization.rbac import RbacAuthorizer
from clusters.emulated.apiserver.authorization.rules import covers
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.apiserver.request_info import request_info
from clusters.kube.errors import StatusError
from tests.clusters.emulated.apiserver.authorization.memory_objects import MemoryObjects
from tests.clusters.emulated.apiserver.authorization.test_rbac import (
    ALICE,
    USER_ALICE,
    binding,
    cluster_role,
    rule,
)

ROLES = request_info("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/s2/roles", {})
CLUSTER_ROLES = request_info("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", {})
BINDINGS = request_info("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/s2/rolebindings", {})
NOT_HELD = (
    'user "alice" (groups=["dev" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n'
)


class Alice:
    """Alice's rights, and what happens when she writes roles and bindings."""

    def __init__(self, *rights: dict[str, Any]) -> None:
        self.objects = MemoryObjects()
        self.objects.put(rbac.CLUSTER_ROLES, cluster_role("rights", *rights))
        self.objects.put(rbac.CLUSTER_ROLE_BINDINGS, binding("b", "ClusterRole", "rights", USER_ALICE))
        authorizer = RbacAuthorizer(self.objects)
        chain = AuthorizerChain([PrivilegedGroups(), authorizer])
        self.check = EscalationCheck(chain, authorizer, self.objects)

    def writes_role(self, *rules: dict[str, Any], info: Any = ROLES, user: UserInfo = ALICE, **more: Any) -> str:
        role = {"metadata": {"name": "esc"}, "rules": list(rules), **more}
        return _refusal(self.check.check_role_write(user, info, role))

    def binds(self, kind: str, name: str) -> str:
        return _refusal(self.check.check_binding_write(ALICE, BINDINGS, binding("esc", kind, name, USER_ALICE)))


def _refusal(check: Any) -> str:
    try:
        asyncio.run(check)
    except StatusError as refused:
        return refused.message
    return ""


def test_a_role_with_more_rights_is_refused_with_what_is_missing() -> None:
    message = Alice().writes_role(rule("*", "", "secrets"), rule("get,list", "apps", "deployments"))
    assert message == (
        'roles.rbac.authorization.k8s.io "esc" is forbidden: ' + NOT_HELD + '{APIGroups:[""], '
        'Resources:["secrets"], Verbs:["*"]}\n{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}'
    )


def test_missing_rights_are_named_one_by_one_and_sorted() -> None:
    alice = Alice(rule("get", "", "pods", "a"))
    message = alice.writes_role(rule("get,create", "", "pods"), rule("get,list", "", "pods", "a", "b"))
    assert message.split(NOT_HELD)[1].splitlines() == [
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["list"]}',
        '{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get" "list"]}',
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "create"]}',
    ]


def test_a_role_with_own_rights_is_fine() -> None:
    assert Alice(rule("get,list", "", "configmaps")).writes_role(rule("get", "", "configmaps", "x")) == ""


def test_urls_are_not_joined() -> None:
    message = Alice().writes_role({"nonResourceURLs": ["/logs"], "verbs": ["get", "post"]}, info=CLUSTER_ROLES)
    assert message.split(NOT_HELD)[1].splitlines() == [
        '{NonResourceURLs:["/logs"], Verbs:["get"]}',
        '{NonResourceURLs:["/logs"], Verbs:["post"]}',
    ]


def test_a_lost_role_of_the_writer_is_mentioned() -> None:
    alice = Alice()
    alice.objects.put(rbac.CLUSTER_ROLE_BINDINGS, binding("lost", "ClusterRole", "gone", USER_ALICE))
    message = alice.writes_role(rule("get", "", "pods"))
    assert message.endswith('; resolution errors: [roles.rbac.authorization.k8s.io "gone" not found]')


def test_escalate_and_masters_pass() -> None:
    everything = rule("*", "*", "*")
    assert Alice(rule("escalate", rbac.GROUP, "roles")).writes_role(everything) == ""
    root = UserInfo("root", groups=("system:masters",))
    assert Alice().writes_role(everything, user=root) == ""


def test_aggregation_takes_cluster_admin() -> None:
    selectors = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    assert Alice().writes_role(info=CLUSTER_ROLES, aggregationRule=selectors) == (
        'clusterroles.rbac.authorization.k8s.io "esc" is forbidden: '
        "must have cluster-admin privileges to use the aggregationRule"
    )


def test_binding_a_stronger_role_is_refused() -> None:
    alice = Alice()
    alice.objects.put(
        rbac.CLUSTER_ROLES,
        cluster_role("cluster-admin", rule("*", "*", "*"), {"nonResourceURLs": ["*"], "verbs": ["*"]}),
    )
    assert alice.binds("ClusterRole", "cluster-admin") == (
        'rolebindings.rbac.authorization.k8s.io "esc" is forbidden: ' + NOT_HELD + '{APIGroups:["*"], '
        'Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}'
    )


def test_bind_allows_one_role() -> None:
    alice = Alice(rule("bind", rbac.GROUP, "clusterroles", "edit"))
    assert alice.binds("ClusterRole", "edit") == ""


def test_a_missing_role_is_not_found_as_the_binding() -> None:
    assert Alice().binds("Role", "nope") == 'rolebindings.rbac.authorization.k8s.io "nope" not found'


def test_the_garbage_collector_may_let_go() -> None:
    old = {"metadata": {"name": "r", "finalizers": ["x"]}, "rules": [rule("*", "*", "*")]}
    new = {"metadata": {"name": "r"}, "rules": [rule("*", "*", "*")]}
    asyncio.run(Alice().check.check_role_write(ALICE, ROLES, new, old))


@pytest.mark.parametrize(
    ("held", "wanted", "covered"),
    [
        (rule("get", "", "pods"), rule("get", "", "pods/log"), False),
        (rule("update", "apps", "*/scale"), rule("update", "apps", "deployments/scale"), True),
        (rule("update", "apps", "*/scale"), rule("update", "apps", "deployments"), False),
        (rule("get", "", "pods", "a"), rule("get", "", "pods"), False),
        (rule("get", "", "pods"), rule("get", "", "pods", "a"), True),
        (rule("get", "", "*"), rule("get", "", "*"), True),
        (rule("get", "", "pods"), rule("get", "*", "pods"), False),
    ],
)
def test_covering(held: dict[str, Any], wanted: dict[str, Any], covered: bool) -> None:
    assert (covers([held], [wanted]) == []) is covered


def test_aggregation_gathers_by_name_and_once() -> None:
    def part(name: str, *rules: dict[str, Any]) -> dict[str, Any]:
        return {"metadata": {"name": name, "labels": {"to": "all"}}, "rules": list(rules)}

    pods, nodes = rule("get", "", "pods"), rule("get", "", "nodes")
    whole = {
        "metadata": {"name": "all", "labels": {"to": "all"}},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"to": "all"}}]},
        "rules": [rule("*", "*", "*")],
    }
    assert aggregate(whole, [part("z", nodes, pods), part("a", pods), whole, cluster_role("x", nodes)]) == [
        pods,
        nodes,
    ]
