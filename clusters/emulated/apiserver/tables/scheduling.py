"""Rows of what placement and coordination use: priorities, runtimes, leases, budgets, devices."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.tables.texts import age, name_of

Object = dict[str, Any]
Cells = list[Any]

_RESOURCE = "resource.k8s.io"


def priority_class(obj: Object, now_s: float) -> Cells:
    return [
        name_of(obj),
        obj.get("value", 0),
        obj.get("globalDefault", False),
        age(obj, now_s),
        obj.get("preemptionPolicy", ""),
    ]


def runtime_class(obj: Object, now_s: float) -> Cells:
    return [name_of(obj), obj.get("handler", ""), age(obj, now_s)]


def lease(obj: Object, now_s: float) -> Cells:
    return [name_of(obj), (obj.get("spec") or {}).get("holderIdentity", ""), age(obj, now_s)]


def pod_disruption_budget(obj: Object, now_s: float) -> Cells:
    spec = obj.get("spec") or {}
    return [
        name_of(obj),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        (obj.get("status") or {}).get("disruptionsAllowed", 0),
        age(obj, now_s),
    ]


def name_and_age(obj: Object, now_s: float) -> Cells:
    return [name_of(obj), age(obj, now_s)]


def resource_claim(obj: Object, now_s: float) -> Cells:
    status = obj.get("status") or {}
    deleted = bool(obj["metadata"].get("deletionTimestamp"))
    states = ["deleted"] if deleted else []
    if status.get("allocation") is not None:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    elif not deleted:
        states.append("pending")
    return [name_of(obj), ",".join(states), age(obj, now_s)]


def resource_slice(obj: Object, now_s: float) -> Cells:
    spec = obj.get("spec") or {}
    pool = (spec.get("pool") or {}).get("name", "")
    return [name_of(obj), spec.get("nodeName", ""), spec.get("driver", ""), pool, age(obj, now_s)]


CELLS = {
    ("scheduling.k8s.io", "PriorityClass"): priority_class,
    ("node.k8s.io", "RuntimeClass"): runtime_class,
    ("coordination.k8s.io", "Lease"): lease,
    ("policy", "PodDisruptionBudget"): pod_disruption_budget,
    (_RESOURCE, "DeviceClass"): name_and_age,
    (_RESOURCE, "ResourceClaimTemplate"): name_and_age,
    (_RESOURCE, "ResourceClaim"): resource_claim,
    (_RESOURCE, "ResourceSlice"): resource_slice,
}
