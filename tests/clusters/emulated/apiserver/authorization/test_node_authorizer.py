"""The Node authorizer: what node-b may touch because of the pods on it."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.apiserver.authorization.attributes import Attributes
from clusters.emulated.apiserver.authorization.node import NodeAuthorizer
from clusters.emulated.apiserver.bootstrap import node_rules
from clusters.emulated.apiserver.request import UserInfo
from tests.clusters.emulated.apiserver.authorization.memory_objects import MemoryObjects

NODE = UserInfo("system:node:node-b", groups=("system:nodes", "system:authenticated"))
UNRELATED = "no relationship found between node 'node-b' and this object"


def pod(name: str, node: str, *volumes: dict[str, Any], **annotations: str) -> dict[str, Any]:
    container = {
        "name": "c",
        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "key", "key": "x"}}}],
        "envFrom": [{"configMapRef": {"name": "settings"}}],
    }
    spec = {
        "nodeName": node,
        "serviceAccountName": "robot",
        "containers": [container],
        "volumes": list(volumes),
    }
    return {"metadata": {"name": name, "namespace": "shop", "annotations": annotations}, "spec": spec}


@pytest.fixture
def objects() -> MemoryObjects:
    stored = MemoryObjects()
    stored.put(
        "pods",
        pod(
            "on-b",
            "node-b",
            {"name": "s", "secret": {"secretName": "used"}},
            {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "e", "ephemeral": {}},
            {"name": "p", "projected": {"sources": [{"secret": {"name": "projected"}}]}},
        ),
    )
    stored.put("pods", pod("on-a", "node-a", {"name": "s", "secret": {"secretName": "elsewhere"}}))
    csi = {
        "nodeStageSecretRef": {"name": "stage", "namespace": "storage"},
        "controllerPublishSecretRef": {"name": "control", "namespace": "storage"},
    }
    claim = {"namespace": "shop", "name": "data"}
    stored.put("persistentvolumes", {"metadata": {"name": "pv"}, "spec": {"claimRef": claim, "csi": csi}})
    stored.put("volumeattachments.storage.k8s.io", {"metadata": {"name": "va"}, "spec": {"nodeName": "node-b"}})
    return stored


@pytest.mark.parametrize(
    ("verb", "resource", "name", "reason"),
    [
        ("get", "secrets", "used", ""),
        ("get", "secrets", "key", ""),
        ("get", "secrets", "projected", ""),
        ("watch", "secrets", "used", ""),
        ("get", "secrets", "elsewhere", UNRELATED),
        ("list", "secrets", "", "No Object name found"),
        ("update", "secrets", "used", "can only read resources of this type"),
        ("get", "configmaps", "settings", ""),
        ("get", "configmaps", "other", UNRELATED),
        ("get", "persistentvolumeclaims", "data", ""),
        ("get", "persistentvolumeclaims", "on-b-e", ""),
        ("list", "persistentvolumeclaims", "", "can only get individual resources of this type"),
        ("get", "pods", "on-b", ""),
        ("get", "pods", "on-a", UNRELATED),
        ("list", "pods", "", "can only list/watch pods with spec.nodeName field selector"),
        ("get", "serviceaccounts", "robot", ""),
        ("get", "serviceaccounts", "other", UNRELATED),
        ("delete", "serviceaccounts", "robot", "can only create tokens for individual service accounts"),
    ],
)
def test_namespaced_objects(objects: MemoryObjects, verb: str, resource: str, name: str, reason: str) -> None:
    asked = Attributes(NODE, verb, "", "v1", resource, namespace="shop", name=name)
    verdict = NodeAuthorizer(objects, node_rules()).decide(asked)
    assert (verdict.allowed, verdict.reason) == (not reason, reason)


@pytest.mark.parametrize(
    ("group", "resource", "namespace", "name", "allowed"),
    [
        ("", "persistentvolumes", "", "pv", True),
        ("", "secrets", "storage", "stage", True),
        ("", "secrets", "storage", "control", False),
        ("storage.k8s.io", "volumeattachments", "", "va", True),
        ("storage.k8s.io", "volumeattachments", "", "other", False),
        ("storage.k8s.io", "csinodes", "", "node-b", True),
        ("storage.k8s.io", "csinodes", "", "node-a", False),
        ("coordination.k8s.io", "leases", "kube-node-lease", "node-b", True),
        ("coordination.k8s.io", "leases", "kube-node-lease", "node-a", False),
        ("coordination.k8s.io", "leases", "shop", "node-b", False),
        ("", "services", "shop", "web", True),
        ("", "namespaces", "shop", "shop", False),
    ],
)
def test_get(objects: MemoryObjects, group: str, resource: str, namespace: str, name: str, allowed: bool) -> None:
    asked = Attributes(NODE, "get", group, "v1", resource, namespace=namespace, name=name)
    assert NodeAuthorizer(objects, node_rules()).decide(asked).allowed is allowed


def test_pods_are_listed_by_node_only(objects: MemoryObjects) -> None:
    authorizer = NodeAuthorizer(objects, node_rules())
    for node, allowed in (("node-b", True), ("node-a", False)):
        asked = Attributes(NODE, "list", "", "v1", "pods", field_selector=f"spec.nodeName={node}")
        assert authorizer.decide(asked).allowed is allowed


def test_nodes_read_only_themselves(objects: MemoryObjects) -> None:
    authorizer = NodeAuthorizer(objects, node_rules())
    other = authorizer.decide(Attributes(NODE, "get", "", "v1", "nodes", name="node-a"))
    assert other.reason == "node 'node-b' cannot read 'node-a', only its own Node object"
    every = authorizer.decide(Attributes(NODE, "list", "", "v1", "nodes"))
    assert every.reason == "node 'node-b' cannot read all nodes, only its own Node object"
    assert authorizer.decide(Attributes(NODE, "get", "", "v1", "nodes", name="node-b")).allowed


def test_what_a_pod_gave_goes_with_it(objects: MemoryObjects) -> None:
    authorizer = NodeAuthorizer(objects, node_rules())
    asked = Attributes(NODE, "get", "", "v1", "secrets", namespace="shop", name="used")
    assert authorizer.decide(asked).allowed
    objects.remove("pods", "shop", "on-b")
    assert not authorizer.decide(asked).allowed


def test_a_mirror_pod_gives_nothing(objects: MemoryObjects) -> None:
    volume = {"name": "s", "secret": {"secretName": "wanted"}}
    objects.put("pods", pod("static", "node-b", volume, **{"kubernetes.io/config.mirror": "x"}))
    asked = Attributes(NODE, "get", "", "v1", "secrets", namespace="shop", name="wanted")
    assert not NodeAuthorizer(objects, node_rules()).decide(asked).allowed


def test_others_are_none_of_its_business(objects: MemoryObjects) -> None:
    authorizer = NodeAuthorizer(objects, node_rules())
    # The name alone does not make a node.
    for user in (UserInfo("alice"), UserInfo("system:node:node-b")):
        verdict = authorizer.decide(Attributes(user, "get", "", "v1", "nodes", name="node-b"))
        assert (verdict.allowed, verdict.reason) == (False, "")
    assert authorizer.rules_for(NODE, "shop").error == "node authorizer does not support user rule resolution"
