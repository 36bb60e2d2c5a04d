"""Lists and sets: Kubernetes' isSorted, sum, min, max, indexOf; cel-go's slice, sort, distinct, sets.*"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from clusters.kube.cel import operators as ops
from clusters.kube.cel.declarations import Row
from clusters.kube.cel.errors import EvaluationError, no_such_overload
from clusters.kube.cel.values import Duration, Uint, compare, equal, type_of

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_ZEROS: Mapping[str, Any] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}


def _is_sorted(values: list[Any]) -> bool:
    for value in values:
        if type_of(value).kind not in _COMPARABLE:
            raise no_such_overload()
    return all(_compared(left, right) <= 0 for left, right in pairwise(values))


def _compared(left: Any, right: Any) -> int:
    try:
        return compare(left, right)
    except EvaluationError:
        # A pair that cannot be ordered is taken as in order.
        return 0


def _sum(kind: str) -> Any:
    zero = _ZEROS[kind]

    def total(values: list[Any]) -> Any:
        result = zero
        for value in values:
            result = ops.add(result, value)
        return result

    return total


def _extreme(name: str, wanted: int) -> Any:
    def pick(values: list[Any]) -> Any:
        if not values:
            raise EvaluationError(f"{name} called on empty list")
        result = values[0]
        for value in values[1:]:
            if compare(result, value) == wanted:
                result = value
        return result

    return pick


def _index_of(values: list[Any], item: Any) -> int:
    return next((index for index, value in enumerate(values) if equal(value, item)), -1)


def _last_index_of(values: list[Any], item: Any) -> int:
    return next((index for index in range(len(values) - 1, -1, -1) if equal(values[index], item)), -1)


def _slice(values: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(values) < end:
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(values)}")
    return list(values[start:end])


def _flatten(values: Any, depth: int = 1) -> list[Any]:
    if not isinstance(values, list):
        raise EvaluationError(f"no such overload: {type_of(values)}.flatten()")
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    out: list[Any] = []
    for value in values:
        if isinstance(value, list) and depth:
            out.extend(_flatten(value, depth - 1))
        else:
            out.append(value)
    return out


def _sort_by_keys(values: list[Any], keys: list[Any]) -> list[Any]:
    if len(values) != len(keys):
        raise EvaluationError(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got"
            f" {len(values)} and {len(keys)} elements respectively"
        )
    if not values:
        return values
    first = type_of(keys[0])
    if first.kind not in _COMPARABLE:
        raise EvaluationError("list elements must be comparable")
    if any(type_of(key) != first for key in keys):
        raise EvaluationError("list elements must have the same type")

    def by_key(a: int, b: int) -> int:
        return compare(keys[a], keys[b])

    order = sorted(range(len(values)), key=cmp_to_key(by_key))
    return [values[index] for index in order]


def _sort(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise ops.missing("sort", values)
    return _sort_by_keys(values, values)


def _distinct(values: list[Any]) -> list[Any]:
    out: list[Any] = []
    for value in values:
        if not any(equal(value, seen) for seen in out):
            out.append(value)
    return out


def _sets_contains(values: list[Any], part: list[Any]) -> bool:
    return all(any(equal(value, item) for value in values) for item in part)


def _sets_intersects(left: list[Any], right: list[Any]) -> bool:
    return any(any(equal(value, item) for item in right) for value in left)


def _sets_equivalent(left: list[Any], right: list[Any]) -> bool:
    return _sets_contains(left, right) and _sets_contains(right, left)


FUNCTIONS: Mapping[str, Sequence[Row]] = {
    "isSorted": [(f"list_{kind}_is_sorted_bool", f"list<{kind}>.(): bool", _is_sorted) for kind in _COMPARABLE],
    "sum": [(f"list_{kind}_sum_{kind}", f"list<{kind}>.(): {kind}", _sum(kind)) for kind in _ZEROS],
    "max": [(f"list_{kind}_max_{kind}", f"list<{kind}>.(): {kind}", _extreme("max", -1)) for kind in _COMPARABLE],
    "min": [(f"list_{kind}_min_{kind}", f"list<{kind}>.(): {kind}", _extreme("min", 1)) for kind in _COMPARABLE],
    "indexOf": [("list_a_index_of_int", "list<A>.(A): int", _index_of)],
    "lastIndexOf": [("list_a_last_index_of_int", "list<A>.(A): int", _last_index_of)],
    "slice": [("list_slice", "list<T>.(int, int): list<T>", _slice)],
    "flatten": [
        ("list_flatten", "list<list<T>>.(): list<T>", _flatten),
        ("list_flatten_int", "list<dyn>.(int): list<dyn>", _flatten),
    ],
    "sort": [(f"list_{kind}_sort", f"list<{kind}>.(): list<{kind}>", _sort) for kind in _COMPARABLE],
    "@sortByAssociatedKeys": [
        (f"list_{kind}_sortByAssociatedKeys", f"list<T>.(list<{kind}>): list<T>", _sort_by_keys) for kind in _COMPARABLE
    ],
    "lists.range": [("lists_range", "(int): list<int>", lambda count: list(range(count)))],
    "reverse": [("list_reverse", "list<T>.(): list<T>", lambda values: values[::-1])],
    "distinct": [("list_distinct", "list<T>.(): list<T>", _distinct)],
    "sets.contains": [("list_sets_contains_list", "(list<T>, list<T>): bool", _sets_contains)],
    "sets.equivalent": [("list_sets_equivalent_list", "(list<T>, list<T>): bool", _sets_equivalent)],
    "sets.intersects": [("list_sets_intersects_list", "(list<T>, list<T>): bool", _sets_intersects)],
}
