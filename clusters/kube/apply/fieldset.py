"""Sets of field paths, kept in the very form that `fieldsV1` has on the wire.

A set is a dict from path element to node. A node is `{}` for a path that is in the set and has nothing below
it; with children, `"."` says that the path itself is in the set too. So decoding and encoding cost nothing.

    >>> union({"f:data": {"f:a": {}}}, {"f:data": {}})       # .data.a, and .data itself
    {'f:data': {'.': {}, 'f:a': {}}}
    >>> difference({"f:data": {".": {}, "f:a": {}}}, {"f:data": {"f:a": {}}})
    {'f:data': {}}

Sets are never changed once they exist: operations share what they do not touch. Elements are in Go's order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from clusters.kube.apply.elements import BadElementError, canonical, order

#: At the root `{}` is the empty set; below, `{}` is a member without children.
FieldSet: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]

SELF = "."


def in_order(node: FieldSet) -> FieldSet:
    """The node with its elements in Go's order."""
    names = sorted(node)
    if names and names[-1][0] not in "f.":
        names.sort(key=order)
    return {name: node[name] for name in names}


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left:
        return right
    return _merged(left, right) if right else left


def _merged(left: FieldSet, right: FieldSet) -> FieldSet:
    merged = dict(left)
    for name, node in right.items():
        own = merged.get(name)
        if own is None:
            merged[name] = node
        elif name != SELF and own is not node:
            merged[name] = _union_node(own, node)
    return merged if len(merged) == len(left) else in_order(merged)


def _union_node(left: FieldSet, right: FieldSet) -> FieldSet:
    if not left:
        return with_self(right)
    return _merged(left, right) if right else with_self(left)


def with_self(node: FieldSet) -> FieldSet:
    """The node, and its own path in the set."""
    return node if not node or SELF in node else {SELF: {}, **node}


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Paths of `left` that are not in `right`; a path's children stay when only the path goes."""
    if not left or not right:
        return left
    return _children_difference(left, right)


def _children_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """What is left below; `left` itself when that is everything, so that callers can see it by identity."""
    kept = {}
    untouched = True
    for name, node in left.items():
        other = right.get(name)
        if other is None or name == SELF:
            kept[name] = node
            continue
        rest = _node_difference(node, other)
        untouched = untouched and rest is node
        if rest is not None:
            kept[name] = rest
    return left if untouched else kept


def _node_difference(left: FieldSet, right: FieldSet) -> FieldSet | None:
    below = _children_difference(left, right) if left and right else left
    if (not right or SELF in right) and (not left or SELF in left):
        return {name: node for name, node in below.items() if name != SELF} or None
    if not left or below is left:
        return left
    return {} if len(below) == 1 and SELF in below else below or None


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Like `difference`, but a path in `right` takes everything below it along."""
    kept = {}
    for name, node in left.items():
        other = right.get(name)
        if other is None or name == SELF:
            kept[name] = node
        elif other and SELF not in other:
            rest = recursive_difference(node, other)
            if rest or not node:
                kept[name] = {} if len(rest) == 1 and SELF in rest else rest
    return kept


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    both = {}
    for name, node in left.items():
        other = right.get(name)
        if other is not None and name != SELF:
            shared = _node_intersection(node, other)
            if shared is not None:
                both[name] = shared
    return both


def _node_intersection(left: FieldSet, right: FieldSet) -> FieldSet | None:
    below = intersection(left, right)
    if (not left or SELF in left) and (not right or SELF in right):
        return {SELF: {}, **below} if below else {}
    return below or None


def has(fields: FieldSet, path: Path) -> bool:
    node = fields
    for element in path:
        found = node.get(element)
        if found is None:
            return False
        node = found
    return bool(path) and (not node or SELF in node)


def from_paths(*paths: Path) -> FieldSet:
    fields: FieldSet = {}
    for path in paths:
        node: FieldSet = {}
        for element in reversed(path):
            node = {element: node}
        fields = union(fields, node)
    return fields


def paths(fields: FieldSet, prefix: Path = ()) -> Iterator[Path]:
    """Every path in Go's order of iteration: at each level the members first, then what is below."""
    for element, node in fields.items():
        if element != SELF and (not node or SELF in node):
            yield (*prefix, element)
    for element, node in fields.items():
        if node:
            yield from paths(node, (*prefix, element))


def decode(fields: Any) -> FieldSet:
    """A set from a client's `fieldsV1`: elements as Kubernetes writes them, unknown ones dropped."""
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise BadElementError("fields must be an object")
    decoded: FieldSet = {}
    for name, node in fields.items():
        if name == SELF:
            decoded[SELF] = {}
            continue
        element = canonical(name)
        if element is not None:
            below = decode(node if node is not None else {})
            decoded[element] = {} if list(below) == [SELF] else below
    return in_order(decoded)
