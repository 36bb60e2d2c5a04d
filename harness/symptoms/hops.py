"""At which hop of its way a request or a Pod stopped, told from what can be seen of it."""

from __future__ import annotations

import re
from typing import Any

from clusters.base import Answer

NAMES = {
    1: "client",
    2: "TLS and authentication",
    3: "authorization",
    4: "mutating admission",
    5: "schema",
    6: "validating admission",
    7: "etcd",
    8: "watch cache",
    9: "controllers",
    10: "scheduler",
    11: "kubelet",
    12: "endpoints",
}

# The first that is found in an answer's text counts.
_TEXTS = (
    (4, r"failed calling webhook|denied the request|failed to call webhook|error looking up service account"),
    (6, r"exceeded quota|usage per |violates PodSecurity|ValidatingAdmissionPolicy|because it is being terminated"),
    (3, r"is forbidden: User |forbidden: User |attempting to grant RBAC|no relationship found|can only "),
    (8, r"resource version|\(re\)initializing|continue parameter is too old|resourceVersion for the provided"),
    (7, r"etcdserver|within requested timeout|allotted timeout|has been modified|already exists|rpc error|conflict"),
    (5, r"decoding error|is invalid|cannot be handled as|unknown format|too large|conversion webhook|unmarshal"),
)
_CODES = {401: 2, 403: 3, 404: 5, 406: 5, 409: 7, 410: 8, 413: 5, 415: 5, 422: 5, 429: 2, 503: 1, 504: 7}


def hop_of_answer(answer: Answer) -> int:
    """0 for an answer that is none of a failure."""
    if answer.code < 400:
        return 0
    text = answer.body.get("message", "") if isinstance(answer.body, dict) else answer.text
    found = (hop for hop, pattern in _TEXTS if re.search(pattern, text))
    return next(found, _CODES.get(answer.code, 0))


def hop_of_error(error: str) -> int:
    """Of a request that got no answer."""
    return 2 if "x509" in error or "tls:" in error else 1


def hop_of_pod(pod: dict[str, Any]) -> int:
    """How far a Pod has come; 0 when it is ready."""
    status = pod.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    if conditions.get("Ready") == "True":
        return 0
    if not (pod.get("spec") or {}).get("nodeName"):
        return 10
    if all("running" in (each.get("state") or {}) for each in status.get("containerStatuses") or ({},)):  # type: ignore[var-annotated]
        return 12
    return 11
