"""Checks of single values that many kinds share: numbers, percentages, equality, immutability.

Each returns the list of field errors, empty when all is well, so that callers can add them up in Kubernetes' order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from clusters.kube import names
from clusters.kube.field import FieldError, child, invalid, required
from clusters.kube.internal import printed

# API fields that are Go maps: an empty one is the same as none. Other empty objects (emptyDir: {}) say something.
_MAPS = frozenset(
    (
        "labels", "annotations", "matchLabels", "nodeSelector", "data", "binaryData", "stringData", "parameters",
        "limits", "requests", "capacity", "allocatable", "overhead", "attributes", "volumeAttributes", "extra",
    )
)  # fmt: skip
NOT_NEGATIVE = "must be greater than or equal to 0"


def nonnegative(value: int | None, path: str) -> list[FieldError]:
    return [invalid(path, value, NOT_NEGATIVE)] if value is not None and value < 0 else []


def nonnegative_fields(value: dict[str, Any], path: str, *fields: str) -> list[FieldError]:
    return [invalid(child(path, name), value[name], NOT_NEGATIVE) for name in fields if (value.get(name) or 0) < 0]


def named(path: str, value: str, check: Callable[[str], Iterable[str]]) -> list[FieldError]:
    """One `Invalid value` per text that `check` has about `value`."""
    return [invalid(path, value, text) for text in check(value)]


def required_named(path: str, value: str | None, check: Callable[[str], Iterable[str]]) -> list[FieldError]:
    return named(path, value, check) if value else [required(path)]


def positive_int_or_percent(value: int | str, path: str) -> list[FieldError]:
    if isinstance(value, str):
        return named(path, value, names.percent)
    return nonnegative(value, path)


def _percentage(value: int | str) -> int | None:
    return int(value[:-1]) if isinstance(value, str) and not names.percent(value) else None


def int_or_percent_value(value: int | str) -> int:
    """The number before the percent sign, or the number; a text that is neither counts as 0."""
    if isinstance(value, int):
        return value
    share = _percentage(value)
    if share is not None:
        return share
    return int(value) if value.lstrip("+-").isdigit() else 0


def at_most_100_percent(value: int | str, path: str) -> list[FieldError]:
    share = _percentage(value)
    return [] if share is None or share <= 100 else [invalid(path, value, "must not be greater than 100%")]


def equal(one: Any, other: Any) -> bool:
    """Semantic equality: what is not set, an empty list and an empty map are the same."""
    if one == other:
        return type(one) is not bool or type(other) is bool
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_equal_field(name, one.get(name), other.get(name)) for name in one.keys() | other.keys())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(equal(*pair) for pair in zip(one, other, strict=True))
    return not one and not other and isinstance(one, list | None) and isinstance(other, list | None)


def _equal_field(name: str, one: Any, other: Any) -> bool:
    if name in _MAPS and not one and not other:
        return True
    return equal(one, other)


def unchanged(new: Any, old: Any, path: str, type_name: str = "") -> list[FieldError]:
    """`field is immutable`. `type_name` is the internal Go type to print the new value as."""
    if equal(new, old):
        return []
    return [invalid(path, printed(type_name, new) if type_name else new, "field is immutable")]


def decremented(new: int | None, old: int | None) -> bool:
    if new is None:
        return old is not None
    return old is not None and new < old


def collision_count_kept(status: dict[str, Any], old_status: dict[str, Any]) -> list[FieldError]:
    count = status.get("collisionCount")
    if not decremented(count, old_status.get("collisionCount")):
        return []
    return [invalid("status.collisionCount", count or 0, "cannot be decremented")]
