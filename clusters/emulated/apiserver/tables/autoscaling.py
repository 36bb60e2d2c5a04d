"""The row of a HorizontalPodAutoscaler, from its autoscaling/v2 form: what it measures, against which target."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.tables.texts import NONE, UNSET, age, name_of

Object = dict[str, Any]
Cells = list[Any]

_SHOWN_MAX = 2
_UNKNOWN = "<unknown>"


def horizontal_pod_autoscaler(obj: Object, now_s: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    return [
        name_of(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metrics(spec.get("metrics") or (), status.get("currentMetrics") or ()),
        str(spec["minReplicas"]) if spec.get("minReplicas") is not None else UNSET,
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age(obj, now_s),
    ]


def _metrics(specs: Any, statuses: Any) -> str:
    if not specs:
        return NONE
    shown = [
        _metric(spec, statuses[position] if position < len(statuses) else {}) for position, spec in enumerate(specs)
    ]
    text = ", ".join(shown[:_SHOWN_MAX])
    return f"{text} + {len(shown) - _SHOWN_MAX} more..." if len(shown) > _SHOWN_MAX else text


_SOURCES = {
    "External": "external", "Pods": "pods", "Object": "object", "Resource": "resource",
    "ContainerResource": "containerResource",
}  # fmt: skip


def _metric(spec: Object, status: Object) -> str:
    kind = spec.get("type", "")
    source = _SOURCES.get(kind)
    if source is None:
        return "<unknown type>"
    wanted = spec.get(source) or {}
    target = wanted.get("target") or {}
    current = (status.get(source) or {}).get("current")
    if kind == "Pods":
        return f"{_value(current, 'averageValue')}/{target.get('averageValue', '0')}"
    if kind in ("Resource", "ContainerResource"):
        name = wanted.get("name", "")
        if "averageValue" in target:
            return f"{name}: {_value(current, 'averageValue')}/{target['averageValue']}"
        usage, share = (current or {}).get("averageUtilization"), target.get("averageUtilization")
        return f"{name}: {_percent(usage, _UNKNOWN)}/{_percent(share, '<auto>')}"
    if "averageValue" in target:
        average = (current or {}).get("averageValue", _UNKNOWN)
        return f"{average}/{target['averageValue']} (avg)"
    return f"{_value(current, 'value')}/{target.get('value', '0')}"


def _value(current: Object | None, name: str) -> str:
    return _UNKNOWN if current is None else str(current.get(name, "0"))


def _percent(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value}%"


CELLS = {("autoscaling", "HorizontalPodAutoscaler"): horizontal_pod_autoscaler}
