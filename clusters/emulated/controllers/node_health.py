"""What is made of a node's heartbeats: the pure half of the node lifecycle controller.

heartbeats arrive           the node is what its conditions say
none for 50 s               Ready and the pressures become Unknown, a NoSchedule taint follows
… and some node is healthy  a NoExecute taint follows too, ten seconds apart per zone; Pods are evicted by it
… and all nodes are silent  no NoExecute taint at all: probably the controller is the one cut off
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusters.kube.timestamps import unix_s

Object = dict[str, Any]

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
GRACE_S, STARTUP_GRACE_S = 50.0, 60.0
EXCLUDED = "node.kubernetes.io/exclude-disruption"
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
    has_ready: bool = True


def condition(node: Object, kind: str) -> Object | None:
    for each in (node.get("status") or {}).get("conditions") or ():
        if each["type"] == kind:
            found: Object = each
            return found
    return None


def readiness(node: Object) -> str:
    found = condition(node, "Ready")
    return "Unknown" if found is None else str(found["status"])


def noted(seen: Health | None, node: Object, renewed: str, now_s: float) -> Health:
    """What is known of the node now: any new heartbeat or renewal of its lease is a sign of life at this moment."""
    ready = condition(node, "Ready")
    heartbeat = "" if ready is None else ready.get("lastHeartbeatTime") or ""
    has_ready = ready is not None
    if seen is None:
        seen_s = now_s if has_ready else unix_s(node["metadata"]["creationTimestamp"])
        seen = Health(heartbeat, "", seen_s, has_ready)
    elif seen.has_ready != has_ready or (has_ready and seen.heartbeat != heartbeat):
        seen = Health(heartbeat, seen.renewed, now_s, has_ready)
    if renewed > seen.renewed:
        seen = Health(heartbeat, renewed, now_s, has_ready)
    return seen


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


_OLD_LABELS = {"kubernetes.io/os": "beta.kubernetes.io/os", "kubernetes.io/arch": "beta.kubernetes.io/arch"}


def old_names_of_labels(node: Object) -> dict[str, str]:
    """The beta labels that must be set so that they say what the stable ones say."""
    labels = node["metadata"].get("labels") or {}
    return {old: labels[new] for new, old in _OLD_LABELS.items() if new in labels and labels.get(old) != labels[new]}
