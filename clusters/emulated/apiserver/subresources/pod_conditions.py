"""Setting one condition of a Pod the way every part of Kubernetes does it."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def set_condition(pod: Object, condition: Object, now: str) -> None:
    """Replaces the condition of this type or adds it; the transition time moves only when the status does."""
    status = pod["status"] = dict(pod.get("status") or {})
    conditions = status["conditions"] = list(status.get("conditions") or ())
    condition = {"lastProbeTime": None, "lastTransitionTime": now, **condition}
    for position, before in enumerate(conditions):
        if before.get("type") == condition["type"]:
            if before.get("status") == condition["status"]:
                condition["lastTransitionTime"] = before.get("lastTransitionTime")
            conditions[position] = condition
            return
    conditions.append(condition)
