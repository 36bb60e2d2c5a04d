"""Eviction: asks for a Pod to go, through `pods/eviction`. It is never stored; only its delete options are judged."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube.field import FieldError, invalid, not_supported

_PROPAGATION_POLICIES = ("Foreground", "Background", "Orphan", "nil")


class EvictionRules(KindRules):
    group, kind = "policy", "Eviction"
    validates_metadata = True

    def validate_create(self, obj: Object) -> list[FieldError]:
        return delete_options_errors(obj.get("deleteOptions") or {})


def delete_options_errors(options: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    policy = options.get("propagationPolicy")
    if policy is not None and options.get("orphanDependents") is not None:
        text = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid("propagationPolicy", policy, text))
    if policy is not None and policy not in _PROPAGATION_POLICIES[:-1]:
        errors.append(not_supported("propagationPolicy", policy, _PROPAGATION_POLICIES))
    dry_run = options.get("dryRun") or []
    if any(value != "All" for value in dry_run):
        errors.append(not_supported("dryRun", dry_run, ("All",)))
    return errors
