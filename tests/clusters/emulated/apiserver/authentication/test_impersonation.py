"""Acting as somebody else: who may, and in which words it is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clusters.emulated.apiserver.authentication.impersonation import Impersonation
from clusters.emulated.apiserver.authorization import rbac
from clusters.emulated.apiserver.authorization.chain import AuthorizerChain, PrivilegedGroups
from clusters.emulated.apiserver.authorization.rbac import RbacAuthorizer
from clusters.emulated.apiserver.request import Request, UserInfo
from clusters.kube.errors import StatusError
from tests.clusters.emulated.apiserver.authentication.requests import request
from tests.clusters.emulated.apiserver.authorization.memory_objects import MemoryObjects
from tests.clusters.emulated.apiserver.authorization.test_rbac import (
    ALICE,
    USER_ALICE,
    binding,
    cluster_role,
    rule,
)

ROOT = UserInfo("root", groups=("system:masters", "system:authenticated"))
AUTHENTICATION = "authentication.k8s.io"
Headers = list[tuple[str, str]]
BOB: Headers = [("Impersonate-User", "bob")]


def impersonation(*rights: dict[str, Any], subject: dict[str, str] = USER_ALICE) -> Impersonation:
    objects = MemoryObjects()
    objects.put(rbac.CLUSTER_ROLES, cluster_role("r", *rights))
    objects.put(rbac.CLUSTER_ROLE_BINDINGS, binding("b", "ClusterRole", "r", subject))
    return Impersonation(AuthorizerChain([PrivilegedGroups(), RbacAuthorizer(objects)]))


def act(headers: Headers, who: UserInfo, step: Impersonation, path: str = "/api/v1/namespaces/s2/pods") -> Request:
    asked = request(*headers, path=path)
    asked.user = who
    asyncio.run(step.apply(asked))
    return asked


def refusal(headers: Headers, step: Impersonation, path: str = "/api/v1/namespaces/s2/pods") -> str:
    with pytest.raises(StatusError) as caught:
        act(headers, ALICE, step, path)
    return caught.value.message


@pytest.mark.parametrize(
    ("user", "mode"),
    [
        ("bob", "user-info"),
        ("system:serviceaccount:s2:default", "serviceaccount"),
        ("system:node:n1", "arbitrary-node"),
        ("system:serviceaccount:s2:Not_A_Name", "user-info"),
    ],
)
def test_the_first_constrained_mode_is_what_a_refusal_shows(user: str, mode: str) -> None:
    assert refusal([("Impersonate-User", user)], impersonation()) == (
        f'pods is forbidden: User "alice" cannot impersonate-on:{mode}:list resource "pods" in API group "" '
        'in the namespace "s2"'
    )
    assert refusal([("Impersonate-User", user)], impersonation(), "/version") == (
        f'forbidden: User "alice" cannot impersonate-on:{mode}:get path "/version"'
    )


def test_a_user_is_needed() -> None:
    assert refusal([("Impersonate-Group", "g")], impersonation()) == (
        'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)} '
        "without impersonating a user name"
    )
    headers = [("Impersonate-Extra-Scopes", "x"), ("Impersonate-Uid", "u")]
    assert refusal(headers, impersonation()) == (
        'requested &user.DefaultInfo{Name:"", UID:"u", Groups:[]string(nil), '
        'Extra:map[string][]string{"scopes":[]string{"x"}}} without impersonating a user name'
    )


def test_nobody_is_impersonated_without_headers() -> None:
    asked = act([], ALICE, impersonation())
    assert (asked.user, asked.impersonator) == (ALICE, None)


@pytest.mark.parametrize(
    ("headers", "user"),
    [
        (BOB, UserInfo("bob", "", ("system:authenticated",))),
        (
            [*BOB, ("Impersonate-Group", "a"), ("Impersonate-Uid", "u"), ("Impersonate-Extra-A%2fb", "x")],
            UserInfo("bob", "u", ("a", "system:authenticated"), {"a/b": ("x",)}),
        ),
        (
            [("Impersonate-User", "system:serviceaccount:s2:default")],
            UserInfo(
                "system:serviceaccount:s2:default",
                "",
                ("system:serviceaccounts", "system:serviceaccounts:s2", "system:authenticated"),
            ),
        ),
        (
            [("Impersonate-User", "system:node:n1")],
            UserInfo("system:node:n1", "", ("system:nodes", "system:authenticated")),
        ),
        (
            [("Impersonate-User", "system:anonymous")],
            UserInfo("system:anonymous", "", ("system:unauthenticated",)),
        ),
    ],
)
def test_the_administrator_becomes_anybody(headers: Headers, user: UserInfo) -> None:
    asked = act(headers, ROOT, impersonation())
    assert (asked.user, asked.impersonator) == (user, ROOT)


def test_a_constrained_right_is_for_one_kind_of_request() -> None:
    step = impersonation(
        rule("impersonate-on:user-info:list", "", "pods"),
        rule("impersonate:user-info", AUTHENTICATION, "users", "bob"),
    )
    assert act(BOB, ALICE, step).user.name == "bob"
    # Its last successful mode is tried first from now on, here the same one.
    assert "impersonate-on:user-info:list" in refusal(BOB, step, "/api/v1/nodes")
    carol = [("Impersonate-User", "carol")]
    assert refusal(carol, step) == (
        'users.authentication.k8s.io "carol" is forbidden: User "alice" cannot impersonate:user-info resource '
        '"users" in API group "authentication.k8s.io" at the cluster scope'
    )


def test_masters_are_never_impersonated_by_a_constrained_right() -> None:
    step = impersonation(rule("impersonate-on:user-info:list", "", "pods"), rule("impersonate:user-info", "*", "*"))
    assert refusal([*BOB, ("Impersonate-Group", "system:masters")], step).endswith(
        "impersonating the system:masters group is not allowed"
    )
    assert refusal([*BOB, ("Impersonate-Extra-Scopes", "x")], step).endswith(
        'impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "scopes": '
        'must be a domain-prefixed path (such as "acme.io/foo")'
    )


def test_the_old_right_still_counts() -> None:
    step = impersonation(rule("impersonate", "", "users,groups", "bob", "g"))
    assert act([*BOB, ("Impersonate-Group", "g")], ALICE, step).user.groups == ("g", "system:authenticated")
    assert refusal([*BOB, ("Impersonate-Group", "other")], step) == (
        'groups "other" is forbidden: User "alice" cannot impersonate resource "groups" in API group "" '
        "at the cluster scope"
    )


def test_a_pod_may_be_let_act_as_its_own_node() -> None:
    robot = UserInfo("system:serviceaccount:s2:robot", extra={"authentication.kubernetes.io/node-name": ("n1",)})
    step = impersonation(
        rule("impersonate-on:associated-node:list", "", "pods"),
        rule("impersonate:associated-node", AUTHENTICATION, "nodes"),
        subject={"kind": "ServiceAccount", "name": "robot", "namespace": "s2"},
    )
    assert act([("Impersonate-User", "system:node:n1")], robot, step).user.groups[0] == "system:nodes"
    with pytest.raises(StatusError, match="impersonate-on:arbitrary-node:list"):
        act([("Impersonate-User", "system:node:n2")], robot, step)
