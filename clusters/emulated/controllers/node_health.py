"""What is made of a node's heartbeats: the pure half of the node lifecycle controller.

heartbeats arrive           the node is what its conditions say
none for 50 s               Ready and the pressures become Unknown, a NoSchedule taint follows
… and some node is healthy  a NoExecute taint follows too, ten seconds apart per zone; Pods are evicted by it
… and all nodes are silent  no NoExecute taint at all: probably the controller is the one cut off
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
CONDITIONS = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_TAINTS: dict[tuple[str, str], str] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
}
_MANAGED = frozenset((*_TAINTS.values(), UNSCHEDULABLE))


@dataclass(slots=True)
class Health:
    """What was last seen of a node, and when, by the controller's own clock (a node's clock is not trusted)."""

    heartbeat: str
    renewed: str
    seen_s: float


def condition(node: Object, kind: str) -> Object | None:
    for each in (node.get("status") or {}).get("conditions") or ():
        if each["type"] == kind:
            found: Object = each
            return found
    return None


def readiness(node: Object) -> str:
    found = condition(node, "Ready")
    return "Unknown" if found is None else str(found["status"])


def silenced(node: Object, now: str) -> list[Object]:
    """The node's conditions after its kubelet has not been heard of for too long."""
    conditions = [dict(each) for each in (node.get("status") or {}).get("conditions") or ()]
    present = {each["type"]: each for each in conditions}
    for kind in CONDITIONS:
        found = present.get(kind)
        if found is None:
            conditions.append(
                {
                    "type": kind,
                    "status": "Unknown",
                    "lastHeartbeatTime": node["metadata"]["creationTimestamp"],
                    "lastTransitionTime": now,
                    "reason": "NodeStatusNeverUpdated",
                    "message": "Kubelet never posted node status.",
                }
            )
        elif found["status"] != "Unknown":
            found |= {
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": now,
            }
    return conditions


def no_schedule_taints(node: Object, now: str) -> list[Object] | None:
    """All taints of the node with those that follow from its conditions; None when nothing changes."""
    wanted = [
        taint
        for each in (node.get("status") or {}).get("conditions") or ()
        if (taint := _TAINTS.get((each["type"], each["status"]))) is not None
    ]
    if node["spec"].get("unschedulable"):
        wanted.append(UNSCHEDULABLE)
    taints: list[Object] = node["spec"].get("taints") or []
    present = [taint["key"] for taint in taints if taint["effect"] == "NoSchedule" and taint["key"] in _MANAGED]
    if set(present) == set(wanted):
        return None
    kept = [
        taint
        for taint in taints
        if taint["effect"] != "NoSchedule" or taint["key"] not in _MANAGED or taint["key"] in wanted
    ]
    added = [
        {"key": key, "effect": "NoSchedule", "timeAdded": now} for key in dict.fromkeys(wanted) if key not in present
    ]
    return kept + added


def no_execute_taints(node: Object, now: str) -> list[Object] | None:
    """All taints of an unhealthy node with the one that evicts; None when nothing changes."""
    wanted, opposite = (NOT_READY, UNREACHABLE) if readiness(node) == "False" else (UNREACHABLE, NOT_READY)
    taints: list[Object] = node["spec"].get("taints") or []
    if _has(taints, wanted) and not _has(taints, opposite):
        return None
    kept = [taint for taint in taints if not (taint["effect"] == "NoExecute" and taint["key"] == opposite)]
    if not _has(kept, wanted):
        kept = [*kept, {"key": wanted, "effect": "NoExecute", "timeAdded": now}]
    return kept


def reachable_taints(node: Object) -> list[Object] | None:
    """The node's taints without those that evict; None when it has none of them."""
    taints: list[Object] = node["spec"].get("taints") or []
    kept = [
        taint for taint in taints if not (taint["effect"] == "NoExecute" and taint["key"] in (NOT_READY, UNREACHABLE))
    ]
    return None if len(kept) == len(taints) else kept


def _has(taints: list[Object], key: str) -> bool:
    return any(taint["effect"] == "NoExecute" and taint["key"] == key for taint in taints)


def zone_of(node: Object) -> str:
    labels = node["metadata"].get("labels") or {}
    region, zone = labels.get("topology.kubernetes.io/region", ""), labels.get("topology.kubernetes.io/zone", "")
    return f"{region}:\x00:{zone}" if region or zone else ""


def eviction_rate(ready: int, unready: int) -> float:
    """NoExecute taints per second that a zone in this state may get."""
    total = ready + unready
    if unready > 2 and unready / total >= 0.55 and ready:
        return 0.01 if total > 50 else 0.0  # Partial disruption: the network is a likelier cause than the nodes.
    return 0.1
