"""The Event kind as the core group has it: hardly checked, since anything may happen."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, invalid, required

_INSTANCE_MAX = 128
_ACTION_MAX = 128
_REASON_MAX = 128
_NOTE_MAX = 1024


def legacy_event_errors(obj: Object, controller_field: str) -> list[FieldError]:
    """What both API groups ask of an event; `controller_field` is their name for the reporting controller."""
    errors: list[FieldError] = []
    namespace = (obj.get("metadata") or {}).get("namespace") or ""
    involved = (obj.get("involvedObject") or {}).get("namespace") or ""
    mismatch = invalid("involvedObject.namespace", involved, "does not match event.namespace")
    if not obj.get("eventTime"):
        if (namespace not in ("", "default")) if not involved else namespace != involved:
            errors.append(mismatch)
    else:
        if not involved and namespace not in ("default", "kube-system"):
            errors.append(mismatch)
        errors += _new_event_errors(obj, controller_field)
    return errors + [invalid("namespace", namespace, text) for text in names.dns_subdomain(namespace)]


def _new_event_errors(obj: Object, controller_field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    controller = obj.get("reportingComponent") or ""
    if not controller:
        errors.append(required(controller_field))
    errors += [invalid(controller_field, controller, text) for text in names.qualified_name(controller)]
    for field, limit in (
        ("reportingInstance", _INSTANCE_MAX), ("action", _ACTION_MAX), ("reason", _REASON_MAX), ("message", _NOTE_MAX),
    ):  # fmt: skip
        value = obj.get(field) or ""
        if not value and field != "message":
            errors.append(required(field))
        if names.size(value) > limit:
            errors.append(invalid(field, "", f"can have at most {limit} characters"))
    return errors


class EventRules(KindRules):
    kind = "Event"
    allow_create_on_update = True
    validates_metadata = True

    def default(self, obj: Object) -> None:
        # Not pointers in Go, so they are always there.
        obj.setdefault("source", {})
        obj.setdefault("involvedObject", {})
        for field in ("firstTimestamp", "lastTimestamp", "eventTime"):
            obj.setdefault(field, None)
        for field in ("reportingComponent", "reportingInstance"):
            obj.setdefault(field, "")

    def validate_create(self, obj: Object) -> list[FieldError]:
        return legacy_event_errors(obj, "reportingComponent")

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return self.validate_create(obj)

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        involved = obj.get("involvedObject") or {}
        fields = {
            f"involvedObject.{name}": involved.get(name, "")
            for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
        }
        controller = obj.get("reportingComponent") or ""
        fields["reason"] = obj.get("reason") or ""
        fields["reportingComponent"] = controller
        fields["source"] = (obj.get("source") or {}).get("component") or controller
        fields["type"] = obj.get("type") or ""
        return fields
