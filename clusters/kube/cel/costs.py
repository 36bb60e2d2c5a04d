"""What calls cost at run time, in cel-go's units: fixed, or a function of the arguments' sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any

from clusters.kube.cel.values import Opaque, size_of

LIST_COST, MAP_COST, STRUCT_COST = 10, 30, 40
STRING_FACTOR = 0.1
REGEX_FACTOR = 0.25

Cost = int | Callable[[Sequence[Any], Any], int]


def _traversal(factor: float = STRING_FACTOR) -> Cost:
    return lambda args, result: ceil(size_of(args[0]) * factor)


def _smaller(args: Sequence[Any], result: Any) -> int:
    left, right = args
    if isinstance(left, Opaque):
        return 1
    return ceil(min(size_of(left), size_of(right)) * STRING_FACTOR)


def _both(args: Sequence[Any], result: Any) -> int:
    return ceil((size_of(args[0]) + size_of(args[1])) * STRING_FACTOR)


def _regex(args: Sequence[Any], result: Any) -> int:
    return ceil((1.0 + size_of(args[0])) * STRING_FACTOR) * ceil(size_of(args[1]) * REGEX_FACTOR)


def _contains(args: Sequence[Any], result: Any) -> int:
    return ceil(size_of(args[0]) * STRING_FACTOR) * ceil(size_of(args[1]) * STRING_FACTOR)


def _elements(args: Sequence[Any], result: Any) -> int:
    return size_of(args[1])


def _walk(args: Sequence[Any], result: Any) -> int:
    return _walk_value(args[0])


def _walk_value(value: Any) -> int:
    if isinstance(value, (str, bytes)):
        return int(len(value) * STRING_FACTOR)
    if isinstance(value, list):
        return sum(_walk_value(each) for each in value)
    if isinstance(value, dict):
        return sum(_walk_value(key) + _walk_value(each) for key, each in value.items())
    return 1


def _join(args: Sequence[Any], result: Any) -> int:
    return ceil(size_of(result) * 2 * STRING_FACTOR)


def _selector(args: Sequence[Any], result: Any) -> int:
    length = size_of(args[1])
    return LIST_COST + ceil(length * STRING_FACTOR) + ceil(ceil(length * 0.5) * float(LIST_COST + STRUCT_COST))


def _contains_ip(args: Sequence[Any], result: Any) -> int:
    cost = ceil(2 * size_of(args[0]) * STRING_FACTOR)
    return cost + ceil(size_of(args[1]) * STRING_FACTOR) if isinstance(args[1], str) else cost


def _contains_cidr(args: Sequence[Any], result: Any) -> int:
    cost = ceil(2 * size_of(args[0]) * STRING_FACTOR) + ceil(size_of(args[0]) * STRING_FACTOR) + 1
    return cost + ceil(size_of(args[1]) * STRING_FACTOR) if isinstance(args[1], str) else cost


def _ip(args: Sequence[Any], result: Any) -> int:
    return ceil(size_of(args[0]) * STRING_FACTOR) if isinstance(args[0], str) else 1


def _validate(args: Sequence[Any], result: Any) -> int:
    regex = getattr(args[0], "max_regex_size", 1)
    return ceil((1.0 + size_of(args[1])) * STRING_FACTOR) * ceil(regex * REGEX_FACTOR)


def _allocated(size: int, factor: float = 1.0) -> int:
    return int(size * factor) + 1 + LIST_COST


def _self_compared(values: list[Any]) -> int:
    factor = 2.0 + (STRING_FACTOR if values and isinstance(values[0], (str, bytes)) else 0.0)
    return _allocated(len(values) ** 2, factor)


def _sets(factor: int) -> Cost:
    return lambda args, result: 1 + len(args[0]) * len(args[1]) * factor


# cel-go's list and set extensions bring their own trackers, which come first ...
EXTENSIONS: Mapping[str, Cost] = {
    **dict.fromkeys(("slice", "lists.range", "reverse"), lambda args, result: _allocated(len(result))),
    "flatten": lambda args, result: _allocated(len(args[0]), float(args[1]) if len(args) > 1 else 1.0),
    "distinct": lambda args, result: _self_compared(args[0]),
    "sort": lambda args, result: _self_compared(args[0]),
    "@sortByAssociatedKeys": lambda args, result: _self_compared(args[1]),
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
}

# ... then Kubernetes' own estimator, which looks at the function's name ...
BY_FUNCTION: Mapping[str, Cost] = {
    "check": 350000,
    "fieldSelector": _selector,
    "labelSelector": _selector,
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _walk),
    **dict.fromkeys(
        ("url", "lowerAscii", "upperAscii", "substring", "trim", "jsonpatch.escapeKey", "cidr", "isIP", "isCIDR",
         "quantity", "isQuantity", "semver", "isSemver"),
        _traversal(),
    ),
    "replace": _traversal(2 * STRING_FACTOR),
    "split": _traversal(2 * STRING_FACTOR),
    "ip.isCanonical": _traversal(2 * STRING_FACTOR),
    "join": _join,
    "find": _regex,
    "findAll": _regex,
    "ip": _ip,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
}  # fmt: skip

# ... then cel-go at the one overload that the checker found.
BY_OVERLOAD: Mapping[str, Cost] = {
    **dict.fromkeys(
        ("starts_with_string", "ends_with_string", "string_to_bytes", "bytes_to_string", "string_format",
         "strings_quote"),
        _traversal(),
    ),
    "in_list": _elements,
    **dict.fromkeys(
        ("less_string", "greater_string", "less_equals_string", "greater_equals_string", "less_bytes",
         "greater_bytes", "less_equals_bytes", "greater_equals_bytes", "equals", "not_equals"),
        _smaller,
    ),
    "add_string": _both,
    "add_bytes": _both,
    "matches_string": _regex,
    "contains_string": _contains,
}  # fmt: skip


def cost_of(function: str, overloads: Sequence[str]) -> Cost:
    """The rule for a call; 1 when nothing better is known."""
    found = EXTENSIONS.get(function) if len(overloads) == 1 else None
    if found is None:
        found = BY_FUNCTION.get(function)
    if found is not None:
        return found
    return BY_OVERLOAD.get(overloads[0], 1) if len(overloads) == 1 else 1
