"""Operations on values of a type: what a configuration owns, merging it in, and taking items out again."""

from __future__ import annotations

from typing import Any

from clusters.kube.apply.compare import element_of
from clusters.kube.apply.fieldset import SELF, FieldSet, in_order, with_self
from clusters.kube.apply.types import ListFace, MapFace, Type

#: "Not there", where null is a value.
MISSING: Any = object()


def owned(kind: Type, value: Any) -> FieldSet:
    """The set of everything that an applied configuration mentions.

    A struct's field is owned through what is in it; a map's key, a list's item, and an empty or null value
    are owned themselves.
    """
    return _owned(kind, value) or {}


def _owned(kind: Type, value: Any) -> FieldSet | None:
    """The node of a value: None owns nothing, `{}` the value itself."""
    if isinstance(value, dict) and kind.map is not None:
        return {} if kind.map.atomic else _owned_map(kind.map, value)
    if isinstance(value, list) and kind.list is not None:
        return {} if kind.list.atomic else _owned_list(kind.list, value)
    return {}


def _owned_map(face: MapFace, value: dict[str, Any]) -> FieldSet | None:
    node: FieldSet = {}
    for name in sorted(value):
        item = value[name]
        kind = face.of(name)
        below = {} if kind is None else _owned(kind, item)
        if item is None or item == {} or not face.declared(name):
            below = with_self(below or {})
        if below is not None:
            node["f:" + name] = below
    return node or None


def _owned_list(face: ListFace, value: list[Any]) -> FieldSet | None:
    node: FieldSet = {}
    for item in value:
        element = element_of(face, item)
        node[element] = {} if element in node else with_self(_owned(face.element, item) or {})
    return in_order(node) if node else None


def with_named_fields(fields: FieldSet, kind: Type | None) -> FieldSet:
    """The set, and every struct field on the way to something in it."""
    named: FieldSet = {}
    for element, node in fields.items():
        if not node:
            named[element] = node
            continue
        below, declared = None, False
        if kind is not None and element.startswith("f:") and kind.map is not None:
            below, declared = kind.map.of(element[2:]), kind.map.declared(element[2:])
        elif kind is not None and element.startswith("k:") and kind.list is not None:
            below = kind.list.element
        inner = with_named_fields(node, below)
        named[element] = with_self(inner) if declared else inner
    return named


def merge(kind: Type, live: Any, config: Any) -> Any:
    """`config` laid over `live`: nothing is removed, leaves of `config` win, keyed lists merge by key."""
    if config is MISSING:
        return live
    if live is MISSING:
        return config
    if isinstance(config, dict) and kind.map is not None:
        face = kind.map
        if face.atomic or (not config and not (isinstance(live, dict) and live)):
            return config
        return _merge_maps(face, live if isinstance(live, dict) else {}, config)
    if isinstance(config, list) and kind.list is not None:
        items = kind.list
        if items.atomic or (not config and not (isinstance(live, list) and live)):
            return config
        return _merge_lists(items, live if isinstance(live, list) else [], config)
    if config is None and not kind.leaf:
        # Null is an empty map or list: it changes nothing in one that is granular.
        if isinstance(live, dict) and live and kind.map is not None and not kind.map.atomic:
            return live
        if isinstance(live, list) and live and kind.map is None and kind.list is not None:
            return live
    return config


def _merge_maps(face: MapFace, live: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    merged = dict(live)
    for name, value in config.items():
        kind = face.of(name)
        merged[name] = value if kind is None else merge(kind, live.get(name, MISSING), value)
    return merged


def _merge_lists(face: ListFace, live: list[Any], config: list[Any]) -> list[Any]:
    """Items of both in the configuration's order; those that only the live list has stay where they stood."""
    live_elements = [element_of(face, item) for item in live]
    elements = [element_of(face, item) for item in config]
    wanted = dict(zip(elements, config, strict=True))
    have: dict[str, Any] = {}
    for element, item in zip(live_elements, live, strict=True):
        have[element] = None if element in have else item  # Of duplicates none is merged with.
    shared = iter([element for element in elements if element in have])
    next_shared = next(shared, None)
    done: set[str] = set()
    merged: list[Any] = []
    at_live, at_config = 0, 0
    while at_live < len(live_elements) or at_config < len(elements):
        if at_live < len(live_elements) and at_config < len(elements):
            element = live_elements[at_live]
            if element == elements[at_config]:
                done.add(element)
                merged.append(merge(face.element, have[element], wanted[element]))
                at_live, at_config = at_live + 1, at_config + 1
                next_shared = next(shared, None)
                continue
            if element in wanted and next_shared is not None and next_shared != element:
                at_live += 1  # It has its turn later, in the configuration's order.
                continue
        if at_live < len(live_elements):
            element = live_elements[at_live]
            if element not in wanted:
                merged.append(live[at_live])
                at_live += 1
                continue
            if element in done:
                at_live += 1
        if at_config < len(elements):
            element = elements[at_config]
            done.add(element)
            merged.append(merge(face.element, have.get(element, MISSING), wanted[element]))
            at_config += 1
            if next_shared == element:
                next_shared = next(shared, None)
    return merged


def remove(kind: Type, value: Any, fields: FieldSet) -> Any:
    """The value without the items and fields of the set. What has nothing left becomes null."""
    if isinstance(value, dict) and kind.map is not None:
        return None if kind.map.atomic or not value else _remove_from_map(kind.map, value, fields)
    if isinstance(value, list) and kind.list is not None:
        return None if kind.list.atomic or not value else _remove_from_list(kind.list, value, fields)
    return value


def _remove_from_map(face: MapFace, value: dict[str, Any], fields: FieldSet) -> dict[str, Any] | None:
    kept = {}
    for name, item in value.items():
        node = fields.get("f:" + name)
        if node is None:
            kept[name] = item
        elif node and SELF not in node:
            kind = face.of(name)
            kept[name] = item if kind is None else remove(kind, item, node)
    return kept or None


def _remove_from_list(face: ListFace, value: list[Any], fields: FieldSet) -> list[Any] | None:
    kept = []
    for item in value:
        node = fields.get(element_of(face, item))
        if node is None:
            kept.append(item)
        elif node and SELF not in node:
            kept.append(remove(face.element, item, node))
    return kept or None
