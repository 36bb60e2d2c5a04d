"""ReplicaSet: so many Pods of one template."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.apps.template import (
    TemplateRules,
    default_template,
    generation_changed,
    name_warnings,
    replica_template_errors,
    selector_errors,
    selector_kept,
    template_warnings,
)
from clusters.emulated.apiserver.validation.fields import nonnegative_fields
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube.field import FieldError, child, invalid
from clusters.kube.selectors import validate_label_selector

_MORE_THAN_REPLICAS = "cannot be greater than status.replicas"


def counts_within_replicas(status: Object, names: tuple[str, ...], ready_name: str) -> list[FieldError]:
    """No count of a status exceeds its replicas, nor the available ones the ready ones."""
    replicas = status.get("replicas") or 0
    errors = [
        invalid(child("status", name), status.get(name) or 0, _MORE_THAN_REPLICAS)
        for name in names
        if (status.get(name) or 0) > replicas
    ]
    available = status.get("availableReplicas") or 0
    if available > (status.get("readyReplicas") or 0):
        errors.append(invalid("status.availableReplicas", available, f"cannot be greater than {ready_name}"))
    return errors


class ReplicaSetRules(TemplateRules):
    group, kind = "apps", "ReplicaSet"
    zero_status = (("replicas", 0),)

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("replicas", 1)
        default_template(spec)

    def validate_create(self, obj: Object) -> list[FieldError]:
        return self._spec_errors(obj.get("spec") or {}, None)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        spec, old_spec = obj.get("spec") or {}, old.get("spec") or {}
        return self._spec_errors(spec, old_spec) + selector_kept(spec, old_spec)

    def _spec_errors(self, spec: Object, old_spec: Object | None) -> list[FieldError]:
        errors = nonnegative_fields(spec, "spec", "replicas", "minReadySeconds")
        errors += selector_errors(spec.get("selector"), "spec.selector", "empty selector is invalid for deployment")
        well_formed = not validate_label_selector(spec.get("selector"), "")
        return errors + replica_template_errors(spec, "spec", well_formed, old_spec)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        status = obj.get("status") or {}
        counts = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
        errors = nonnegative_fields(status, "status", *counts, "observedGeneration", "terminatingReplicas")
        return errors + counts_within_replicas(status, counts[1:], "readyReplicas")

    def warnings_create(self, obj: Object) -> list[str]:
        return name_warnings(obj) + template_warnings(obj["spec"].get("template") or {}, "spec.template")

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        if not generation_changed(obj, old):
            return []
        return template_warnings(
            obj["spec"].get("template") or {}, "spec.template", (old.get("spec") or {}).get("template")
        )

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        return {"status.replicas": str((obj.get("status") or {}).get("replicas") or 0)}
