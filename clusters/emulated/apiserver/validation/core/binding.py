"""The Binding kind: it is never stored, only acted on."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube.field import FieldError, not_supported, required


class BindingRules(KindRules):
    kind = "Binding"
    validates_metadata = True

    def validate_create(self, obj: Object) -> list[FieldError]:
        target = obj.get("target") or {}
        errors: list[FieldError] = []
        if target.get("kind") and target["kind"] != "Node":
            errors.append(not_supported("target.kind", target["kind"], ("Node", "<empty>")))
        if not target.get("name"):
            errors.append(required("target.name"))
        return errors
