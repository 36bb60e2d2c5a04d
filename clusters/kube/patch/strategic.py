"""Strategic merge patch: a merge patch that knows by which key Kubernetes merges each list.

    >>> pod = Catalogue.of("1.36").kind("", "v1", "Pod")
    >>> apply({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}},
    ...       {"spec": {"containers": [{"name": "b", "image": "x"}]}}, pod)
    {'spec': {'containers': [{'name': 'a'}, {'name': 'b', 'image': 'x'}]}}

Directives: `$patch: replace|delete` in a map or a list element, `$retainKeys` in a map,
`$deleteFromPrimitiveList/<field>` and `$setElementOrder/<field>` beside a field. The original is the object
as Go writes it (`shape`); the result is decoded by the caller, after `conversion.problem` had its say.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from clusters.kube.patch.element_order import elements_kind, in_order, partition_by
from clusters.kube.patch.errors import PatchError, go_type, go_value
from clusters.kube.patch.lookup import Lookup, field_of, kind_name, list_field_of
from clusters.kube.schema.model import Struct

Map: TypeAlias = dict[str, Any]

DIRECTIVE = "$patch"
_RETAIN_KEYS = "$retainKeys"
_DELETE_PREFIX = "$deleteFromPrimitiveList"
_ORDER_PREFIX = "$setElementOrder"

_BAD_PRIMITIVE_LIST = "invalid patch format of primitive list"
_BAD_RETAIN_KEYS = "invalid patch format of retainKeys"
_BAD_ORDER_LIST = "invalid patch format of setElementOrder list"


def apply(original: Map, patch: Any, struct: Struct) -> Map:
    """The patched object; neither argument changes."""
    if patch is None:
        patch = {}
    if not isinstance(patch, dict):
        kind = {list: "array", str: "string", bool: "bool"}.get(type(patch), "number")
        text = f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        raise PatchError(text, "malformed")
    return _merge_map(original, patch, struct)


def _merge_map(original: Map | None, patch: Map, lookup: Lookup) -> Map:
    if DIRECTIVE in patch:
        directive = patch[DIRECTIVE]
        if directive == "replace":
            return {key: value for key, value in patch.items() if key != DIRECTIVE}
        if directive == "delete":
            return {}
        raise _unknown_directive(directive, patch)
    merged = dict(original or {})
    pending = dict(patch)
    _retain_keys(merged, pending)
    for key in [each for each in pending if each.startswith(_ORDER_PREFIX)]:
        _merge_ordered_list(merged, pending, key, lookup)
    for key, value in pending.items():
        _merge_key(merged, key, value, lookup)
    return merged


def _merge_key(merged: Map, key: str, value: Any, lookup: Lookup) -> None:
    deletes = key.startswith(_DELETE_PREFIX)
    if deletes:
        key = _field_name(key, _DELETE_PREFIX, _BAD_PRIMITIVE_LIST)
    if value is None:
        merged.pop(key, None)
        return
    current = merged.get(key)
    if key not in merged or type(current) is not type(value):
        if not deletes:
            _set(merged, key, _without_nulls(value))
    elif isinstance(value, dict):
        found = field_of(lookup, key)
        merged[key] = value if found.strategy == "replace" else _merge_map(current, value, found.type)
    elif isinstance(value, list):
        found = list_field_of(lookup, key)
        if deletes or found.strategy == "merge":
            merged[key] = _merge_list(current or [], value, found.type, found.merge_key, deletes=deletes)
        else:
            merged[key] = value
    else:
        merged[key] = value


def _retain_keys(merged: Map, pending: Map) -> None:
    if _RETAIN_KEYS not in pending:
        return
    retained = pending.pop(_RETAIN_KEYS)
    if not isinstance(retained, list):
        raise PatchError(_BAD_RETAIN_KEYS, "malformed")
    for key, value in pending.items():
        if value is None or key.startswith((_DELETE_PREFIX, _ORDER_PREFIX)):
            continue
        if key not in retained:
            raise PatchError(_BAD_RETAIN_KEYS, "malformed")
    for key in [each for each in merged if each not in retained]:
        del merged[key]


def _merge_ordered_list(merged: Map, pending: Map, order_key: str, lookup: Lookup) -> None:
    """A `$setElementOrder/<field>` with, or without, the field's own patch: merge, then put in that order."""
    order = pending.pop(order_key)
    if not isinstance(order, list):
        raise _bad_type("[]interface {}", order)
    key = _field_name(order_key, _ORDER_PREFIX, _BAD_ORDER_LIST)
    current, patch = merged.get(key, []), pending.get(key, [])
    for each, holder in ((current, merged), (patch, pending)):
        if key in holder and not isinstance(each, list):
            raise _bad_type("[]interface {}", each)
    found = list_field_of(lookup, key)
    _check_order(patch, order, found.merge_key)
    if key in merged and key in pending:
        both = patch
        if found.strategy == "merge":
            both = _merge_list(current, patch, found.type, found.merge_key, deletes=False)
    elif key in merged:
        both = current
    elif key in pending:
        both = _without_directives(patch)[0]
    else:
        return
    kind = elements_kind(current, patch)
    mine, others = partition_by(both, order, found.merge_key)
    merged[key] = in_order(mine, others, order, current, found.merge_key, kind)
    pending.pop(key, None)


def _check_order(patch: list[Any], order: list[Any], merge_key: str) -> None:
    """The patch's elements must be a subsequence of the order that it asks for."""
    if not order or not patch:
        return
    kept = patch
    if merge_key:
        kept = [each for each in patch if _as_map(each).get(DIRECTIVE) != "delete"]
    at_patch, at_order = 0, 0
    while at_patch < len(kept) and at_order < len(order):
        item = kept[at_patch]
        if isinstance(item, dict) and DIRECTIVE in item:
            at_patch += 1
            continue
        if _same_element(item, order[at_order], merge_key):
            at_patch += 1
        at_order += 1
    if at_patch < len(kept) and at_order >= len(order):
        text = f"The order in patch list:\n{go_value(patch)}\n doesn't match {_ORDER_PREFIX} list:\n{go_value(order)}\n"
        raise PatchError(text, "internal")


def _same_element(left: Any, right: Any, merge_key: str) -> bool:
    if not merge_key:
        return bool(left == right)
    for each in (left, right):
        if merge_key not in _as_map(each):
            raise no_merge_key(each, merge_key)
    return bool(left[merge_key] == right[merge_key])


def _merge_list(original: list[Any], patch: list[Any], element: Lookup, merge_key: str, *, deletes: bool) -> list[Any]:
    if not original and not patch:
        return original
    kind = elements_kind(original, patch)
    if kind is not dict:
        if deletes:
            return [each for each in original if each not in patch]
        merged = _deduplicated([*original, *patch])
    else:
        if not merge_key:
            raise PatchError(f"cannot merge lists without merge key for {kind_name(element)}", "internal")
        original, patch = _special_elements(original, patch, merge_key)
        merged = list(original)
        for item in patch:
            if merge_key not in item:
                raise no_merge_key(item, merge_key)
            place = _place_of(merged, merge_key, item[merge_key])
            if place is None:
                merged.append(item)
            else:
                merged[place] = _merge_map(merged[place], item, element)
    mine, others = partition_by(merged, patch, merge_key)
    return in_order(mine, others, patch, original, merge_key, kind)


def _special_elements(original: list[Any], patch: list[Any], merge_key: str) -> tuple[list[Any], list[Any]]:
    """Elements with a `$patch` are carried out and taken away: deletions, and `replace` of the whole list."""
    plain, replace = [], False
    for item in patch:
        if DIRECTIVE not in item:
            plain.append(item)
            continue
        directive = item[DIRECTIVE]
        if directive == "delete":
            if merge_key not in item:
                raise no_merge_key(item, merge_key)
            original = [each for each in original if each.get(merge_key, _NONE) != item[merge_key]]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise PatchError("merging lists cannot yet be specified in the patch", "internal")
        else:
            raise _unknown_directive(directive, item)
    return (plain, []) if replace else (original, plain)


_NONE = object()


def _place_of(items: list[Any], merge_key: str, value: Any) -> int | None:
    for place, item in enumerate(items):
        if not isinstance(item, dict):
            raise PatchError(f"value for key {place} is not a map", "internal")
        if item.get(merge_key, _NONE) == value:
            return place
    return None


def _deduplicated(items: list[Any]) -> list[Any]:
    """Each value once. A repeated one gives its place to the last, as Kubernetes' in-place algorithm does."""
    items = list(items)
    first = 0
    while first < len(items) - 1:
        second = first + 1
        while second < len(items):
            if items[first] == items[second]:
                items[second] = items[-1]
                items.pop()
            else:
                second += 1
        first += 1
    return items


def _set(merged: Map, key: str, value: Any) -> None:
    kept, keep = _without_directives(value)
    if keep:
        merged[key] = kept
    else:
        merged.pop(key, None)


def _without_directives(value: Any) -> tuple[Any, bool]:
    """A value that is new to the object, and whether it stays: maps that carry a `$patch` do not."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            return None, False
        kept = {key: _without_directives(item) for key, item in value.items()}
        return {key: item for key, (item, keep) in kept.items() if keep}, True
    if isinstance(value, list):
        return [item for item, keep in map(_without_directives, value) if keep], True
    return value, True


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _field_name(key: str, prefix: str, bad_format: str) -> str:
    found, slash, name = key.partition("/")
    if not slash or found != prefix:
        raise PatchError(bad_format, "malformed")
    return name


def _as_map(value: Any) -> Map:
    if not isinstance(value, dict):
        raise _bad_type("map[string]interface {}", value)
    return value


def _bad_type(expected: str, value: Any) -> PatchError:
    return PatchError(f"expected a {expected}, but received a {go_type(value)}", "internal")


def _unknown_directive(directive: Any, where: Map) -> PatchError:
    shown = directive if isinstance(directive, str) else f"%!s({go_type(directive)}={go_value(directive)})"
    return PatchError(f"unknown patch type: {shown} in map: {go_value(where)}", "internal")


def no_merge_key(where: Map, merge_key: str) -> PatchError:
    text = f"map: {go_value(where)} does not contain declared merge key: {merge_key}"
    return PatchError(text, "internal")
