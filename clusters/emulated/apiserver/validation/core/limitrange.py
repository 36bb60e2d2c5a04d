"""The LimitRange kind."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.metadata import validate_metadata
from clusters.emulated.apiserver.validation.pod.defaults import default_resource_list
from clusters.emulated.apiserver.validation.pod.resources import (
    amount,
    container_resource_name_errors,
    overcommit_allowed,
    resource_name_errors,
)
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, child, duplicate, forbidden, index, invalid, key, required
from clusters.kube.quantity import Quantity

_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_LISTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_MILLI_MAX = ((1 << 63) - 1) // 1000
_ONE = Quantity(1)


class LimitRangeRules(KindRules):
    kind = "LimitRange"
    allow_create_on_update = True
    validates_metadata = True

    def default(self, obj: Object) -> None:
        for limit in obj.setdefault("spec", {}).get("limits") or ():
            if limit.get("type") == "Container":
                # The maximum is the default limit; the default limit, or else the minimum, the default request.
                default = dict(limit.get("default") or {})
                request = dict(limit.get("defaultRequest") or {})
                for name, text in (limit.get("max") or {}).items():
                    default.setdefault(name, text)
                for name, text in [*default.items(), *(limit.get("min") or {}).items()]:
                    request.setdefault(name, text)
                for field, amounts in (("default", default), ("defaultRequest", request)):
                    if amounts:
                        limit[field] = amounts
            for field in _LISTS:
                default_resource_list(limit.get(field))

    def validate_create(self, obj: Object) -> list[FieldError]:
        errors = validate_metadata(obj, True, self.validate_name)
        seen: set[str] = set()
        for position, limit in enumerate((obj.get("spec") or {}).get("limits") or ()):
            at, kind = index("spec.limits", position), limit.get("type", "")
            errors += _type_errors(kind, child(at, "type"))
            if kind in seen:
                errors.append(duplicate(child(at, "type"), kind))
            seen.add(kind)
            errors += _limit_errors(limit, kind, at)
        return errors


def _type_errors(kind: str, path: str) -> list[FieldError]:
    errors = [invalid(path, kind, text) for text in names.qualified_name(kind)]
    if not errors and "/" not in kind and kind not in _TYPES:
        errors.append(invalid(path, kind, "must be a standard limit type or fully qualified"))
    return errors


def _names(limit: Object, field: str, kind: str, path: str) -> list[FieldError]:
    rule = container_resource_name_errors if kind in ("Pod", "Container") else resource_name_errors
    return [error for name in limit.get(field) or {} for error in rule(name, key(child(path, field), name))]


def _limit_errors(limit: Object, kind: str, path: str) -> list[FieldError]:
    errors = _names(limit, "max", kind, path) + _names(limit, "min", kind, path)
    fields = ["max", "min", "maxLimitRequestRatio"]
    if kind == "Pod":
        errors += [
            forbidden(child(path, field), "may not be specified when `type` is 'Pod'")
            for field in ("default", "defaultRequest")
            if limit.get(field)
        ]
    else:
        fields += ["default", "defaultRequest"]
        errors += _names(limit, "default", kind, path) + _names(limit, "defaultRequest", kind, path)
    if kind == "PersistentVolumeClaim" and not any("storage" in (limit.get(field) or {}) for field in ("min", "max")):
        text = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(required(child(path, "limits"), text))
    errors += _names(limit, "maxLimitRequestRatio", kind, path)
    keys = dict.fromkeys(name for field in fields for name in limit.get(field) or {})
    for name in keys:
        found = {field: amount(limit[field][name]) for field in fields if name in (limit.get(field) or {})}
        errors += _order_errors(found, name, path)
    return errors


_PAIRS = (
    ("min", "max", "min", "min", "min value {} is greater than max value {}"),
    (
        "min", "defaultRequest", "defaultRequest", "defaultRequest",
        "min value {} is greater than default request value {}",
    ),
    (
        "defaultRequest", "max", "defaultRequest", "defaultRequest",
        "default request value {} is greater than max value {}",
    ),
    (
        "defaultRequest", "default", "defaultRequest", "defaultRequest",
        "default request value {} is greater than default limit value {}",
    ),
    ("min", "default", "default", "min", "min value {} is greater than default value {}"),
    ("default", "max", "default", "max", "default value {} is greater than max value {}"),
)  # fmt: skip


def _order_errors(found: dict[str, Quantity], name: str, path: str) -> list[FieldError]:
    """Smaller, greater, the field named, the value shown, the words."""
    errors: list[FieldError] = []
    for small, great, field, shown, text in _PAIRS:
        if small in found and great in found and found[small] > found[great]:
            detail = text.format(found[small], found[great])
            errors.append(invalid(key(child(path, field), name), str(found[shown]), detail))
    ratio, at = found.get("maxLimitRequestRatio"), key(child(path, "maxLimitRequestRatio"), name)
    if ratio is not None and ratio < _ONE:
        errors.append(invalid(at, str(ratio), f"ratio {ratio} is less than 1"))
    if ratio is not None and "min" in found and "max" in found:
        errors += _ratio_errors(ratio, found["min"], found["max"], at)
    request, default = found.get("defaultRequest"), found.get("default")
    if not overcommit_allowed(name) and default is not None and request is not None and default != request:
        detail = f"default value {default} must equal to defaultRequest value {request} in {name}"
        errors.append(invalid(key(child(path, "defaultRequest"), name), str(request), detail))
    return errors


def _ratio_errors(ratio: Quantity, small: Quantity, great: Quantity, path: str) -> list[FieldError]:
    value, low, high = float(ratio.value()), small.value(), great.value()
    if max(ratio.value(), low, high) < _MILLI_MAX:
        value, low, high = ratio.milli_value() / 1000, small.milli_value(), great.milli_value()
    bound = high / low if low else float("inf")
    if value <= bound:
        return []
    return [invalid(path, str(ratio), f"ratio {ratio} is greater than max/min = {bound:f}")]
