"""ControllerRevision: one immutable snapshot of a controller's state."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.fields import nonnegative, unchanged
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube.field import FieldError, required


class ControllerRevisionRules(KindRules):
    group, kind = "apps", "ControllerRevision"
    metadata_on_update = "both"

    def validate_create(self, obj: Object) -> list[FieldError]:
        errors = nonnegative(obj.get("revision"), "revision")
        data = obj.get("data")
        if data is None:
            errors.append(required("data", "data is mandatory"))
        elif not isinstance(data, dict):
            errors.append(required("data", "data must be a valid JSON object"))
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = nonnegative(obj.get("revision"), "revision")
        return errors + unchanged(obj.get("data"), old.get("data"), "data")
