"""PodDisruptionBudget: how many Pods an eviction must leave."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.conditions import condition_errors
from clusters.emulated.apiserver.validation.fields import (
    at_most_100_percent,
    nonnegative_fields,
    positive_int_or_percent,
)
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube.field import FieldError, child, invalid, not_supported
from clusters.kube.internal import printed
from clusters.kube.selectors import validate_label_selector

_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


class PodDisruptionBudgetRules(LifecycleRules):
    group, kind = "policy", "PodDisruptionBudget"
    checks_finalizer_names = False
    metadata_on_update = "nothing"
    metadata_on_status = "nothing"
    zero_status = (("disruptionsAllowed", 0), ("currentHealthy", 0), ("desiredHealthy", 0), ("expectedPods", 0))
    generation_fields = ("spec",)
    allow_unconditional_update = False

    def validate_name(self, name: str, prefix: bool) -> list[str]:
        # No rule of its own: what can stand in a URL is a name.
        return []

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _spec_errors(obj.get("spec") or {}, allow_invalid=False)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        allow_invalid = bool(validate_label_selector((old.get("spec") or {}).get("selector"), ""))
        return _spec_errors(obj.get("spec") or {}, allow_invalid=allow_invalid)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        status = obj.get("status") or {}
        errors = condition_errors(status.get("conditions") or (), "status.conditions")
        return errors + nonnegative_fields(
            status, "status", "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"
        )


def _spec_errors(spec: Object, *, allow_invalid: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        value = printed("policy.PodDisruptionBudgetSpec", spec)
        errors.append(invalid("spec", value, "minAvailable and maxUnavailable cannot be both set"))
    for name in ("minAvailable", "maxUnavailable"):
        value_of = spec.get(name)
        if value_of is not None:
            errors += positive_int_or_percent(value_of, child("spec", name))
            errors += at_most_100_percent(value_of, child("spec", name))
    errors += validate_label_selector(spec.get("selector"), "spec.selector", allow_invalid_values=allow_invalid)
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _EVICTION_POLICIES:
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, _EVICTION_POLICIES))
    return errors
