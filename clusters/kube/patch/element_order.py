"""The order of a merged list: the patch's own elements in its order, the object's others where they stood.

>>> in_order(["b", "a"], ["x"], ["a", "b"], ["a", "x", "b"], "", str)
['a', 'x', 'b']
"""

from __future__ import annotations

from functools import cmp_to_key
from typing import Any

from clusters.kube.patch.errors import PatchError, go_type, go_value


def elements_kind(*lists: list[Any]) -> type:
    """The one type that all elements have; lists of lists and mixed lists are refused."""
    kind: type | None = None
    for items in lists:
        for item in items:
            if kind is None:
                kind = type(item)
                if kind is list:
                    raise PatchError("lists of lists are not supported", "unprocessable")
            elif type(item) is not kind:
                text = f"list element types are not identical: {go_value(list(lists))}"
                raise PatchError(text, "internal")
    if kind is None:
        raise PatchError("no elements in any of the given slices", "internal")
    return kind


def partition_by(items: list[Any], reference: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Elements that the reference has, and those that it does not have."""
    mine: list[Any] = []
    others: list[Any] = []
    for item in items:
        if merge_key:
            if not isinstance(item, dict):
                text = f"expected a map[string]interface {{}}, but received a {go_type(item)}"
                raise PatchError(text, "internal")
            _require(item, merge_key)
            known = any(_key_of(each, merge_key) == item[merge_key] for each in reference)
        else:
            known = item in reference
        (mine if known else others).append(item)
    return mine, others


def in_order(
    mine: list[Any], others: list[Any], my_order: list[Any], live_order: list[Any], merge_key: str, kind: type
) -> list[Any]:
    """`mine` sorted by `my_order`, `others` by `live_order`, then zipped by where the live list has them."""
    left = _sorted_by(others, live_order, merge_key, kind)
    right = _sorted_by(mine, my_order, merge_key, kind)
    result: list[Any] = []
    at_left, at_right = 0, 0
    while at_left < len(left) and at_right < len(right):
        place_left = _place(live_order, left[at_left], merge_key, kind)
        place_right = _place(live_order, right[at_right], merge_key, kind)
        if 0 <= place_left < place_right:
            result.append(left[at_left])
            at_left += 1
        else:
            result.append(right[at_right])
            at_right += 1
    return result + left[at_left:] + right[at_right:]


def _sorted_by(items: list[Any], order: list[Any], merge_key: str, kind: type) -> list[Any]:
    if kind is dict:
        for each in (*items, *order):
            _require(each, merge_key)

    def compare(left: Any, right: Any) -> int:
        place_left = _place(order, left, merge_key, kind)
        place_right = _place(order, right, merge_key, kind)
        return place_left - place_right if place_left >= 0 and place_right >= 0 else 0

    return sorted(items, key=cmp_to_key(compare))


def _place(items: list[Any], item: Any, merge_key: str, kind: type) -> int:
    for place, each in enumerate(items):
        if kind is dict:
            if isinstance(each, dict) and each.get(merge_key) == item.get(merge_key):
                return place
        elif each == item:
            return place
    return -1


def _key_of(item: Any, merge_key: str) -> Any:
    return item.get(merge_key) if isinstance(item, dict) else None


def _require(item: Any, merge_key: str) -> None:
    if not isinstance(item, dict):
        text = f"expected a map[string]interface {{}}, but received a {go_type(item)}"
        raise PatchError(text, "internal")
    if merge_key not in item:
        text = f"map: {go_value(item)} does not contain declared merge key: {merge_key}"
        raise PatchError(text, "internal")
