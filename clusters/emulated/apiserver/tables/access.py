"""Rows of what says who may do what: role bindings, certificate requests, flow control, API services."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.tables.durations import human_duration
from clusters.emulated.apiserver.tables.texts import NONE, age, condition, name_of

Object = dict[str, Any]
Cells = list[Any]

_RBAC, _FLOW = "rbac.authorization.k8s.io", "flowcontrol.apiserver.k8s.io"


def role_binding(obj: Object, now_s: float) -> Cells:
    role = obj.get("roleRef") or {}
    subjects = obj.get("subjects") or ()
    accounts = [
        f"{each.get('namespace', '')}/{each.get('name', '')}"
        for each in subjects
        if each.get("kind") == "ServiceAccount"
    ]
    return [
        name_of(obj),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age(obj, now_s),
        ", ".join(each.get("name", "") for each in subjects if each.get("kind") == "User"),
        ", ".join(each.get("name", "") for each in subjects if each.get("kind") == "Group"),
        ", ".join(accounts),
    ]


def certificate_signing_request(obj: Object, now_s: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    types = {each.get("type") for each in status.get("conditions") or ()}
    state = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    if "Failed" in types:
        state += ",Failed"
    if status.get("certificate"):
        state += ",Issued"
    seconds = spec.get("expirationSeconds")
    return [
        name_of(obj),
        age(obj, now_s),
        spec.get("signerName") or NONE,
        spec.get("username", ""),
        NONE if seconds is None else human_duration(seconds),
        state,
    ]


def flow_schema(obj: Object, now_s: float) -> Cells:
    spec = obj.get("spec") or {}
    dangling = condition((obj.get("status") or {}).get("conditions"), "Dangling")
    return [
        name_of(obj),
        (spec.get("priorityLevelConfiguration") or {}).get("name", ""),
        spec.get("matchingPrecedence", 0),
        (spec.get("distinguisherMethod") or {}).get("type", NONE),
        age(obj, now_s),
        "?" if dangling is None else dangling.get("status", ""),
    ]


def flow_schema_order(obj: Object) -> tuple[int, str]:
    """Lists of FlowSchemas are shown in the order in which they are tried."""
    return (obj.get("spec") or {}).get("matchingPrecedence", 0), name_of(obj)


def priority_level(obj: Object, now_s: float) -> Cells:
    spec = obj.get("spec") or {}
    limited = spec.get("limited")
    queuing = ((limited or {}).get("limitResponse") or {}).get("queuing")
    shown = [(queuing or {}).get(name, 0) for name in ("queues", "handSize", "queueLengthLimit")]
    return [
        name_of(obj),
        spec.get("type", ""),
        NONE if limited is None else limited.get("nominalConcurrencyShares", 0),
        *([NONE] * 3 if queuing is None else shown),
        age(obj, now_s),
    ]


def api_service(obj: Object, now_s: float) -> Cells:
    service = (obj.get("spec") or {}).get("service")
    where = "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}"
    available = condition((obj.get("status") or {}).get("conditions"), "Available")
    state = "Unknown" if available is None else str(available.get("status", ""))
    if available is not None and state != "True" and available.get("reason"):
        state = f"{state} ({available['reason']})"
    return [name_of(obj), where, state, age(obj, now_s)]


CELLS = {
    (_RBAC, "RoleBinding"): role_binding,
    (_RBAC, "ClusterRoleBinding"): role_binding,
    ("certificates.k8s.io", "CertificateSigningRequest"): certificate_signing_request,
    (_FLOW, "FlowSchema"): flow_schema,
    (_FLOW, "PriorityLevelConfiguration"): priority_level,
    ("apiregistration.k8s.io", "APIService"): api_service,
}
