"""HorizontalPodAutoscaler: autoscaling/v1 ↔ v2 (the stored shape).

v1 knows one metric, CPU utilisation. All else that v2 can say travels in annotations, as JSON of v1's own types:

    autoscaling.alpha.kubernetes.io/metrics, …/behavior, …/current-metrics, …/conditions
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from clusters.kube.gostring import to_json
from clusters.kube.internal import printed

Object = dict[str, Any]

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS, _CURRENT_METRICS = f"{_PREFIX}metrics", f"{_PREFIX}current-metrics"
_CONDITIONS, _BEHAVIOR = f"{_PREFIX}conditions", f"{_PREFIX}behavior"
_ROUND_TRIP = (
    _METRICS, _BEHAVIOR, f"{_PREFIX}scale-down-tolerance", f"{_PREFIX}scale-up-tolerance", _CURRENT_METRICS,
    _CONDITIONS,
)  # fmt: skip
_CONDITION_FIELDS = ("type", "status", "lastTransitionTime", "reason", "message")
_DEFAULT_CPU_PERCENT = 80
_V1_SPEC = ("scaleTargetRef", "minReplicas", "maxReplicas")
_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")


def _is_cpu_utilization(metric: Object, part: str) -> bool:
    resource = metric.get("resource") or {}
    known = (resource.get(part) or {}).get("averageUtilization") is not None
    return metric.get("type") == "Resource" and resource.get("name") == "cpu" and known


def _present(**fields: Any) -> Object:
    return {name: value for name, value in fields.items() if value is not None}


def to_v1(autoscaler: Object) -> Object:
    """v2 → v1; `autoscaler` is not changed, parts are shared."""
    spec, status = autoscaler.get("spec") or {}, autoscaler.get("status") or {}
    metrics, current = spec.get("metrics") or [], status.get("currentMetrics") or []
    v1_spec = {name: spec[name] for name in _V1_SPEC if name in spec}
    cpu = next((metric for metric in metrics if _is_cpu_utilization(metric, "target")), None)
    if cpu is not None:
        v1_spec["targetCPUUtilizationPercentage"] = cpu["resource"]["target"]["averageUtilization"]
    v1_status = {name: status[name] for name in _STATUS if name in status}
    v1_status.setdefault("currentReplicas", 0)
    v1_status.setdefault("desiredReplicas", 0)
    for metric in current:
        if _is_cpu_utilization(metric, "current"):
            percent = metric["resource"]["current"]["averageUtilization"]
            v1_status["currentCPUUtilizationPercentage"] = percent
    added: dict[str, str] = {}
    others = [_spec_to_v1(metric) for metric in metrics if not _is_cpu_utilization(metric, "target")]
    if others:
        added[_METRICS] = _json(others)
    if current:
        added[_CURRENT_METRICS] = _json([_status_to_v1(metric) for metric in current])
    if spec.get("behavior") is not None:
        # The annotation holds the internal type, which has no JSON tags.
        added[_BEHAVIOR] = str(printed("autoscaling.HorizontalPodAutoscalerBehavior", spec["behavior"]))
    if status.get("conditions"):
        added[_CONDITIONS] = _json([_ordered(condition, *_CONDITION_FIELDS) for condition in status["conditions"]])
    converted = dict(autoscaler) | {"apiVersion": "autoscaling/v1", "spec": v1_spec, "status": v1_status}
    return _with_annotations(converted, added)


def to_v2(autoscaler: Object) -> Object:
    """v1 → v2; what the annotations say is put back, and they are dropped."""
    spec, status = autoscaler.get("spec") or {}, autoscaler.get("status") or {}
    annotations = (autoscaler.get("metadata") or {}).get("annotations") or {}
    v2_spec = {name: spec[name] for name in _V1_SPEC if name in spec}
    metrics = [_spec_to_v2(metric) for metric in _read(annotations, _METRICS, list)]
    if spec.get("targetCPUUtilizationPercentage") is not None:
        metrics.append(_cpu_metric(spec["targetCPUUtilizationPercentage"]))
    v2_spec["metrics"] = metrics or [_cpu_metric(_DEFAULT_CPU_PERCENT)]
    behavior = _lower_keys(_read(annotations, _BEHAVIOR, dict))
    if behavior:
        v2_spec["behavior"] = behavior
    v2_status = {name: status[name] for name in _STATUS if name in status}
    v2_status.setdefault("desiredReplicas", 0)
    v2_status["currentMetrics"] = None
    percent = status.get("currentCPUUtilizationPercentage")
    if percent is not None:
        current = {"averageUtilization": percent}
        v2_status["currentMetrics"] = [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
    if _CURRENT_METRICS in annotations:
        read = [_status_to_v2(metric) for metric in _read(annotations, _CURRENT_METRICS, list)]
        v2_status["currentMetrics"] = read or v2_status["currentMetrics"]
    conditions = _read(annotations, _CONDITIONS, list)
    if conditions:
        v2_status["conditions"] = conditions
    converted = dict(autoscaler) | {"apiVersion": "autoscaling/v2", "spec": v2_spec, "status": v2_status}
    return _with_annotations(converted, {})


def _with_annotations(autoscaler: Object, added: dict[str, str]) -> Object:
    metadata = dict(autoscaler.get("metadata") or {})
    annotations = metadata.get("annotations") or {}
    kept = {name: value for name, value in annotations.items() if name not in _ROUND_TRIP} | added
    if kept:
        metadata["annotations"] = kept
    else:
        metadata.pop("annotations", None)
    return autoscaler | {"metadata": metadata}


def _read(annotations: dict[str, str], name: str, kind: type) -> Any:
    """The annotation's JSON; what is no JSON of the right kind counts as absent, as in Kubernetes."""
    try:
        value = json.loads(annotations.get(name, "null"))
    except ValueError:
        value = None
    return value if isinstance(value, kind) else kind()


def _lower_keys(value: Any) -> Any:
    """Go reads its own field names in any case; nulls are what was not set."""
    if isinstance(value, dict):
        return {name[0].lower() + name[1:]: _lower_keys(each) for name, each in value.items() if each is not None}
    return [_lower_keys(each) for each in value] if isinstance(value, list) else value


def _json(value: Any) -> str:
    """Compact JSON with the keys as they stand: v1's struct order."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{to_json(name)}:{_json(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    return to_json(value)


def _ordered(value: Object, *fields: str) -> Object:
    return {name: value[name] for name in fields if value.get(name) not in (None, "")}


def _cpu_metric(percent: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def _reference(value: Object | None) -> Object:
    value = value or {}
    return {"kind": value.get("kind", ""), "name": value.get("name", "")} | _ordered(value, "apiVersion")


def _object_to_v1(source: Object) -> Object:
    target, metric = source.get("target") or {}, source.get("metric") or {}
    return {
        "target": _reference(source.get("describedObject")),
        "metricName": metric.get("name", ""),
        "targetValue": target.get("value", "0"),
    } | _present(selector=metric.get("selector"), averageValue=target.get("averageValue"))


def _object_to_v2(source: Object) -> Object:
    average, value = source.get("averageValue"), source.get("targetValue", "0")
    if average is None:
        target = {"type": "Value", "value": value}
    else:
        target = {"type": "AverageValue"} | ({"value": value} if value not in ("0", 0) else {})
        target["averageValue"] = average
    return {
        "describedObject": _reference(source.get("target")),
        "target": target,
        "metric": {"name": source.get("metricName", "")} | _present(selector=source.get("selector")),
    }


def _pods_to_v1(source: Object) -> Object:
    target, metric = source.get("target") or {}, source.get("metric") or {}
    average = {"metricName": metric.get("name", ""), "targetAverageValue": target.get("averageValue", "0")}
    return average | _present(selector=metric.get("selector"))


def _pods_to_v2(source: Object) -> Object:
    return {
        "metric": {"name": source.get("metricName", "")} | _present(selector=source.get("selector")),
        "target": {"type": "AverageValue", "averageValue": source.get("targetAverageValue", "0")},
    }


def _resource_to_v1(source: Object) -> Object:
    target = source.get("target") or {}
    return {"name": source.get("name", "")} | _present(
        targetAverageUtilization=target.get("averageUtilization"),
        targetAverageValue=target.get("averageValue"),
        container=source.get("container"),
    )


def _resource_to_v2(source: Object) -> Object:
    utilization = source.get("targetAverageUtilization")
    target = {"type": "AverageValue" if utilization is None else "Utilization"} | _present(
        averageValue=source.get("targetAverageValue"), averageUtilization=utilization
    )
    return {"name": source.get("name", ""), "target": target} | _present(container=source.get("container"))


def _external_to_v1(source: Object) -> Object:
    target, metric = source.get("target") or {}, source.get("metric") or {}
    return {"metricName": metric.get("name", "")} | _present(
        metricSelector=metric.get("selector"),
        targetValue=target.get("value"),
        targetAverageValue=target.get("averageValue"),
    )


def _external_to_v2(source: Object) -> Object:
    value = source.get("targetValue")
    target = {"type": "AverageValue" if value is None else "Value"} | _present(
        value=value, averageValue=source.get("targetAverageValue")
    )
    return {
        "metric": {"name": source.get("metricName", "")} | _present(selector=source.get("metricSelector")),
        "target": target,
    }


_SOURCES_TO_V1: dict[str, Callable[[Object], Object]] = {
    "object": _object_to_v1, "pods": _pods_to_v1, "resource": _resource_to_v1,
    "containerResource": _resource_to_v1, "external": _external_to_v1,
}  # fmt: skip
_SOURCES_TO_V2: dict[str, Callable[[Object], Object]] = {
    "object": _object_to_v2, "pods": _pods_to_v2, "resource": _resource_to_v2,
    "containerResource": _resource_to_v2, "external": _external_to_v2,
}  # fmt: skip


def _converted(metric: Object, converters: dict[str, Callable[[Object], Object]]) -> Object:
    return {"type": metric.get("type", "")} | {
        name: convert(metric[name]) for name, convert in converters.items() if metric.get(name) is not None
    }


def _spec_to_v1(metric: Object) -> Object:
    return _converted(metric, _SOURCES_TO_V1)


def _spec_to_v2(metric: Object) -> Object:
    return _converted(metric, _SOURCES_TO_V2)


def _current_to_v1(name: str, source: Object) -> Object:
    current, metric = source.get("current") or {}, source.get("metric") or {}
    average = current.get("averageValue")
    if name == "object":
        return {
            "target": _reference(source.get("describedObject")),
            "metricName": metric.get("name", ""),
            "currentValue": current.get("value", "0"),
        } | _present(selector=metric.get("selector"), averageValue=average)
    if name == "pods":
        values = {"metricName": metric.get("name", ""), "currentAverageValue": average or "0"}
        return values | _present(selector=metric.get("selector"))
    if name == "external":
        selector = _present(metricSelector=metric.get("selector"))
        values = {"metricName": metric.get("name", "")} | selector
        return values | {"currentValue": current.get("value", "0")} | _present(currentAverageValue=average)
    values = {"name": source.get("name", "")}
    values |= _present(currentAverageUtilization=current.get("averageUtilization"))
    return values | {"currentAverageValue": average or "0"} | _present(container=source.get("container"))


def _current_to_v2(name: str, source: Object) -> Object:
    if name in ("resource", "containerResource"):
        current = _present(
            averageValue=source.get("currentAverageValue", "0"),
            averageUtilization=source.get("currentAverageUtilization"),
        )
        return {"name": source.get("name", ""), "current": current} | _present(container=source.get("container"))
    selector = source.get("metricSelector" if name == "external" else "selector")
    metric = {"name": source.get("metricName", "")} | _present(selector=selector)
    if name == "pods":
        return {"metric": metric, "current": {"averageValue": source.get("currentAverageValue", "0")}}
    average = source.get("currentAverageValue" if name == "external" else "averageValue")
    current = {"value": source.get("currentValue", "0")} | _present(averageValue=average)
    described = {"describedObject": _reference(source.get("target"))} if name == "object" else {}
    return {"metric": metric, "current": current} | described


def _status_to_v1(metric: Object) -> Object:
    return {"type": metric.get("type", "")} | {
        name: _current_to_v1(name, metric[name]) for name in _SOURCES_TO_V1 if metric.get(name) is not None
    }


def _status_to_v2(metric: Object) -> Object:
    return {"type": metric.get("type", "")} | {
        name: _current_to_v2(name, metric[name]) for name in _SOURCES_TO_V2 if metric.get(name) is not None
    }
