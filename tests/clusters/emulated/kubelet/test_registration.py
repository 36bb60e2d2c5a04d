"""Registered nodes, as `kubectl get nodes` and a node controller see them."""

from __future__ import annotations

from typing import Any

from clusters.emulated.clock import ScaledClock
from clusters.emulated.cluster import EmulatedCluster
from clusters.emulated.control_plane import ControlPlaneOptions
from clusters.emulated.kubelet.registration import NodeRegistration, node_conditions, node_names

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"


def registered(cluster: EmulatedCluster, count: int) -> NodeRegistration:
    nodes = NodeRegistration(cluster.plane.handler, cluster.plane.clock, node_names(count), "v1.36.4")
    cluster.run(nodes.start())
    return nodes


def test_nodes_register_ready_with_a_lease_that_they_own() -> None:
    with EmulatedCluster() as cluster:
        nodes = registered(cluster, 2)
        items = cluster.api.get("/api/v1/nodes")["items"]
        assert [node["metadata"]["name"] for node in items] == ["node-1", "node-2"]
        for node in items:
            assert conditions(node)["Ready"]["status"] == "True"
            assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.4"
            lease = cluster.api.get(f"{LEASES}/{node['metadata']['name']}")
            assert lease["spec"]["holderIdentity"] == node["metadata"]["name"]
            assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
        cluster.run(nodes.stop())


def test_leases_are_renewed_every_ten_seconds() -> None:
    with EmulatedCluster(ControlPlaneOptions(clock=ScaledClock(100))) as cluster:
        nodes = registered(cluster, 1)
        before = cluster.api.get(f"{LEASES}/node-1")
        with cluster.api.watch(f"{LEASES}?resourceVersion={before['metadata']['resourceVersion']}") as events:
            renewals = [next(events)["object"]["spec"]["renewTime"] for _ in range(3)]
        assert renewals == sorted({before["spec"]["renewTime"], *renewals})[1:]
        cluster.run(nodes.stop())


def test_a_lease_that_was_deleted_comes_back() -> None:
    with EmulatedCluster(ControlPlaneOptions(clock=ScaledClock(100))) as cluster:
        nodes = registered(cluster, 1)
        revision = cluster.api.get(LEASES)["metadata"]["resourceVersion"]
        cluster.api.delete(f"{LEASES}/node-1")
        with cluster.api.watch(f"{LEASES}?resourceVersion={revision}") as events:
            seen = next(event for event in events if event["type"] == "ADDED")
        assert seen["object"]["spec"]["holderIdentity"] == "node-1"
        cluster.run(nodes.stop())


def test_registering_again_keeps_the_node() -> None:
    with EmulatedCluster() as cluster:
        cluster.run(registered(cluster, 1).stop())
        before = cluster.api.get("/api/v1/nodes/node-1")["metadata"]["uid"]
        cluster.run(registered(cluster, 1).stop())
        assert cluster.api.get("/api/v1/nodes/node-1")["metadata"]["uid"] == before


def test_a_condition_that_stays_keeps_its_transition_time() -> None:
    first = node_conditions(1_000_000.0)
    second = node_conditions(1_000_300.0, first)
    assert [each["lastTransitionTime"] for each in second] == [each["lastTransitionTime"] for each in first]
    assert second[0]["lastHeartbeatTime"] != first[0]["lastHeartbeatTime"]


def conditions(node: dict[str, Any]) -> dict[str, Any]:
    return {each["type"]: each for each in node["status"]["conditions"]}
