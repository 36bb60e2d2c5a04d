"""Deployment: ReplicaSets rolled over from one template to the next."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.apps.replicaset import counts_within_replicas
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
from clusters.emulated.apiserver.validation.fields import (
    at_most_100_percent,
    collision_count_kept,
    equal,
    int_or_percent_value,
    nonnegative,
    nonnegative_fields,
    positive_int_or_percent,
)
from clusters.emulated.apiserver.validation.lifecycle import bump_generation, keep_field
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube.field import FieldError, forbidden, invalid, not_supported, required
from clusters.kube.internal import printed
from clusters.kube.selectors import validate_label_selector


class DeploymentRules(TemplateRules):
    group, kind = "apps", "Deployment"

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("replicas", 1)
        strategy = spec.setdefault("strategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling_update = strategy.setdefault("rollingUpdate", {})
            rolling_update.setdefault("maxUnavailable", "25%")
            rolling_update.setdefault("maxSurge", "25%")
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)
        default_template(spec)

    def prepare_update(self, obj: Object, old: Object) -> None:
        super().prepare_update(obj, old)
        # Annotations are copied to the ReplicaSets, so a change of them is a change of intent as well.
        annotations = (obj.get("metadata") or {}).get("annotations") or {}
        old_annotations = (old.get("metadata") or {}).get("annotations") or {}
        changed = not equal(obj.get("spec"), old.get("spec")) or annotations != old_annotations
        bump_generation(obj, old, changed)

    def prepare_status(self, obj: Object, old: Object) -> None:
        super().prepare_status(obj, old)
        keep_field(obj.setdefault("metadata", {}), old.get("metadata") or {}, "labels")

    def validate_create(self, obj: Object) -> list[FieldError]:
        return self._spec_errors(obj.get("spec") or {}, None)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        spec, old_spec = obj.get("spec") or {}, old.get("spec") or {}
        return self._spec_errors(spec, old_spec) + selector_kept(spec, old_spec)

    def _spec_errors(self, spec: Object, old_spec: Object | None) -> list[FieldError]:
        selector = spec.get("selector")
        errors = nonnegative_fields(spec, "spec", "replicas")
        errors += selector_errors(selector, "spec.selector", "empty selector is invalid for deployment")
        well_formed = not validate_label_selector(selector, "")
        errors += replica_template_errors(spec, "spec", well_formed, old_spec)
        errors += _strategy_errors(spec.get("strategy") or {}, "spec.strategy")
        errors += nonnegative_fields(spec, "spec", "minReadySeconds", "revisionHistoryLimit")
        deadline = spec.get("progressDeadlineSeconds")
        if deadline is not None:
            errors += nonnegative(deadline, "spec.progressDeadlineSeconds")
            if deadline <= (spec.get("minReadySeconds") or 0):
                errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
        return errors

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        status = obj.get("status") or {}
        errors = nonnegative_fields(
            status, "status", "observedGeneration", "replicas", "updatedReplicas", "readyReplicas",
            "availableReplicas", "unavailableReplicas", "terminatingReplicas", "collisionCount",
        )  # fmt: skip
        counts = ("updatedReplicas", "readyReplicas", "availableReplicas")
        errors += counts_within_replicas(status, counts, "readyReplicas")
        return errors + collision_count_kept(status, old.get("status") or {})

    def warnings_create(self, obj: Object) -> list[str]:
        return name_warnings(obj) + template_warnings(obj["spec"].get("template") or {}, "spec.template")

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        if not generation_changed(obj, old):
            return []
        return template_warnings(
            obj["spec"].get("template") or {}, "spec.template", (old.get("spec") or {}).get("template")
        )


def _strategy_errors(strategy: Object, path: str) -> list[FieldError]:
    rolling_update = strategy.get("rollingUpdate")
    rolling_path = f"{path}.rollingUpdate"
    if strategy.get("type") == "Recreate":
        if rolling_update is None:
            return []
        return [forbidden(rolling_path, "may not be specified when strategy `type` is 'Recreate'")]
    if strategy.get("type") != "RollingUpdate":
        return [not_supported(path, printed("apps.DeploymentStrategy", strategy), ("Recreate", "RollingUpdate"))]
    if rolling_update is None:
        return [required(rolling_path, "this should be defaulted and never be nil")]
    unavailable, surge = rolling_update.get("maxUnavailable", 0), rolling_update.get("maxSurge", 0)
    unavailable_path = f"{rolling_path}.maxUnavailable"
    errors = positive_int_or_percent(unavailable, unavailable_path)
    errors += positive_int_or_percent(surge, f"{rolling_path}.maxSurge")
    if int_or_percent_value(unavailable) == 0 and int_or_percent_value(surge) == 0:
        errors.append(invalid(unavailable_path, unavailable, "may not be 0 when `maxSurge` is 0"))
    return errors + at_most_100_percent(unavailable, unavailable_path)
