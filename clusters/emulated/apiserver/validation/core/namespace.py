"""The Namespace kind, with its `finalize` subresource."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.lifecycle import keep_field
from clusters.emulated.apiserver.validation.metadata import (
    kube_finalizer_errors,
    validate_metadata,
    validate_metadata_update,
)
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, index, invalid

_NAME_LABEL = "kubernetes.io/metadata.name"


def _finalizer_errors(name: str, path: str) -> list[FieldError]:
    errors = [invalid(path, name, text) for text in names.qualified_name(name)]
    return errors + kube_finalizer_errors(name, path)


class NamespaceRules(KindRules):
    kind = "Namespace"
    validates_metadata = True

    def validate_name(self, name: str, prefix: bool) -> list[str]:
        return names.dns_label(name, prefix)

    def default(self, obj: Object) -> None:
        self.canonicalize(obj)
        obj.setdefault("spec", {})
        status = obj.setdefault("status", {})
        if not status.get("phase"):
            status["phase"] = "Active"

    def canonicalize(self, obj: Object) -> None:
        metadata = obj.setdefault("metadata", {})
        if metadata.get("name"):
            labels = metadata.get("labels")
            if labels is None:
                labels = metadata["labels"] = {}
            labels[_NAME_LABEL] = metadata["name"]

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Active"}
        spec = obj.setdefault("spec", {})
        finalizers = spec.get("finalizers") or []
        if "kubernetes" not in finalizers:
            spec["finalizers"] = [*finalizers, "kubernetes"]

    def validate_create(self, obj: Object) -> list[FieldError]:
        errors = validate_metadata(obj, False, self.validate_name)
        for name in (obj.get("spec") or {}).get("finalizers") or ():
            errors += _finalizer_errors(name, "spec.finalizers")
        return errors

    def prepare_update(self, obj: Object, old: Object) -> None:
        keep_field(obj.setdefault("spec", {}), old.get("spec") or {}, "finalizers")
        keep_field(obj, old, "status")

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return self.validate_create(obj) + validate_metadata_update(obj, old)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        phase = (obj.get("status") or {}).get("phase", "")
        deleting = bool((obj.get("metadata") or {}).get("deletionTimestamp"))
        wanted, state = ("Terminating", "not empty") if deleting else ("Active", "empty")
        if phase == wanted:
            return []
        return [invalid("status.Phase", phase, f"may only be '{wanted}' if `deletionTimestamp` is {state}")]

    def prepare_finalize(self, obj: Object, old: Object) -> None:
        keep_field(obj, old, "status")

    def validate_finalize(self, obj: Object, old: Object) -> list[FieldError]:
        errors = validate_metadata_update(obj, old)
        for position, name in enumerate((obj.get("spec") or {}).get("finalizers") or ()):
            errors += _finalizer_errors(name, index("spec.finalizers", position))
        return errors

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        return {"status.phase": (obj.get("status") or {}).get("phase", "")}
