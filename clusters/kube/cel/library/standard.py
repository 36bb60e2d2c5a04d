"""The standard functions and operators of CEL; the operators' implementations are in the planner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.kube.cel.declarations import Row
from clusters.kube.cel.errors import EvaluationError, no_such_overload
from clusters.kube.cel.library import conversions as c
from clusters.kube.cel.library import times
from clusters.kube.cel.operators import missing
from clusters.kube.cel.regex import compile_re2
from clusters.kube.cel.values import NONE, Optional, is_zero, type_of


def _same(value: Any) -> Any:
    return value


def _size(value: Any) -> int:
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    raise missing("size", value)


def _string_pair(value: Any, other: Any) -> None:
    if type(value) is not str or type(other) is not str:
        raise no_such_overload()


def _contains(value: Any, part: Any) -> bool:
    _string_pair(value, part)
    return part in value


def _starts_with(value: Any, prefix: Any) -> bool:
    _string_pair(value, prefix)
    return bool(value.startswith(prefix))


def _ends_with(value: Any, suffix: Any) -> bool:
    _string_pair(value, suffix)
    return bool(value.endswith(suffix))


def _matches(value: Any, pattern: Any) -> bool:
    _string_pair(value, pattern)
    return compile_re2(pattern).search(value) is not None


def _not_strictly_false(value: Any) -> bool:
    return value is not False


def _optional_value(optional: Optional) -> Any:
    if optional is NONE:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _unwrap(values: list[Any]) -> list[Any]:
    for value in values:
        if type(value) is not Optional:
            raise EvaluationError(f"value {value} is not optional")
    return [value.value for value in values if value is not NONE]


def _comparisons(name: str) -> Sequence[Row]:
    numbers = ("int", "uint", "double")
    suffixes = {"int": "int64", "uint": "uint64", "double": "double"}
    rows: list[Row] = [(f"{name}_bool", "(bool, bool): bool", None)]
    for left in numbers:
        for right in numbers:
            tail = suffixes[left] if left == right else f"{suffixes[left]}_{suffixes[right]}"
            rows.append((f"{name}_{tail}", f"({left}, {right}): bool", None))
    rows += [
        (f"{name}_{each}", f"({each}, {each}): bool", None) for each in ("string", "bytes", "timestamp", "duration")
    ]
    return rows


def _arithmetic(name: str, *kinds: str) -> Sequence[Row]:
    suffixes = {"int": "int64", "uint": "uint64"}
    return [(f"{name}_{suffixes.get(kind, kind)}", f"({kind}, {kind}): {kind}", None) for kind in kinds]


FUNCTIONS: Mapping[str, Sequence[Row]] = {
    "_?_:_": [("conditional", "(bool, A, A): A", None)],
    "_&&_": [("logical_and", "(bool, bool): bool", None)],
    "_||_": [("logical_or", "(bool, bool): bool", None)],
    "!_": [("logical_not", "(bool): bool", None)],
    "@not_strictly_false": [("not_strictly_false", "(bool): bool", _not_strictly_false)],
    "_==_": [("equals", "(A, A): bool", None)],
    "_!=_": [("not_equals", "(A, A): bool", None)],
    "_+_": [
        *_arithmetic("add", "bytes", "double"),
        ("add_duration_duration", "(duration, duration): duration", None),
        ("add_duration_timestamp", "(duration, timestamp): timestamp", None),
        ("add_timestamp_duration", "(timestamp, duration): timestamp", None),
        *_arithmetic("add", "int"),
        ("add_list", "(list<A>, list<A>): list<A>", None),
        *_arithmetic("add", "string", "uint"),
    ],
    "_-_": [
        *_arithmetic("subtract", "double"),
        ("subtract_duration_duration", "(duration, duration): duration", None),
        *_arithmetic("subtract", "int"),
        ("subtract_timestamp_duration", "(timestamp, duration): timestamp", None),
        ("subtract_timestamp_timestamp", "(timestamp, timestamp): duration", None),
        *_arithmetic("subtract", "uint"),
    ],
    "_*_": _arithmetic("multiply", "double", "int", "uint"),
    "_/_": _arithmetic("divide", "double", "int", "uint"),
    "_%_": _arithmetic("modulo", "int", "uint"),
    "-_": [("negate_double", "(double): double", None), ("negate_int64", "(int): int", None)],
    "_<_": _comparisons("less"),
    "_<=_": _comparisons("less_equals"),
    "_>_": _comparisons("greater"),
    "_>=_": _comparisons("greater_equals"),
    "@in": [("in_list", "(A, list<A>): bool", None), ("in_map", "(A, map<A, B>): bool", None)],
    "_[_]": [
        ("index_list", "(list<A>, int): A", None),
        ("index_map", "(map<A, B>, A): B", None),
        ("optional_list_index_int", "(optional<list<V>>, int): optional<V>", None),
        ("optional_map_index_value", "(optional<map<K, V>>, K): optional<V>", None),
    ],
    "_[?_]": [
        ("list_optindex_optional_int", "(list<V>, int): optional<V>", None),
        ("optional_list_optindex_optional_int", "(optional<list<V>>, int): optional<V>", None),
        ("map_optindex_optional_value", "(map<K, V>, K): optional<V>", None),
        ("optional_map_optindex_optional_value", "(optional<map<K, V>>, K): optional<V>", None),
    ],
    "size": [
        ("size_bytes", "(bytes): int", _size), ("bytes_size", "bytes.(): int", _size),
        ("size_list", "(list<A>): int", _size), ("list_size", "list<A>.(): int", _size),
        ("size_map", "(map<A, B>): int", _size), ("map_size", "map<A, B>.(): int", _size),
        ("size_string", "(string): int", _size), ("string_size", "string.(): int", _size),
    ],
    "type": [("type", "(A): type<A>", type_of)],
    "dyn": [("to_dyn", "(A): dyn", _same)],
    "bool": [("bool_to_bool", "(bool): bool", _same), ("string_to_bool", "(string): bool", c.string_to_bool)],
    "bytes": [("bytes_to_bytes", "(bytes): bytes", _same), ("string_to_bytes", "(string): bytes", c.string_to_bytes)],
    "double": [
        ("double_to_double", "(double): double", _same), ("int64_to_double", "(int): double", float),
        ("string_to_double", "(string): double", c.string_to_double),
        ("uint64_to_double", "(uint): double", float),
    ],
    "duration": [
        ("duration_to_duration", "(duration): duration", _same),
        ("int64_to_duration", "(int): duration", c.int_to_duration),
        ("string_to_duration", "(string): duration", c.string_to_duration),
    ],
    "int": [
        ("int64_to_int64", "(int): int", _same), ("double_to_int64", "(double): int", c.double_to_int),
        ("duration_to_int64", "(duration): int", c.duration_to_int),
        ("string_to_int64", "(string): int", c.string_to_int),
        ("timestamp_to_int64", "(timestamp): int", c.timestamp_to_int),
        ("uint64_to_int64", "(uint): int", c.uint_to_int),
    ],
    "string": [
        ("string_to_string", "(string): string", _same),
        ("bool_to_string", "(bool): string", c.bool_to_string),
        ("bytes_to_string", "(bytes): string", c.bytes_to_string),
        ("double_to_string", "(double): string", c.double_to_string),
        ("duration_to_string", "(duration): string", c.duration_to_string),
        ("int64_to_string", "(int): string", str),
        ("timestamp_to_string", "(timestamp): string", c.timestamp_to_string),
        ("uint64_to_string", "(uint): string", str),
    ],
    "timestamp": [
        ("timestamp_to_timestamp", "(timestamp): timestamp", _same),
        ("int64_to_timestamp", "(int): timestamp", c.int_to_timestamp),
        ("string_to_timestamp", "(string): timestamp", c.string_to_timestamp),
    ],
    "uint": [
        ("uint64_to_uint64", "(uint): uint", _same), ("double_to_uint64", "(double): uint", c.double_to_uint),
        ("int64_to_uint64", "(int): uint", c.int_to_uint),
        ("string_to_uint64", "(string): uint", c.string_to_uint),
    ],
    "contains": [("contains_string", "string.(string): bool", _contains)],
    "endsWith": [("ends_with_string", "string.(string): bool", _ends_with)],
    "startsWith": [("starts_with_string", "string.(string): bool", _starts_with)],
    "matches": [("matches", "(string, string): bool", _matches), ("matches_string", "string.(string): bool", _matches)],
    **times.FUNCTIONS,
    # Optional types.
    "optional.of": [("optional_of", "(V): optional<V>", Optional)],
    "optional.ofNonZeroValue": [
        ("optional_ofNonZeroValue", "(V): optional<V>", lambda value: NONE if is_zero(value) else Optional(value))
    ],
    "optional.none": [("optional_none", "(): optional<V>", lambda: NONE)],
    "optional.unwrap": [("optional_unwrap", "(list<optional<V>>): list<V>", _unwrap)],
    "unwrapOpt": [("optional_unwrapOpt", "list<optional<V>>.(): list<V>", _unwrap)],
    "value": [("optional_value", "optional<V>.(): V", _optional_value)],
    "hasValue": [("optional_hasValue", "optional<V>.(): bool", lambda optional: optional is not NONE)],
    "or": [("optional_or_optional", "optional<V>.(optional<V>): optional<V>", None)],
    "orValue": [("optional_orValue_value", "optional<V>.(V): V", None)],
    "first": [("list_first", "list<V>.(): optional<V>", lambda values: Optional(values[0]) if values else NONE)],
    "last": [("list_last", "list<V>.(): optional<V>", lambda values: Optional(values[-1]) if values else NONE)],
    "cel.@mapInsert": [
        ("@mapInsert_map_key_value", "(map<K, V>, K, V): map<K, V>", None),
        ("@mapInsert_map_map", "(map<K, V>, map<K, V>): map<K, V>", None),
    ],
}  # fmt: skip
