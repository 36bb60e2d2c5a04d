"""Roles and bindings are checked for escalation through every way of writing them."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.client.blocking import BlockingApi

RBAC = "rbac.authorization.k8s.io"
ROLES = f"/apis/{RBAC}/v1/namespaces/shop/roles"
BINDINGS = f"/apis/{RBAC}/v1/namespaces/shop/rolebindings"


def rules(*resources: str) -> list[dict[str, Any]]:
    return [{"apiGroups": [""], "resources": list(resources), "verbs": ["get"]}]


def reference(name: str, kind: str = "Role") -> dict[str, str]:
    return {"apiGroup": RBAC, "kind": kind, "name": name}


@pytest.fixture
def alice(api: BlockingApi) -> BlockingApi:
    own = [{"apiGroups": [RBAC], "resources": ["roles", "rolebindings"], "verbs": ["create", "get", "patch", "update"]}]
    api.create(ROLES, {"metadata": {"name": "alice"}, "rules": own + rules("pods")})
    subject = {"kind": "User", "name": "alice", "apiGroup": RBAC}
    api.create(BINDINGS, {"metadata": {"name": "alice"}, "roleRef": reference("alice"), "subjects": [subject]})
    return api.as_user("alice")


def test_what_one_holds_can_be_granted(alice: BlockingApi) -> None:
    assert alice.create(ROLES, {"metadata": {"name": "mine"}, "rules": rules("pods")})["rules"] == rules("pods")


def test_nothing_more_can_be_granted_by_any_write(alice: BlockingApi, refused: Any) -> None:
    alice.create(ROLES, {"metadata": {"name": "mine"}, "rules": rules("pods")})
    more = {"metadata": {"name": "mine"}, "rules": rules("secrets")}
    applied = {"apiVersion": f"{RBAC}/v1", "kind": "Role", **more}
    for call in (
        lambda: alice.create(ROLES, {**more, "metadata": {"name": "other"}}),
        lambda: alice.update(f"{ROLES}/mine", more),
        lambda: alice.patch(f"{ROLES}/mine", {"rules": rules("secrets")}),
        lambda: alice.apply(f"{ROLES}/mine", applied, force=True),
    ):
        error = refused(call)
        assert error.code == 403
        assert '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}' in error.message


def test_a_role_that_is_not_held_cannot_be_bound(alice: BlockingApi, refused: Any) -> None:
    binding = {"metadata": {"name": "b"}, "roleRef": reference("cluster-admin", "ClusterRole")}
    assert "attempting to grant RBAC permissions" in refused(lambda: alice.create(BINDINGS, binding)).message
    missing = {"metadata": {"name": "b"}, "roleRef": reference("none")}
    assert refused(lambda: alice.create(BINDINGS, missing)).message == f'rolebindings.{RBAC} "none" not found'
