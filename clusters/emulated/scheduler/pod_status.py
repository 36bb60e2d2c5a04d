"""What the scheduler writes into a Pod's status: its PodScheduled condition and the nominated node."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def condition(type: str, status: str, reason: str, message: str, pod: Object) -> Object:
    """Without its transition time, which depends on what was there before."""
    return {
        "type": type,
        "observedGeneration": pod["metadata"].get("generation", 0),
        "status": status,
        "lastProbeTime": None,
        "reason": reason,
        "message": message,
    }


def status_patch(pod: Object, wanted: Object | None, nominated_node: str | None, now: str) -> Object | None:
    """The strategic merge patch that brings `wanted` in, or None when the Pod says all of it already.

    An unchanged status keeps its transition time. `nominated_node` None leaves the nomination alone.
    """
    status = pod.get("status") or {}
    change: Object = {}
    if wanted is not None:
        conditions = status.get("conditions") or []
        old = next((one for one in conditions if one["type"] == wanted["type"]), None)
        changed = _changed(old, wanted, now)
        if changed is not None:
            change["conditions"] = [changed]
            order = [{"type": one["type"]} for one in conditions]
            change["$setElementOrder/conditions"] = order if old else [*order, {"type": wanted["type"]}]
    if nominated_node is not None and (status.get("nominatedNodeName") or "") != nominated_node:
        change["nominatedNodeName"] = nominated_node or None
    return {"status": change} if change else None


def _changed(old: Object | None, wanted: Object, now: str) -> Object | None:
    if old is None:
        return {**wanted, "lastTransitionTime": now}
    same_status = old["status"] == wanted["status"]
    if same_status and all((old.get(name) or "") == wanted[name] for name in ("reason", "message")):
        return None
    changed = {name: value for name, value in wanted.items() if old.get(name) != value or name == "type"}
    if not same_status:
        changed["lastTransitionTime"] = now
    return changed
