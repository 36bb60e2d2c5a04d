from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clusters.emulated.apiserver.request import UserInfo

NODE_B = UserInfo("system:node:node-b", groups=("system:nodes", "system:authenticated"))


def bound(name: str, node: str) -> dict[str, Any]:
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": "u1", "resourceVersion": "1"},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "x"}]},
        "status": {},
    }


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {}}


def test_a_kubelet_reports_on_its_own_pods_only(house: Any) -> None:
    own, others = bound("own", "node-b"), bound("on-a", "node-a")
    house.admit(own, operation="UPDATE", subresource="status", old=own, user=NODE_B)

    refusal = house.refusal(others, operation="UPDATE", subresource="status", old=others, user=NODE_B)

    assert refusal.message == (
        'pods "on-a" is forbidden: node "node-b" can only update pod status for pods with spec.nodeName set to itself'
    )


def test_labels_do_not_change_through_the_status(house: Any) -> None:
    old, new = bound("own", "node-b"), bound("own", "node-b")
    new["metadata"]["labels"] = {"a": "b"}

    refusal = house.refusal(new, operation="UPDATE", subresource="status", old=old, user=NODE_B)

    assert refusal.message == 'pods "own" is forbidden: node "node-b" cannot update labels through pod status'


def test_pods_of_other_nodes_are_neither_deleted_nor_evicted(house: Any) -> None:
    pod = house.objects.put("pods", bound("on-a", "node-a"))

    delete = house.refusal(None, operation="DELETE", old=pod, kind="Pod", user=NODE_B)
    evict = house.refusal({"kind": "Eviction", "metadata": {"name": "on-a"}}, subresource="eviction", user=NODE_B)

    assert delete.message == (
        'pods "on-a" is forbidden: node "node-b" can only delete pods with spec.nodeName set to itself'
    )
    assert evict.message == (
        'pods "on-a" is forbidden: node node-b can only evict pods with spec.nodeName set to itself'
    )


def test_only_mirror_pods_are_created_by_nodes(house: Any, pod: Callable[..., Any]) -> None:
    plain = pod("z", nodeName="node-b", serviceAccountName="default")
    assert house.refusal(plain, user=NODE_B).message == (
        'pods "z" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, '
        'node "node-b" can only create mirror pods'
    )
    mirror = pod("m", nodeName="node-a")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert house.refusal(mirror, user=NODE_B).message == (
        'pods "m" is forbidden: node "node-b" can only create pods with spec.nodeName set to itself'
    )
    mirror["spec"]["nodeName"] = "node-b"
    assert house.refusal(mirror, user=NODE_B).message == (
        'pods "m" is forbidden: node "node-b" can only create pods with an owner reference set to itself'
    )


def test_a_proper_mirror_pod_is_admitted(house: Any, pod: Callable[..., Any]) -> None:
    uid = house.objects.put("nodes", node("node-b"))["metadata"]["uid"]
    mirror = pod("m", nodeName="node-b")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    mirror["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Node", "name": "node-b", "uid": uid, "controller": True}
    ]

    assert "serviceAccountName" not in house.admit(mirror, user=NODE_B)["spec"]


@pytest.mark.parametrize(
    ("label", "is_allowed"),
    [
        ("node-restriction.kubernetes.io/x", False),
        ("foo.kubernetes.io/x", False),
        ("x.k8s.io/y", False),
        ("kubernetes.io/hostname", True),
        ("kubelet.kubernetes.io/x", True),
        ("a.node.kubernetes.io/x", True),
        ("example.com/x", True),
    ],
)
def test_which_labels_a_kubelet_may_give_its_node(house: Any, label: str, is_allowed: bool) -> None:
    how: dict[str, Any] = {"resource": "nodes", "namespace": "", "operation": "UPDATE", "user": NODE_B}
    old, new = node("node-b"), node("node-b", **{label: "1"})
    if is_allowed:
        house.admit(new, old=old, **how)
    else:
        assert house.refusal(new, old=old, **how).message == (
            f'nodes "node-b" is forbidden: is not allowed to modify labels: {label}'
        )


def test_other_nodes_and_own_taints_are_off_limits(house: Any) -> None:
    how: dict[str, Any] = {"resource": "nodes", "namespace": "", "operation": "UPDATE", "user": NODE_B}
    other = node("node-a")
    assert house.refusal(other, old=other, **how).message == (
        'nodes "node-a" is forbidden: node "node-b" is not allowed to modify node "node-a"'
    )
    tainted = node("node-b")
    tainted["spec"] = {"taints": [{"key": "k", "effect": "NoSchedule"}]}
    assert house.refusal(node("node-b"), old=tainted, **how).message == (
        'nodes "node-b" is forbidden: node "node-b" is not allowed to modify taints'
    )


def test_tokens_are_for_pods_on_the_node(house: Any) -> None:
    how: dict[str, Any] = {
        "resource": "serviceaccounts",
        "subresource": "token",
        "name": "default",
        "user": NODE_B,
    }
    request: dict[str, Any] = {"kind": "TokenRequest", "spec": {}}
    assert house.refusal(request, **how).message == (
        'serviceaccounts "default" is forbidden: node requested token not bound to a pod'
    )
    house.objects.put("pods", bound("on-a", "node-a"))
    request["spec"]["boundObjectRef"] = {"apiVersion": "v1", "kind": "Pod", "name": "on-a", "uid": "u1"}
    assert house.refusal(request, **how).message == (
        'serviceaccounts "default" is forbidden: node requested token bound to a pod scheduled on a different node'
    )


def test_nobody_but_nodes_is_restricted(house: Any) -> None:
    new, old = node("node-b", **{"foo.kubernetes.io/x": "1"}), node("node-b")

    house.admit(new, resource="nodes", namespace="", operation="UPDATE", old=old)
