"""Event: core/v1 (the stored shape) ↔ events.k8s.io/v1. Only names differ.

>>> to_events({"apiVersion": "v1", "kind": "Event", "message": "m", "involvedObject": {"name": "p"}})["note"]
'm'
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

# core/v1 name → events.k8s.io/v1 name.
_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE_NAMES = {new: old for old, new in _NAMES.items()}

#: Field selectors of events.k8s.io/v1 → the names the stored shape selects by.
SELECTABLE_FIELDS = {
    "reason": "reason",
    "type": "type",
    "reportingController": "reportingComponent",
    "metadata.name": "metadata.name",
    "metadata.namespace": "metadata.namespace",
} | {
    f"regarding.{name}": f"involvedObject.{name}"
    for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
}


def to_events(event: Object) -> Object:
    """core/v1 → events.k8s.io/v1; the result shares parts with `event`."""
    converted = {_NAMES.get(name, name): value for name, value in event.items()}
    converted["apiVersion"] = "events.k8s.io/v1"
    # core/v1 always writes these two, events.k8s.io leaves them out when empty.
    for name in ("reportingController", "reportingInstance"):
        if not converted.get(name):
            converted.pop(name, None)
    converted.setdefault("eventTime", None)
    return converted


def to_core(event: Object) -> Object:
    """events.k8s.io/v1 → core/v1; the result shares parts with `event`."""
    converted = {_CORE_NAMES.get(name, name): value for name, value in event.items()}
    converted["apiVersion"] = "v1"
    for name in ("reportingComponent", "reportingInstance"):
        converted.setdefault(name, "")
    for name in ("involvedObject", "source"):
        converted.setdefault(name, {})
    for name in ("firstTimestamp", "lastTimestamp", "eventTime"):
        converted.setdefault(name, None)
    return converted
