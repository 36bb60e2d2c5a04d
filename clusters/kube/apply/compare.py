"""What changed between two values of one type: three field sets, added, modified and removed.

This is on the way of every write, so it asks the cheap question first (are they equal?) and goes down only
where they are not.

    >>> compare(config_map, {"data": {"a": "1"}}, {"data": {"a": "2", "b": "1"}})
    ({'f:data': {'f:b': {}}}, {'f:data': {'f:a': {}}}, None)
"""

from __future__ import annotations

from typing import Any, TypeAlias

from clusters.kube.apply.elements import key_element, value_element
from clusters.kube.apply.fieldset import FieldSet, in_order
from clusters.kube.apply.types import ListFace, MapFace, Type

#: Nodes of (added, modified, removed); None where there is nothing. No difference at all is None itself.
Difference: TypeAlias = tuple[FieldSet | None, FieldSet | None, FieldSet | None]

_MODIFIED: Difference = (None, {}, None)


class UntypableError(ValueError):
    """A list element that cannot be told apart from others; the text is what Kubernetes says about it."""


def element_of(face: ListFace, item: Any) -> str:
    """The path element of an item of an associative list."""
    keys = face.keys
    if not keys:
        if isinstance(item, (dict, list)) or item is None:
            raise UntypableError(_bad_set_item(item))
        return value_element(item)
    if not isinstance(item, dict):
        what = "a null element" if item is None else "non-map elements"
        raise UntypableError(f"associative list with keys may not have {what}")
    pairs = []
    for key in keys:
        if key in item:
            pairs.append((key, item[key]))
        elif key in face.key_defaults:
            pairs.append((key, face.key_defaults[key]))
    if not pairs:
        names = " ".join(f'"{key}"' for key in keys)
        raise UntypableError(
            f"associative list with keys has an element that omits all key fields [{names}] "
            "(and doesn't have default values for any key fields)"
        )
    return key_element(pairs)


def _bad_set_item(item: Any) -> str:
    if item is None:
        return "associative list without keys has an element that's an explicit null"
    if isinstance(item, list):
        return "not supported: associative list with lists as elements"
    return "associative list without keys has an element that's a map type"


def whole(kind: Type, value: Any) -> FieldSet:
    """The node of a value that is new, or gone: it and everything in it."""
    if isinstance(value, dict):
        face = kind.map
        return {} if face is None or face.atomic else _whole_map(face, value)
    if isinstance(value, list):
        items = kind.list
        return {} if items is None or items.atomic else _whole_list(items, value)
    return {}


def _whole_map(face: MapFace, value: dict[str, Any]) -> FieldSet:
    if face.zeros:
        value = {**face.zeros, **value}
    if not value:
        return {}
    node: FieldSet = {".": {}}
    known = face.fields
    for name in sorted(value):
        if not value[name] and face.omits(name, value[name]):
            continue
        kind = known.get(name) or face.of(name)
        node["f:" + name] = {} if kind is None or kind.leaf else whole(kind, value[name])
    return node


def _whole_list(face: ListFace, value: list[Any]) -> FieldSet:
    if not value:
        return {}
    node: FieldSet = {".": {}}
    for item in value:
        element = element_of(face, item)
        # Two items with one key are one thing without an inside.
        node[element] = {} if element in node else whole(face.element, item)
    return in_order(node) if len(node) > 2 else node


def compare(kind: Type, old: Any, new: Any) -> Difference | None:
    """None if nothing changed. Both values are there; null counts as an empty map or list."""
    if old == new and isinstance(old, bool) == isinstance(new, bool):
        return None
    if kind.leaf:
        return _MODIFIED
    old_face, new_face = _face(kind, old), _face(kind, new)
    if old_face is new_face:
        return _compare_as(old_face, old, new)
    first, second = _compare_as(old_face, old, new), _compare_as(new_face, old, new)
    if first is None or second is None:
        return first or second
    return (first[0] or second[0], first[1] if first[1] is not None else second[1], first[2] or second[2])


def _face(kind: Type, value: Any) -> MapFace | ListFace | None:
    """The face that handles a value; None is the scalar one."""
    if isinstance(value, dict) and kind.map is not None:
        return kind.map
    if isinstance(value, list) and kind.list is not None:
        return kind.list
    if value is not None and kind.scalar is not None and not isinstance(value, (dict, list)):
        return None
    return kind.map or (None if kind.scalar is not None else kind.list)


def _compare_as(face: MapFace | ListFace | None, old: Any, new: Any) -> Difference | None:
    if face is None or face.atomic:
        return _MODIFIED
    if isinstance(face, MapFace):
        old_map = old if isinstance(old, dict) else {}
        new_map = new if isinstance(new, dict) else {}
        if not old_map and not new_map:
            return _MODIFIED
        return compare_maps(face, old_map, new_map)
    old_list = old if isinstance(old, list) else []
    new_list = new if isinstance(new, list) else []
    if not old_list and not new_list:
        return _MODIFIED
    return _compare_lists(face, old_list, new_list)


def compare_maps(
    face: MapFace, old: dict[str, Any], new: dict[str, Any], skipped: frozenset[str] = frozenset()
) -> Difference | None:
    """The differences of two maps; fields in `skipped` are not looked at."""
    if face.zeros:
        old, new = {**face.zeros, **old}, {**face.zeros, **new}
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    known = face.fields
    for name, value in new.items():
        if name in skipped or (not value and face.omits(name, value)):
            continue
        if name in old:
            before = old[name]
            if before is value:
                continue
            kind = known.get(name) or face.of(name)
            if kind is None or kind.leaf:
                if before != value or isinstance(before, bool) != isinstance(value, bool):
                    modified["f:" + name] = {}
                continue
            changed = compare(kind, before, value)
            if changed is not None:
                _collect("f:" + name, changed, added, modified, removed)
        else:
            kind = known.get(name) or face.of(name)
            added["f:" + name] = {} if kind is None or kind.leaf else whole(kind, value)
    for name, value in old.items():
        if name not in skipped and (name not in new or (not new[name] and face.omits(name, new[name]))):
            kind = known.get(name) or face.of(name)
            removed["f:" + name] = {} if kind is None or kind.leaf else whole(kind, value)
    return _difference(added, modified, removed)


def _collect(name: str, changed: Difference, added: FieldSet, modified: FieldSet, removed: FieldSet) -> None:
    if changed[0] is not None:
        added[name] = changed[0]
    if changed[1] is not None:
        modified[name] = changed[1]
    if changed[2] is not None:
        removed[name] = changed[2]


def _difference(added: FieldSet, modified: FieldSet, removed: FieldSet) -> Difference | None:
    if not (added or modified or removed):
        return None
    return (
        (in_order(added) if len(added) > 1 else added) or None,
        (in_order(modified) if len(modified) > 1 else modified) or None,
        (in_order(removed) if len(removed) > 1 else removed) or None,
    )


def _compare_lists(face: ListFace, old: list[Any], new: list[Any]) -> Difference | None:
    old_items, new_items = _by_element(face, old), _by_element(face, new)
    added: FieldSet = {}
    modified: FieldSet = {}
    removed: FieldSet = {}
    for element, values in new_items.items():
        before = old_items.get(element, ())
        if len(values) == 1 and len(before) == 1:
            changed = compare(face.element, before[0], values[0])
            if changed is not None:
                _collect(element, changed, added, modified, removed)
        elif len(values) == 1:
            added[element] = whole(face.element, values[0])
            if before:  # Two became one: the pair is gone, the single item is new.
                removed[element] = {}
        elif len(before) >= 2:
            if list(values) != list(before):
                modified[element] = {}
        else:
            added[element] = {}
            if before:
                removed[element] = whole(face.element, before[0])
    for element, values in old_items.items():
        if element not in new_items:
            removed[element] = whole(face.element, values[0]) if len(values) == 1 else {}
    return _difference(added, modified, removed)


def _by_element(face: ListFace, items: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in items:
        found.setdefault(element_of(face, item), []).append(item)
    return found
