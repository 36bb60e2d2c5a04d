"""HorizontalPodAutoscaler (autoscaling/v2, the stored shape): replicas that follow metrics."""

from __future__ import annotations

from typing import Any, NamedTuple

from clusters.emulated.apiserver.validation.autoscaling.metrics import metric_spec_errors
from clusters.emulated.apiserver.validation.fields import NOT_NEGATIVE, nonnegative_fields, required_named
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, index, invalid, not_supported, required
from clusters.kube.quantity import parse as parse_quantity

_DEFAULT_CPU_PERCENT = 80
_PERIOD_S_MAX = 1800
_STABILIZATION_S_MAX = 3600
_SELECT_POLICIES = ("Disabled", "Max", "Min")
_POLICY_TYPES = ("Percent", "Pods")


class ReferenceTolerance(NamedTuple):
    """What an apiVersion of a referenced object may be."""

    empty_group: bool = False
    anything: bool = False


def reference_errors(reference: Object, path: str, tolerance: ReferenceTolerance) -> list[FieldError]:
    """A CrossVersionObjectReference."""
    errors: list[FieldError] = []
    for name in ("kind", "name"):
        errors += required_named(f"{path}.{name}", reference.get(name), names.path_segment_name)
    api_version = reference.get("apiVersion") or ""
    why = _api_version_error(api_version, tolerance)
    if why:
        errors.append(invalid(f"{path}.apiVersion", api_version, why))
    return errors


def _api_version_error(api_version: str, tolerance: ReferenceTolerance) -> str:
    if tolerance.anything:
        return ""
    if api_version.count("/") > 1:
        return f"unexpected GroupVersion string: {api_version}"
    group = api_version.partition("/")[0] if "/" in api_version else ""
    return "" if group or tolerance.empty_group else "apiVersion must specify API group"


class HorizontalPodAutoscalerRules(LifecycleRules):
    group, kind = "autoscaling", "HorizontalPodAutoscaler"
    zero_status = (("desiredReplicas", 0), ("currentMetrics", None))

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("minReplicas", 1)
        if not spec.get("metrics"):
            spec["metrics"] = [cpu_metric(_DEFAULT_CPU_PERCENT)]
        behavior = spec.get("behavior")
        if behavior is not None:
            behavior["scaleUp"] = _scaling_rules(behavior.get("scaleUp"), up=True)
            behavior["scaleDown"] = _scaling_rules(behavior.get("scaleDown"), up=False)

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _spec_errors(obj.get("spec") or {}, None)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return _spec_errors(obj.get("spec") or {}, old.get("spec") or {})

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return nonnegative_fields(obj.get("status") or {}, "status", "currentReplicas", "desiredReplicas")


def cpu_metric(percent: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _scaling_rules(given: Object | None, *, up: bool) -> Object:
    policies = [{"type": "Percent", "value": 100, "periodSeconds": 15}]
    rules: dict[str, Any] = {}
    if up:
        policies.insert(0, {"type": "Pods", "value": 4, "periodSeconds": 15})
        rules["stabilizationWindowSeconds"] = 0
    rules |= {"selectPolicy": "Max", "policies": policies}
    return rules | {name: value for name, value in (given or {}).items() if value is not None}


def _spec_errors(spec: Object, old_spec: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    minimum, maximum = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    # Scaling to zero is behind a feature gate; what is stored with it may stay.
    lowest = 0 if old_spec is not None and old_spec.get("minReplicas") == 0 else 1
    if minimum is not None and minimum < lowest:
        errors.append(invalid("spec.minReplicas", minimum, f"must be greater than or equal to {lowest}"))
    if maximum == 0:
        errors.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif maximum < 0:
        errors.append(invalid("spec.maxReplicas", maximum, "must be greater than or equal to 1"))
    if minimum is not None and maximum < minimum:
        text = "must be greater than or equal to `minReplicas`"
        errors.append(invalid("spec.maxReplicas", maximum, text))
    target = spec.get("scaleTargetRef") or {}
    errors += reference_errors(target, "spec.scaleTargetRef", _target_tolerance(target, old_spec))
    errors += _metrics_errors(spec, old_spec)
    behavior = spec.get("behavior") or {}
    for direction in ("scaleUp", "scaleDown"):
        if behavior.get(direction) is not None:
            errors += _scaling_errors(behavior[direction], f"spec.behavior.{direction}")
    return errors


def _target_tolerance(target: Object, old_spec: Object | None) -> ReferenceTolerance:
    old_target = (old_spec or {}).get("scaleTargetRef")
    if old_target and all(old_target.get(name) == target.get(name) for name in ("apiVersion", "kind")):
        return ReferenceTolerance(anything=True)
    return ReferenceTolerance(empty_group=target.get("kind") == "ReplicationController")


def _metrics_errors(spec: Object, old_spec: Object | None) -> list[FieldError]:
    tolerance = ReferenceTolerance(empty_group=True)
    for metric in (old_spec or {}).get("metrics") or ():
        described = (metric.get("object") or {}).get("describedObject") or {}
        if metric.get("type") == "Object" and _api_version_error(described.get("apiVersion") or "", tolerance):
            tolerance = ReferenceTolerance(empty_group=True, anything=True)
            break
    errors: list[FieldError] = []
    metrics = spec.get("metrics") or ()
    for position, metric in enumerate(metrics):
        described = (metric.get("object") or {}).get("describedObject") or {}
        path = index("spec.metrics", position)
        errors += metric_spec_errors(
            metric, path, reference_errors(described, f"{path}.object.describedObject", tolerance)
        )
    if spec.get("minReplicas") == 0 and not {metric.get("type") for metric in metrics} & {"Object", "External"}:
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden("spec.metrics", text))
    return errors


def _scaling_errors(rules: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    window, window_path = rules.get("stabilizationWindowSeconds"), f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        errors.append(invalid(window_path, window, "must be greater than or equal to zero"))
    if window is not None and window > _STABILIZATION_S_MAX:
        errors.append(invalid(window_path, window, f"must be less than or equal to {_STABILIZATION_S_MAX}"))
    select = rules.get("selectPolicy")
    if select is not None and select not in _SELECT_POLICIES:
        errors.append(not_supported(f"{path}.selectPolicy", select, _SELECT_POLICIES))
    policies = rules.get("policies") or ()
    if not policies:
        errors.append(required(f"{path}.policies", "must specify at least one Policy"))
    for position, policy in enumerate(policies):
        errors += _policy_errors(policy, index(f"{path}.policies", position))
    tolerance = rules.get("tolerance")
    if tolerance is not None and parse_quantity(str(tolerance)) < parse_quantity("0"):
        errors.append(invalid(f"{path}.tolerance", str(tolerance), NOT_NEGATIVE))
    return errors


def _policy_errors(policy: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if policy.get("type") not in _POLICY_TYPES:
        errors.append(not_supported(f"{path}.type", policy.get("type", ""), _POLICY_TYPES))
    for name in ("value", "periodSeconds"):
        if (policy.get(name) or 0) <= 0:
            errors.append(invalid(f"{path}.{name}", policy.get(name) or 0, "must be greater than zero"))
    period = policy.get("periodSeconds") or 0
    if period > _PERIOD_S_MAX:
        text = f"must be less than or equal to {_PERIOD_S_MAX}"
        errors.append(invalid(f"{path}.periodSeconds", period, text))
    return errors
