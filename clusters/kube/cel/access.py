"""Reading fields, keys and indexes of dynamic values: ``a.b``, ``a[b]``, ``a.?b``, ``has(a.b)``."""

from __future__ import annotations

from typing import Any

from clusters.kube.cel.errors import EvaluationError
from clusters.kube.cel.operators import checked_index, go_float
from clusters.kube.cel.values import ABSENT, NONE, Optional, find_key


def shown_key(key: Any) -> str:
    if key is True or key is False:
        return "true" if key else "false"
    return go_float(key) if type(key) is float else str(key)


def check_qualifier(key: Any) -> None:
    """A key read from a variable must be a scalar; the error names the Go type."""
    if key is None:
        raise EvaluationError("invalid qualifier type: <nil>")
    if isinstance(key, list):
        raise EvaluationError("invalid qualifier type: []interface {}")
    if isinstance(key, dict):
        raise EvaluationError("invalid qualifier type: map[string]interface {}")
    if type(key) is Optional:
        raise EvaluationError("invalid qualifier type: *types.Optional")


def lookup(value: Any, key: Any) -> Any:
    """What is under ``key``, or ABSENT; raises only for keys that can never fit."""
    own = getattr(value, "cel_lookup", None)
    if own is not None:
        return own(key)
    if isinstance(value, dict):
        return find_key(value, key)
    if isinstance(value, list):
        index = checked_index(key)
        return value[index] if 0 <= index < len(value) else ABSENT
    return ABSENT


def select(value: Any, field: str) -> Any:
    """``value.field`` for what is not a plain dict with that key."""
    return index(value, field)


def index(value: Any, key: Any) -> Any:
    """``value[key]``, or its error; on an optional, an optional."""
    if type(value) is Optional:
        return optional_index(value, key)
    found = lookup(value, key)
    if found is ABSENT:
        kind = "index out of bounds" if isinstance(value, list) else "no such key"
        raise EvaluationError(f"{kind}: {shown_key(key)}")
    return found


def optional_index(value: Any, key: Any) -> Optional:
    """``value[?key]`` and everything selected from an optional."""
    if type(value) is Optional:
        if value is NONE:
            return NONE
        value = value.value
    found = lookup(value, key)
    return NONE if found is ABSENT else Optional(found)


def present(value: Any, field: str) -> bool:
    """``has(value.field)``: false, not an error, on values that have no fields."""
    if type(value) is dict:
        return field in value
    if type(value) is Optional:
        return optional_index(value, field) is not NONE
    tester = getattr(value, "cel_has", None)
    if tester is not None:
        return bool(tester(field))
    return lookup(value, field) is not ABSENT
