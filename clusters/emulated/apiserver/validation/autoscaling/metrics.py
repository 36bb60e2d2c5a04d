"""One entry of an autoscaler's `metrics`: exactly one source, of the type it says."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.fields import named, required_named
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, invalid, not_supported, required
from clusters.kube.quantity import parse as parse_quantity

# In the order in which Kubernetes looks at them: only the first one present is looked into.
_SOURCES = ("object", "external", "pods", "resource", "containerResource")
_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_TARGET_TYPES = ("Utilization", "Value", "AverageValue")


def metric_spec_errors(spec: Object, path: str, described_errors: list[FieldError]) -> list[FieldError]:
    """`described_errors` are those of an Object metric's describedObject."""
    errors: list[FieldError] = []
    kind = spec.get("type") or ""
    if not kind:
        errors.append(required(f"{path}.type", "must specify a metric source type"))
    if kind not in _TYPES:
        errors.append(not_supported(f"{path}.type", kind, _TYPES))
    present = [name for name in _SOURCES if spec.get(name) is not None]
    if present:
        errors += _source_errors(present[0], spec[present[0]], f"{path}.{present[0]}", described_errors)
    expected = ""
    if kind in _TYPES:
        expected = kind[0].lower() + kind[1:]
        if expected not in present:
            text = "must populate information for the given metric source"
            errors.append(required(f"{path}.{expected}", text))
    else:
        errors.append(not_supported(f"{path}.type", kind, _TYPES))
    if len(present) != 1:
        for name in present:
            if name != expected:
                text = "must populate the given metric source only"
                errors.append(forbidden(f"{path}.{name}", text))
    return errors


def _source_errors(name: str, source: Object, path: str, described_errors: list[FieldError]) -> list[FieldError]:
    errors: list[FieldError] = []
    if name == "object":
        errors += described_errors
    if name in ("object", "external", "pods"):
        metric = (source.get("metric") or {}).get("name")
        if not metric:
            errors.append(required(f"{path}.metric.name", "must specify a metric name"))
        else:
            errors += named(f"{path}.metric.name", metric, names.path_segment_name)
    else:
        if not source.get("name"):
            errors.append(required(f"{path}.name", "must specify a resource name"))
        elif name == "containerResource":
            errors += _container_resource_name_errors(source["name"], f"{path}.name")
        if name == "containerResource":
            if not source.get("container"):
                errors.append(required(f"{path}.container", "must specify a container"))
            else:
                errors += required_named(f"{path}.container", source["container"], names.dns_label)
    target = source.get("target") or {}
    return errors + _target_errors(target, f"{path}.target") + _target_choice(name, target, f"{path}.target")


def _container_resource_name_errors(resource: str, path: str) -> list[FieldError]:
    from clusters.emulated.apiserver.validation.pod.resources import container_resource_name_errors

    return container_resource_name_errors(resource, path)


def _target_errors(target: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = target.get("type") or ""
    if not kind:
        errors.append(required(f"{path}.type", "must specify a metric target type"))
    if kind not in _TARGET_TYPES:
        errors.append(invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for name in ("value", "averageValue"):
        value = target.get(name)
        if value is not None and parse_quantity(str(value)) <= parse_quantity("0"):
            errors.append(invalid(f"{path}.{name}", str(value), "must be positive"))
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        errors.append(invalid(f"{path}.averageUtilization", utilization, "must be greater than 0"))
    return errors


def _target_choice(name: str, target: Object, path: str) -> list[FieldError]:
    """Which of the target's values this kind of source needs."""
    value, average = target.get("value") is not None, target.get("averageValue") is not None
    utilization = target.get("averageUtilization") is not None
    if name == "pods":
        return [] if average else [required(f"{path}.averageValue", "must specify a positive target averageValue")]
    if name in ("resource", "containerResource"):
        if not utilization and not average:
            text = "must set either a target raw value or a target utilization"
            return [required(f"{path}.averageUtilization", text)]
        if utilization and average:
            text = "may not set both a target raw value and a target utilization"
            return [forbidden(f"{path}.averageValue", text)]
        return []
    if not value and not average:
        text = "must set either a target value or averageValue"
        if name == "external":
            text = "must set either a target value for metric or a per-pod target"
        return [required(f"{path}.averageValue", text)]
    if name == "external" and value and average:
        text = "may not set both a target value for metric and a per-pod target"
        return [forbidden(f"{path}.value", text)]
    return []
