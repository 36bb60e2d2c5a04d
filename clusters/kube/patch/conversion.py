"""Wrong types after a strategic merge patch. The patched map is not decoded from JSON but converted field by
field, and that converter has words of its own.

    >>> problem(deployment, {"spec": {"replicas": "many"}})
    'unrecognized type: int32'
"""

from __future__ import annotations

from typing import Any

from clusters.kube.patch.errors import go_type
from clusters.kube.schema.model import ListType, MapType, Scalar, Struct, Type

_PLAIN = frozenset(("bool", "string", "int32", "int64", "float64"))


def problem(kind: Type, value: Any) -> str | None:
    """The converter's first complaint in field order, or None.

    Types with a text form of their own (quantities, times) are not checked: their decoders' words are the
    same on every way into an object.
    """
    if value is None:
        return None
    if isinstance(kind, Struct):
        if not isinstance(value, dict):
            return f"cannot restore struct from: {_kind(value)}"
        return _first(problem(field.type, value[name]) for name, field in kind.fields.items() if name in value)
    if isinstance(kind, ListType):
        if not isinstance(value, list):
            return f"cannot restore slice from {_kind(value)}"
        return _first(problem(kind.element, item) for item in value)
    if isinstance(kind, MapType):
        if not isinstance(value, dict):
            return f"cannot restore map from {_kind(value)}"
        return _first(problem(kind.element, value[key]) for key in sorted(value))
    return _scalar_problem(kind, value)


def _first(problems: Any) -> str | None:
    return next((each for each in problems if each is not None), None)


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "map"
    return "slice" if isinstance(value, list) else go_type(value)


def _scalar_problem(kind: Scalar, value: Any) -> str | None:
    if kind.kind == "bytes":
        return None if isinstance(value, (str, list)) else f"cannot restore slice from {_kind(value)}"
    if kind.kind not in _PLAIN:
        return None
    numeric = kind.kind in ("int32", "int64", "float64")
    if isinstance(value, bool):
        fits = kind.kind == "bool"
    elif isinstance(value, int):
        if kind.kind == "string":  # Go can convert an integer to a string (one rune), so it gets this far.
            return f"cannot convert int64 to {kind.go_name}"
        fits = numeric
    elif isinstance(value, float):
        if numeric and kind.kind != "float64" and not value.is_integer():
            return f"cannot convert float64 to {kind.go_name}"
        fits = numeric
    else:
        fits = isinstance(value, str) and kind.kind == "string"
    return None if fits else f"unrecognized type: {kind.kind}"
