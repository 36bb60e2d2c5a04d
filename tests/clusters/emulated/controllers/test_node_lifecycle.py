"""Nodes that fall silent, and what becomes of their Pods, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.clock import VirtualClock
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.cluster import EmulatedCluster
from clusters.emulated.controllers.eviction_zones import EvictionZones, rate, zone_state
from clusters.emulated.controllers.taint_eviction import patience

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
UNREACHABLE, NOT_READY = "node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"


def now(cluster: EmulatedCluster) -> str:
    return rfc3339(cluster.clock.now_s())


def add_node(cluster: EmulatedCluster, name: str, ready: str = "True", **labels: str) -> None:
    cluster.api.create(NODES, {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}})
    heartbeat(cluster, name, ready)


def heartbeat(cluster: EmulatedCluster, name: str, ready: str = "True") -> None:
    condition = {
        "type": "Ready",
        "status": ready,
        "reason": "KubeletReady",
        "lastHeartbeatTime": now(cluster),
        "lastTransitionTime": now(cluster),
    }
    cluster.api.patch(f"{NODES}/{name}/status", {"status": {"conditions": [condition]}})


def advance(cluster: EmulatedCluster, seconds: float, *beating: str, ready: str = "True") -> None:
    """Lets time pass while the kubelets of these nodes send heartbeats every ten seconds."""
    clock = cluster.clock
    assert isinstance(clock, VirtualClock)
    left = seconds
    while left > 0:
        for name in beating:
            heartbeat(cluster, name, ready)
        clock.advance(min(10.0, left))
        left -= 10


def taints(cluster: EmulatedCluster, name: str) -> list[str]:
    spec = cluster.api.get(f"{NODES}/{name}")["spec"]
    return [f"{taint['key']}:{taint['effect']}" for taint in spec.get("taints") or ()]


def conditions(cluster: EmulatedCluster, name: str) -> dict[str, dict[str, Any]]:
    return {each["type"]: each for each in cluster.api.get(f"{NODES}/{name}")["status"]["conditions"]}


def events(cluster: EmulatedCluster, about: str) -> list[tuple[str, str, str]]:
    found = cluster.api.get("/api/v1/namespaces/default/events")["items"]
    return [
        (each["reason"], each["message"], each["source"]["component"])
        for each in found
        if each["involvedObject"]["name"] == about and each["reportingComponent"] != "default-scheduler"
    ]


def add_pod(cluster: EmulatedCluster, name: str, node: str, tolerations: list[dict[str, Any]] | None = None) -> None:
    spec: dict[str, Any] = {"nodeName": node, "containers": [{"name": "c", "image": "x"}]}
    if tolerations is not None:
        spec["tolerations"] = tolerations
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    cluster.wait_until(lambda: cluster.api.request("GET", account).code == 200, 5)
    cluster.api.create(PODS, {"metadata": {"name": name}, "spec": spec})
    ready = [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}]
    cluster.api.patch(f"{PODS}/{name}/status", {"status": {"phase": "Running", "conditions": ready}})


def is_leaving(cluster: EmulatedCluster, name: str) -> bool:
    answer = cluster.api.request("GET", f"{PODS}/{name}")
    return answer.code == 404 or "deletionTimestamp" in answer.body["metadata"]


def test_a_ready_node_loses_the_taint_it_was_born_with(cluster: EmulatedCluster) -> None:
    add_node(cluster, "late", **{"kubernetes.io/os": "linux"})
    cluster.wait_until(lambda: taints(cluster, "late") == [], 2)
    cluster.wait_until(lambda: bool(events(cluster, "late")), 10)
    assert events(cluster, "late") == [
        ("RegisteredNode", "Node late event: Registered Node late in Controller", "node-controller")
    ]
    assert cluster.api.get(f"{NODES}/late")["metadata"]["labels"]["beta.kubernetes.io/os"] == "linux"


def test_a_node_that_never_beats_is_unknown_after_the_grace_period_and_alone_it_evicts_nothing(
    cluster: EmulatedCluster,
) -> None:
    add_node(cluster, "late")
    add_pod(cluster, "web", "late")
    advance(cluster, 49)
    assert conditions(cluster, "late")["Ready"]["status"] == "True"
    advance(cluster, 7)
    found = conditions(cluster, "late")
    assert (found["Ready"]["status"], found["Ready"]["reason"], found["Ready"]["message"]) == (
        "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."
    )  # fmt: skip
    for kind in ("MemoryPressure", "DiskPressure", "PIDPressure"):
        assert (found[kind]["status"], found[kind]["reason"], found[kind]["message"]) == (
            "Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status."
        )  # fmt: skip
    assert (
        found["MemoryPressure"]["lastHeartbeatTime"]
        == cluster.api.get(f"{NODES}/late")["metadata"]["creationTimestamp"]
    )
    assert taints(cluster, "late") == [f"{UNREACHABLE}:NoSchedule"]
    assert ("NodeNotReady", "Node late status is now: NodeNotReady", "node-controller") in events(cluster, "late")
    assert ("NodeNotReady", "Node is not ready", "node-controller") in events(cluster, "web")
    pod = {each["type"]: each["status"] for each in cluster.api.get(f"{PODS}/web")["status"]["conditions"]}
    assert pod == {"Ready": "False", "ContainersReady": "True"}
    advance(cluster, 400)
    assert taints(cluster, "late") == [f"{UNREACHABLE}:NoSchedule"]
    assert not is_leaving(cluster, "web")


def test_a_node_without_any_status_is_given_a_minute(cluster: EmulatedCluster) -> None:
    cluster.api.create(NODES, {"metadata": {"name": "mute"}})
    advance(cluster, 58)
    assert "conditions" not in cluster.api.get(f"{NODES}/mute")["status"]
    advance(cluster, 8)
    assert conditions(cluster, "mute")["Ready"]["reason"] == "NodeStatusNeverUpdated"


def test_beside_a_healthy_node_the_silent_one_is_evicted_after_the_default_five_minutes(
    cluster: EmulatedCluster,
) -> None:
    add_node(cluster, "a")
    add_node(cluster, "b")
    add_pod(cluster, "web", "b")
    advance(cluster, 56, "a")
    assert taints(cluster, "b") == [f"{UNREACHABLE}:NoSchedule", f"{UNREACHABLE}:NoExecute"]
    assert taints(cluster, "a") == []
    advance(cluster, 290, "a")
    assert not is_leaving(cluster, "web")
    advance(cluster, 15, "a")
    assert is_leaving(cluster, "web")
    assert ("TaintManagerEviction", "Marking for deletion Pod default/web", "taint-eviction-controller") in events(
        cluster, "web"
    )
    target = cluster.api.get(f"{PODS}/web")["status"]["conditions"][-1]
    assert (target["type"], target["reason"], target["message"]) == (
        "DisruptionTarget", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"
    )  # fmt: skip


def test_a_lease_alone_keeps_a_node_alive(cluster: EmulatedCluster) -> None:
    add_node(cluster, "a")
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    cluster.wait_until(lambda: cluster.api.request("GET", "/api/v1/namespaces/kube-node-lease").code == 200, 5)
    cluster.api.create(leases, {"metadata": {"name": "a"}, "spec": {"holderIdentity": "a"}})
    for _ in range(12):
        time = now(cluster).removesuffix("Z") + ".000000Z"
        cluster.api.patch(f"{leases}/a", {"spec": {"renewTime": time}})
        advance(cluster, 10)
    assert conditions(cluster, "a")["Ready"]["status"] == "True"


def test_a_node_that_comes_back_keeps_its_pods(cluster: EmulatedCluster) -> None:
    add_node(cluster, "a")
    add_node(cluster, "b")
    add_pod(cluster, "web", "b")
    advance(cluster, 100, "a")
    assert f"{UNREACHABLE}:NoExecute" in taints(cluster, "b")
    advance(cluster, 11, "a", "b")
    assert taints(cluster, "b") == []
    assert ("TaintManagerEviction", "Cancelling deletion of Pod default/web", "taint-eviction-controller") in events(
        cluster, "web"
    )
    advance(cluster, 400, "a", "b")
    assert not is_leaving(cluster, "web")


def test_unready_becomes_unreachable_at_once_when_it_also_falls_silent(cluster: EmulatedCluster) -> None:
    add_node(cluster, "a")
    add_node(cluster, "b")
    heartbeat(cluster, "b", "False")
    advance(cluster, 11, "a")
    assert taints(cluster, "b") == [f"{NOT_READY}:NoSchedule", f"{NOT_READY}:NoExecute"]
    advance(cluster, 60, "a")
    assert set(taints(cluster, "b")) == {f"{UNREACHABLE}:NoSchedule", f"{UNREACHABLE}:NoExecute"}


def test_silent_nodes_of_a_zone_are_tainted_ten_seconds_apart(cluster: EmulatedCluster) -> None:
    names = ["b", "c"]
    for name in ["a", *names, "d", "e"]:
        add_node(cluster, name)
    advance(cluster, 57, "a", "d", "e")
    tainted = [name for name in names if f"{UNREACHABLE}:NoExecute" in taints(cluster, name)]
    assert len(tainted) == 1
    advance(cluster, 10, "a", "d", "e")
    assert all(f"{UNREACHABLE}:NoExecute" in taints(cluster, name) for name in names)


def test_the_taints_go_again_when_the_last_healthy_node_falls_silent(cluster: EmulatedCluster) -> None:
    add_node(cluster, "a")
    add_node(cluster, "b")
    advance(cluster, 60, "a")
    assert f"{UNREACHABLE}:NoExecute" in taints(cluster, "b")
    advance(cluster, 60)
    assert taints(cluster, "a") == taints(cluster, "b") == [f"{UNREACHABLE}:NoSchedule"]
    advance(cluster, 30, "a")
    assert taints(cluster, "b") == [f"{UNREACHABLE}:NoSchedule", f"{UNREACHABLE}:NoExecute"]


def test_a_removed_node_is_told(cluster: EmulatedCluster) -> None:
    add_node(cluster, "a")
    advance(cluster, 6)
    cluster.api.delete(f"{NODES}/a")
    advance(cluster, 6)
    assert events(cluster, "a")[-1] == (
        "RemovingNode", "Node a event: Removing Node a from Controller", "node-controller"
    )  # fmt: skip


def test_a_user_s_taint_evicts_by_toleration(cluster: EmulatedCluster) -> None:
    add_node(cluster, "a")
    advance(cluster, 6)
    for_10_s = {"key": "gt", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10}
    add_pod(cluster, "none", "a")
    add_pod(cluster, "ten", "a", [for_10_s])
    add_pod(cluster, "ever", "a", [{"key": "gt", "operator": "Exists"}])
    cluster.api.patch(f"{NODES}/a", {"spec": {"taints": [{"key": "gt", "value": "x", "effect": "NoExecute"}]}})
    advance(cluster, 1)
    assert [is_leaving(cluster, name) for name in ("none", "ten", "ever")] == [True, False, False]
    heartbeat(cluster, "a")
    advance(cluster, 8)
    assert not is_leaving(cluster, "ten")
    advance(cluster, 2)
    assert [is_leaving(cluster, name) for name in ("none", "ten", "ever")] == [True, True, False]


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 0.0),
        ([{"operator": "Exists"}], None),
        ([{"key": "a", "operator": "Exists"}], 0.0),
        ([{"key": "a", "value": "1"}, {"key": "b", "operator": "Exists", "tolerationSeconds": 7}], 7.0),
        ([{"key": "a", "value": "2"}, {"key": "b", "operator": "Exists"}], 0.0),
        ([{"operator": "Exists", "tolerationSeconds": -3}], 0.0),
        # The first that matches is the one that counts.
        ([{"operator": "Exists"}, {"operator": "Exists", "tolerationSeconds": 5}], None),
        ([{"operator": "Exists", "effect": "NoSchedule"}], 0.0),
    ],
)
def test_patience(tolerations: list[dict[str, Any]], seconds: float | None) -> None:
    taints = [{"key": "a", "value": "1", "effect": "NoExecute"}, {"key": "b", "effect": "NoExecute"}]
    assert patience({"spec": {"tolerations": tolerations}}, taints) == seconds


@pytest.mark.parametrize(
    ("ready", "unready", "state", "expected"),
    [
        (0, 1, "FullDisruption", 0.1),
        (1, 2, "Normal", 0.1),
        (2, 3, "PartialDisruption", 0.0),
        (3, 3, "Normal", 0.1),
        (20, 40, "PartialDisruption", 0.01),
    ],
)
def test_states_and_rates(ready: int, unready: int, state: str, expected: float) -> None:
    assert zone_state([True] * ready + [False] * unready) == state
    assert rate(state, ready + unready) == expected


def test_zones_wait_apart_and_a_total_disruption_stops_all() -> None:
    zones = EvictionZones()
    for zone in ("x", "y"):
        zones.know(zone)
    states = {"x": [False, False, True], "y": [False]}
    assert zones.judge(states, 0.0) == ""
    zones.add("x", "one")
    zones.add("x", "two")
    zones.add("y", "three")
    assert zones.next("x", 0.0) == ("one", 10.0)
    assert zones.next("x", 4.0) == (None, 6.0)
    assert zones.next("y", 4.0) == ("three", None)
    assert zones.judge({"x": [False] * 3, "y": [False]}, 5.0) == "all disrupted"
    assert zones.next("x", 10.0) == (None, None)
    assert zones.judge(states, 20.0) == "some recovered"
    assert zones.next("x", 20.0) == (None, 10.0)
