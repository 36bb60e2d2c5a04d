"""Conditions of Pods, read and changed the way every controller does."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def pod_condition(pod: Object, kind: str) -> Object | None:
    for each in (pod.get("status") or {}).get("conditions") or ():
        if each["type"] == kind:
            found: Object = each
            return found
    return None


def is_ready(pod: Object) -> bool:
    found = pod_condition(pod, "Ready")
    return found is not None and found["status"] == "True"


def is_finished(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def with_pod_condition(pod: Object, condition: Object, now: str) -> list[Object] | None:
    """All conditions of the Pod with this one in its place; None when that changes nothing.

    The time of transition moves only with the status. A Pod's generation goes along where the Pod has one.
    """
    wanted = {"lastProbeTime": None, "lastTransitionTime": now, **condition}
    generation = pod["metadata"].get("generation")
    if generation:
        wanted["observedGeneration"] = generation
    conditions: list[Object] = (pod.get("status") or {}).get("conditions") or []
    for position, before in enumerate(conditions):
        if before["type"] != condition["type"]:
            continue
        if before["status"] == wanted["status"]:
            wanted["lastTransitionTime"] = before.get("lastTransitionTime")
        if _meaning(before) == _meaning(wanted):
            return None
        return [*conditions[:position], wanted, *conditions[position + 1 :]]
    return [*conditions, wanted]


def _meaning(condition: Object) -> Object:
    return {name: value for name, value in condition.items() if value and name != "observedGeneration"}
