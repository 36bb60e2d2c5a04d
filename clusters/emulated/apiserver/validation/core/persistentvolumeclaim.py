"""The PersistentVolumeClaim kind."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.claims import claim_spec_errors
from clusters.emulated.apiserver.validation.lifecycle import keep_field
from clusters.emulated.apiserver.validation.metadata import validate_metadata
from clusters.emulated.apiserver.validation.pod.defaults import default_claim_spec, default_resource_list
from clusters.emulated.apiserver.validation.pod.resources import amount, is_native, resource_value_errors
from clusters.emulated.apiserver.validation.pod.warnings import claim_spec_warnings
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.emulated.apiserver.validation.semantic import diff, equal
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, invalid, key, not_supported, required
from clusters.kube.quantity import ZERO, Quantity
from clusters.kube.selectors import validate_label_selector

_CLASS = "volume.beta.kubernetes.io/storage-class"
_RESIZE_STATUSES = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible",
    "NodeResizePending",
)  # fmt: skip


class PersistentVolumeClaimRules(KindRules):
    kind = "PersistentVolumeClaim"

    def default(self, obj: Object) -> None:
        status = obj.setdefault("status", {})
        if not status.get("phase"):
            status["phase"] = "Pending"
        default_claim_spec(obj.setdefault("spec", {}))
        default_resource_list(status.get("capacity"))
        default_resource_list(status.get("allocatedResources"))

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Pending"}
        _settle_data_sources(obj.setdefault("spec", {}), None)

    def validate_create(self, obj: Object) -> list[FieldError]:
        return claim_spec_errors(obj.get("spec") or {}, "spec")

    def prepare_update(self, obj: Object, old: Object) -> None:
        keep_field(obj, old, "status")
        _settle_data_sources(obj.setdefault("spec", {}), old.get("spec") or {})

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        spec, stored = obj.get("spec") or {}, dict(old.get("spec") or {})
        _normalize_data_sources(stored)
        errors = validate_metadata(obj, True, self.validate_name)
        errors += claim_spec_errors(
            spec,
            "spec",
            allow_invalid_selector=bool(validate_label_selector(stored.get("selector"), "")),
            allow_invalid_group=any(
                (stored.get(field) or {}).get("apiGroup") is not None for field in ("dataSource", "dataSourceRef")
            ),
        )
        return errors + self._immutable(obj, old, spec, stored)

    def _immutable(self, obj: Object, old: Object, spec: Object, stored: Object) -> list[FieldError]:
        errors: list[FieldError] = []
        changed, before = dict(spec), dict(stored)
        bound = (obj.get("status") or {}).get("phase") == "Bound"
        if not stored.get("volumeName"):
            before["volumeName"] = spec.get("volumeName")
        errors += _storage_class(obj, old, changed, before)
        if bound:
            requests = (changed.get("resources") or {}).get("requests")
            if requests is not None:
                storage = ((before.get("resources") or {}).get("requests") or {}).get("storage", "0")
                changed["resources"] = {**changed["resources"], "requests": {**requests, "storage": storage}}
            changed["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
        if not equal("core.PersistentVolumeClaimSpec", changed, before):
            shown = diff("core.PersistentVolumeClaimSpec", before, changed)
            text = (
                "spec is immutable after creation except resources.requests and volumeAttributesClassName "
                f"for bound claims\n{shown}"
            )
            errors.append(forbidden("spec", text))
        new_size, size = _storage(spec), _storage(stored)
        capacity = ((old.get("status") or {}).get("capacity") or {}).get("storage")
        if new_size < size and new_size <= (amount(capacity) if capacity is not None else ZERO):
            at = "spec.resources.requests.storage"
            errors.append(forbidden(at, "field can not be less than status.capacity"))
        if spec.get("volumeMode") != stored.get("volumeMode"):
            errors.append(invalid("volumeMode", spec.get("volumeMode"), "field is immutable"))
        return errors + _attributes_class(spec, stored, old)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        errors: list[FieldError] = []
        if not (obj.get("metadata") or {}).get("resourceVersion"):
            errors.append(required("resourceVersion"))
        if not (obj.get("spec") or {}).get("accessModes"):
            errors.append(required("Spec.accessModes"))
        status = obj.get("status") or {}
        for name, text in (status.get("capacity") or {}).items():
            errors += _basic(text, key("status.capacity", name))
        at = "status.allocatedResourceStatuses"
        for name, state in (status.get("allocatedResourceStatuses") or {}).items():
            errors += _resource_key(name, at)
            if state not in _RESIZE_STATUSES:
                errors.append(not_supported(at, name, sorted(_RESIZE_STATUSES)))
        for name, text in (status.get("allocatedResources") or {}).items():
            wrong = _resource_key(name, "status.allocatedResources")
            where = key("status.allocatedResources", name)
            errors += wrong or _basic(text, where) or resource_value_errors("storage", text, where)
        return errors

    def warnings_create(self, obj: Object) -> list[str]:
        warnings: list[str] = []
        if _CLASS in ((obj.get("metadata") or {}).get("annotations") or {}):
            text = 'deprecated since v1.8; use "storageClassName" attribute instead'
            warnings.append(f"metadata.annotations[{_CLASS}]: {text}")
        return warnings + claim_spec_warnings(obj.get("spec") or {}, "spec")

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return self.warnings_create(obj)


def _storage(spec: Object) -> Quantity:
    text = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    return ZERO if text is None else amount(text)


def _basic(text: object, path: str) -> list[FieldError]:
    value = amount(text).value()
    return [invalid(path, value, "must be a valid resource quantity")] if value < 0 else []


def _resource_key(name: str, path: str) -> list[FieldError]:
    errors = [invalid(path, name, text) for text in names.qualified_name(name)]
    if not errors and is_native(name) and name != "storage":
        errors.append(not_supported(path, name, ("storage",)))
    return errors


def _settle_data_sources(spec: Object, stored: Object | None) -> None:
    """What may be a data source at all; then both fields say the same."""
    reference, in_use = spec.get("dataSourceRef"), stored or {}
    if reference is not None and reference.get("namespace") and in_use.get("dataSourceRef") is None:
        reference = None
        del spec["dataSourceRef"]  # Other namespaces' sources are off in v1.36.
    if in_use.get("dataSource") is None and in_use.get("dataSourceRef") is None and reference is None:
        source = spec.get("dataSource") or {}
        pair = (source.get("kind"), source.get("apiGroup") or "")
        if pair not in (("PersistentVolumeClaim", ""), ("VolumeSnapshot", "snapshot.storage.k8s.io")):
            spec.pop("dataSource", None)
    _normalize_data_sources(spec)


def _normalize_data_sources(spec: Object) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = {name: source[name] for name in ("apiGroup", "kind", "name") if name in source}
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {name: reference[name] for name in ("apiGroup", "kind", "name") if name in reference}


def _storage_class(obj: Object, old: Object, changed: Object, before: Object) -> list[FieldError]:
    """A class may move from the old annotation to its field, and be filled in where there was none."""
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    stored = (old.get("metadata") or {}).get("annotations") or {}
    new_name, old_name = changed.get("storageClassName"), before.get("storageClassName")
    same_annotation = _CLASS not in annotations or annotations[_CLASS] == stored.get(_CLASS)
    if _CLASS in stored and old_name is None and new_name == stored[_CLASS] and same_annotation:
        changed["storageClassName"] = None
        return []
    errors: list[FieldError] = []
    if annotations.get(_CLASS, "") != stored.get(_CLASS, ""):
        at = f"metadata.annotations.{_CLASS}"
        errors.append(invalid(at, annotations.get(_CLASS, ""), "field is immutable"))
    if new_name is not None and old_name is None and stored.get(_CLASS, new_name) == new_name:
        changed["storageClassName"] = None
    return errors


def _attributes_class(spec: Object, stored: Object, old: Object) -> list[FieldError]:
    field = "volumeAttributesClassName"
    name = spec.get(field)
    if name == stored.get(field) or (old.get("status") or {}).get("currentVolumeAttributesClassName") is None:
        return []
    if name:
        return []
    what = "nil" if name is None else "empty string"
    text = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
    return [forbidden(f"spec.{field}", text)]
