"""Lease: who holds something until when (leader election, node heartbeats)."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube.field import FieldError, invalid


class LeaseRules(KindRules):
    group, kind = "coordination.k8s.io", "Lease"
    checks_finalizer_names = False
    allow_create_on_update = True
    allow_unconditional_update = False

    def prepare_create(self, obj: Object) -> None:
        # Both are behind a feature gate that is off: CoordinatedLeaderElection.
        spec = obj.get("spec") or {}
        spec.pop("strategy", None)
        spec.pop("preferredHolder", None)

    def prepare_update(self, obj: Object, old: Object) -> None:
        spec, old_spec = obj.get("spec") or {}, old.get("spec") or {}
        for name in ("strategy", "preferredHolder"):
            if old_spec.get(name) is None:
                spec.pop(name, None)

    def validate_create(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        errors: list[FieldError] = []
        duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
        if duration is not None and duration <= 0:
            errors.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
        if transitions is not None and transitions < 0:
            errors.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
        return errors
