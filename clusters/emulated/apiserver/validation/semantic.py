"""Comparing two states of an object as Kubernetes does, and showing their difference in its words.

Equality is semantic: absent and empty lists and maps are the same, a missing field is its zero value, quantities
compare by amount. Types are named as in `clusters.kube.internal` ("core.PodSpec").
"""

from __future__ import annotations

import difflib
import json
from typing import Any

from clusters.kube.internal import tree
from clusters.kube.quantity import QuantityError, parse

# Internal fields that hold quantities, alone or as the values of a map.
_QUANTITIES = frozenset(("Limits", "Requests", "Overhead", "Capacity", "SizeLimit", "Divisor"))


def equal(type_name: str, one: Any, other: Any) -> bool:
    return one == other or _same(tree(type_name, one), tree(type_name, other), False)


def _same(one: Any, other: Any, quantities: bool) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            _same(value, other[name], quantities or name in _QUANTITIES) for name, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other, [quantities] * len(one)))
    if one == other:
        return True
    if quantities and isinstance(one, str) and isinstance(other, str):
        return same_quantity(one, other)
    return False


def same_quantity(one: str, other: str) -> bool:
    try:
        return parse(one) == parse(other)
    except QuantityError:
        return False


def diff(type_name: str, old: Any, new: Any) -> str:
    """The unified diff of the two as indented JSON: what follows "is immutable after creation"."""
    before, after = ([f"{line}\n" for line in _pretty(type_name, value)] for value in (old, new))
    # The first two lines would name files.
    return "".join(list(difflib.unified_diff(before, after, n=3))[2:])


def _pretty(type_name: str, value: Any) -> list[str]:
    text = json.dumps(tree(type_name, value, keep_empty=True), indent=1, ensure_ascii=False)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return text.split("\n")
