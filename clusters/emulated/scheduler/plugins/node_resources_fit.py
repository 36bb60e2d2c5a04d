"""Enough CPU, memory, storage, extended resources and Pod slots; among fitting nodes the emptier one."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import MAX_SCORE, Cycle, Plugin
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.resource_requests import pod_request
from clusters.emulated.scheduler.status import Code, Status

Object = dict[str, Any]

_TOO_MANY_PODS = "Too many pods"


class NodeResourcesFit(Plugin):
    name = "NodeResourcesFit"
    infallible = True

    def __init__(self) -> None:
        self.registrations = (
            Registration("Pod", Action.DELETE | Action.POD_SCALE_DOWN, _freed_resources),
            Registration("Node", Action.ADD | Action.NODE_ALLOCATABLE, _node_has_room),
        )

    def filter(self, data: Any, pod: PodInfo, node: NodeInfo) -> Status | None:
        request = pod.request
        if (
            len(node.pods) < node.allocatable_pods
            and request.cpu_milli <= node.allocatable_cpu_milli - node.requested_cpu_milli
            and request.memory <= node.allocatable_memory - node.requested_memory
            and not request.ephemeral_storage
            and not request.scalar
        ):
            return None
        return insufficient(pod, node)

    def scores(self, cycle: Cycle, pod: PodInfo, nodes: list[NodeInfo]) -> list[int] | None:
        # Pods of one kind ask for the same, and most nodes did not change since the last one.
        key = ("least", pod.request.nonzero_cpu_milli, pod.request.nonzero_memory)
        return [score if (score := node.memo.get(key)) is not None else _remember(node, key) for node in nodes]


def insufficient(pod: PodInfo, node: NodeInfo) -> Status | None:
    """All that is missing. Unresolvable when the Pod would not even fit the empty node."""
    reasons: list[str] = []
    hopeless = False
    if len(node.pods) + 1 > node.allocatable_pods:
        reasons.append(_TOO_MANY_PODS)
    request = pod.request
    wanted: list[tuple[str, int, int, int]] = [
        ("cpu", request.cpu_milli, node.allocatable_cpu_milli, node.requested_cpu_milli),
        ("memory", request.memory, node.allocatable_memory, node.requested_memory),
        (
            "ephemeral-storage",
            request.ephemeral_storage,
            node.allocatable_ephemeral_storage,
            node.requested_ephemeral_storage,
        ),
    ]
    wanted += [
        (name, number, node.allocatable_scalar.get(name, 0), node.requested_scalar.get(name, 0))
        for name, number in request.scalar.items()
    ]
    for name, number, allocatable, used in wanted:
        if number > 0 and number > allocatable - used:
            reasons.append(f"Insufficient {name}")
            hopeless = hopeless or number > allocatable
    if not reasons:
        return None
    return Status(Code.UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE, tuple(reasons), "NodeResourcesFit")


def _remember(node: NodeInfo, key: tuple[str, int, int]) -> int:
    score = node.memo[key] = least_allocated(node, key[1], key[2])
    return score


def least_allocated(node: NodeInfo, cpu_milli: int, memory: int) -> int:
    """The free share of CPU and memory after placing the Pod, averaged, 0 to 100."""
    score = counted = 0
    capacity = node.allocatable_cpu_milli
    if capacity:
        counted = 1
        free = capacity - node.nonzero_cpu_milli - cpu_milli
        if free > 0:
            score = free * MAX_SCORE // capacity
    capacity = node.allocatable_memory
    if capacity:
        counted += 1
        free = capacity - node.nonzero_memory - memory
        if free > 0:
            score += free * MAX_SCORE // capacity
    return score // counted if counted else 0


def _freed_resources(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    assert old is not None, "deletions and scale-downs come with the object before"
    if new is None:
        return bool(old["spec"].get("nodeName") or (old.get("status") or {}).get("nominatedNodeName"))
    if new["metadata"]["uid"] == pod.uid:
        return True
    if not new["spec"].get("nodeName"):
        return False
    before, after, request = pod_request(old), pod_request(new), pod.request
    return (
        (request.cpu_milli > 0 and before.cpu_milli > after.cpu_milli)
        or (request.memory > 0 and before.memory > after.memory)
        or (request.ephemeral_storage > 0 and before.ephemeral_storage > after.ephemeral_storage)
        or any(
            number and before.scalar.get(name, 0) > after.scalar.get(name, 0) for name, number in request.scalar.items()
        )
    )


def _node_has_room(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    if new is None:
        return False
    now = NodeInfo(new["metadata"]["name"], new)
    if insufficient(pod, now) is not None:
        return False
    if old is None:
        return True
    before, request = NodeInfo(now.name, old), pod.request
    return (
        now.allocatable_pods > before.allocatable_pods
        or (request.cpu_milli > 0 and now.allocatable_cpu_milli > before.allocatable_cpu_milli)
        or (request.memory > 0 and now.allocatable_memory > before.allocatable_memory)
        or (request.ephemeral_storage > 0 and now.allocatable_ephemeral_storage > before.allocatable_ephemeral_storage)
        or any(
            number and now.allocatable_scalar.get(name, 0) > before.allocatable_scalar.get(name, 0)
            for name, number in request.scalar.items()
        )
    )
