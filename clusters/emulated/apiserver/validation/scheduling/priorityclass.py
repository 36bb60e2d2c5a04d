"""PriorityClass: a name for a priority."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.fields import unchanged
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube.field import FieldError, forbidden, not_supported, required

_HIGHEST_USER_PRIORITY = 1_000_000_000
_SYSTEM_PREFIX = "system-"
_SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_POLICIES = ("PreemptLowerPriority", "Never")


class PriorityClassRules(KindRules):
    group, kind = "scheduling.k8s.io", "PriorityClass"

    def default(self, obj: Object) -> None:
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")

    def prepare_create(self, obj: Object) -> None:
        obj.setdefault("metadata", {})["generation"] = 1

    def validate_create(self, obj: Object) -> list[FieldError]:
        errors: list[FieldError] = []
        name, value = (obj.get("metadata") or {}).get("name") or "", obj.get("value") or 0
        if name.startswith(_SYSTEM_PREFIX):
            why = _system_class_error(name, value, obj.get("globalDefault") or False)
            if why:
                text = f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use only. "
                errors.append(forbidden("metadata.name", f"{text}error: {why}"))
        elif value > _HIGHEST_USER_PRIORITY:
            text = f"maximum allowed value of a user defined priority is {_HIGHEST_USER_PRIORITY}"
            errors.append(forbidden("value", text))
        policy = obj.get("preemptionPolicy")
        if policy == "":
            errors.append(required("preemptionPolicy"))
        elif policy is not None and policy not in _POLICIES:
            errors.append(not_supported("preemptionPolicy", policy, _POLICIES))
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors: list[FieldError] = []
        if (obj.get("value") or 0) != (old.get("value") or 0):
            errors.append(forbidden("value", "may not be changed in an update."))
        return errors + unchanged(obj.get("preemptionPolicy"), old.get("preemptionPolicy"), "preemptionPolicy")


def _system_class_error(name: str, value: int, global_default: bool) -> str:
    expected = _SYSTEM_CLASSES.get(name)
    if expected is None:
        return f"{name} is not a known system priority class"
    if value != expected:
        return f"value of {name} PriorityClass must be {expected}"
    return f"globalDefault of {name} PriorityClass must be false" if global_default else ""
