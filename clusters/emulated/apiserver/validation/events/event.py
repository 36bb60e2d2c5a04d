"""Event as events.k8s.io/v1 asks for it. The stored shape is core/v1's (involvedObject, message, count, …)."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.fields import equal, named, unchanged
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, invalid, required

_SHORT_MAX = 128
_NOTE_MAX = 1024
_OTHER_NAMESPACE = "does not match event.namespace"


class EventRules(KindRules):
    """New Events of this API are stricter than core/v1's: nothing deprecated may be set, nothing told may change."""

    group, kind = "events.k8s.io", "Event"
    allow_create_on_update = True
    validates_metadata = True

    def validate_create(self, obj: Object) -> list[FieldError]:
        from clusters.emulated.apiserver.validation.metadata import validate_metadata

        errors = legacy_event_errors(obj, "reportingController")
        errors += validate_metadata(obj, True, names.dns_subdomain)
        errors += _series_errors(obj.get("series"))
        if not obj.get("eventTime"):
            errors.append(required("eventTime"))
        if obj.get("type") not in ("Normal", "Warning"):
            errors.append(invalid("type", "", f"has invalid value: {obj.get('type') or ''}"))
        for name in ("firstTimestamp", "lastTimestamp", "count"):
            if obj.get(name):
                errors.append(invalid(name, "", "needs to be unset"))
        source = obj.get("source") or {}
        if source.get("component") or source.get("host"):
            errors.append(invalid("source", "", "needs to be unset"))
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        from clusters.emulated.apiserver.validation.metadata import validate_metadata_update

        errors = legacy_event_errors(obj, "reportingController") + validate_metadata_update(obj, old)
        if not equal(obj.get("series"), old.get("series")):
            errors += _series_errors(obj.get("series"))
        for name, type_name in (
            ("involvedObject", "core.ObjectReference"), ("reason", "string"), ("message", "string"),
            ("source", "core.EventSource"), ("firstTimestamp", ""), ("lastTimestamp", ""), ("count", "int"),
            ("reason", "string"), ("type", "string"), ("eventTime", ""), ("action", "string"),
            ("related", "*core.ObjectReference"),
        ):  # fmt: skip
            errors += unchanged(obj.get(name) or None, old.get(name) or None, name, type_name)
        errors += unchanged(
            obj.get("reportingComponent") or "", old.get("reportingComponent") or "", "reportingController"
        )
        return errors + unchanged(
            obj.get("reportingInstance") or "", old.get("reportingInstance") or "", "reportingInstance"
        )

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        involved = obj.get("involvedObject") or {}
        fields = {
            f"involvedObject.{name}": involved.get(name) or ""
            for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
        }
        component = obj.get("reportingComponent") or ""
        return fields | {
            "reason": obj.get("reason") or "",
            "reportingComponent": component,
            "source": (obj.get("source") or {}).get("component") or component,
            "type": obj.get("type") or "",
        }


def _series_errors(series: Object | None) -> list[FieldError]:
    if series is None:
        return []
    errors: list[FieldError] = []
    if (series.get("count") or 0) < 2:
        errors.append(invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(required("series.lastObservedTime"))
    return errors


def legacy_event_errors(event: Object, reporting_field: str) -> list[FieldError]:
    """The rules of both APIs; core/v1 calls the reporting controller `reportingComponent`."""
    errors: list[FieldError] = []
    namespace = (event.get("metadata") or {}).get("namespace") or ""
    involved = (event.get("involvedObject") or {}).get("namespace") or ""
    if not event.get("eventTime"):
        allowed = namespace in ("", "default") if not involved else namespace == involved
        if not allowed:
            errors.append(invalid("involvedObject.namespace", involved, _OTHER_NAMESPACE))
    else:
        if not involved and namespace not in ("default", "kube-system"):
            errors.append(invalid("involvedObject.namespace", involved, _OTHER_NAMESPACE))
        errors += _reporting_errors(event, reporting_field)
    return errors + named("namespace", namespace, names.dns_subdomain)


def _reporting_errors(event: Object, reporting_field: str) -> list[FieldError]:
    errors: list[FieldError] = []
    controller = event.get("reportingComponent") or ""
    if not controller:
        errors.append(required(reporting_field))
    errors += named(reporting_field, controller, names.qualified_name)
    for name in ("reportingInstance", "action", "reason"):
        value = event.get(name) or ""
        if not value:
            errors.append(required(name))
        if len(value.encode()) > _SHORT_MAX:
            errors.append(invalid(name, "", f"can have at most {_SHORT_MAX} characters"))
    if len((event.get("message") or "").encode()) > _NOTE_MAX:
        errors.append(invalid("message", "", f"can have at most {_NOTE_MAX} characters"))
    return errors
