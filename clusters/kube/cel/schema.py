"""CEL types from structural schemas, for ``x-kubernetes-validations`` and typed policy checks.

A declaration knows its CEL type, the sizes that static cost estimation needs, and how to bind JSON:
values are used as they are, except where CEL sees another type (``number`` is a double, ``date-time``
a timestamp, ``byte`` bytes, a list of type set or map has an equality of its own).
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from clusters.kube.cel import types as t
from clusters.kube.cel.environment import Environment
from clusters.kube.cel.escaping import escape
from clusters.kube.cel.library import conversions
from clusters.kube.cel.lists_as_sets import MapList, SetList
from clusters.kube.cel.types import Type
from clusters.kube.cel.values import NONE, Duration, Optional

Bind = Callable[[Any], Any]
Schema = Mapping[str, Any]

# The largest request the estimates reckon with.
MAX_REQUEST_BYTES = 3 * 1024 * 1024
_STRING_TYPES = {
    # format: type, smallest JSON size, longest JSON size (None: as long as a request).
    "byte": (t.BYTES, 2, None),
    "duration": (t.DURATION, 3, 32),
    "date": (t.TIMESTAMP, 12, 12),
    "date-time": (t.TIMESTAMP, 21, 32),
}


class Declaration:
    """The CEL view of one schema. ``bind`` is None when JSON is used as it is."""

    __slots__ = ("bind", "elements", "fields", "keys", "max_elements", "min_size", "type")

    def __init__(
        self,
        type_: Type,
        bind: Bind | None,
        min_size: int,
        max_elements: int = 0,
        elements: Declaration | None = None,
        fields: Mapping[str, Declaration] | None = None,
        keys: Declaration | None = None,
    ) -> None:
        self.type = type_
        self.bind = bind
        self.min_size = min_size
        self.max_elements = max_elements
        self.elements = elements
        self.fields = fields
        self.keys = keys

    def value(self, json: Any) -> Any:
        """The CEL value of a JSON value of this schema."""
        return json if self.bind is None or json is None else self.bind(json)


_BOOL = Declaration(t.BOOL, None, 4)
_INT = Declaration(t.INT, None, 1)
_STRING = Declaration(t.STRING, None, 2)


def from_schema(schema: Schema, *, root: bool = False, name: str = "selfType") -> Declaration | None:
    """The declaration of a schema; ``root`` for a resource, whose metadata.name is always there.

    None means that CEL cannot see it: no type, or preserve-unknown-fields without properties.
    """
    if schema.get("x-kubernetes-int-or-string"):
        limit = schema.get("maxLength")
        return Declaration(t.DYN, None, 1, MAX_REQUEST_BYTES - 2 if limit is None else max(limit, 0) * 4)
    if root or schema.get("x-kubernetes-embedded-resource"):
        schema = _with_metadata(schema)
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, name)
    if kind == "array":
        return _array(schema, name)
    if kind == "string":
        return _string(schema)
    if kind == "boolean":
        return _BOOL
    if kind == "integer":
        return _INT
    if kind == "number":
        return Declaration(t.DOUBLE, _double, 1)
    return None


def _with_metadata(schema: Schema) -> Schema:
    string = {"type": "string"}
    properties = schema.get("properties") or {}
    named = properties.get("metadata", {}).get("properties") or {}
    if (
        properties.get("kind", {}).get("type") == "string"
        and properties.get("apiVersion", {}).get("type") == "string"
        and named.get("name", {}).get("type") == "string"
        and named.get("generateName", {}).get("type") == "string"
    ):
        return schema
    metadata = {"type": "object", "properties": {"name": string, "generateName": string}}
    extended = {**properties, "kind": string, "apiVersion": string, "metadata": metadata}
    return {**schema, "properties": extended}


def _object(schema: Schema, name: str) -> Declaration | None:
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        values = from_schema(additional, name=f"{name}.@elem")
        if values is None:
            return None
        limit = schema.get("maxProperties")
        if limit is None:
            limit = (MAX_REQUEST_BYTES - 2) // (values.min_size + 6)
        bind_values = None if values.bind is None else _bind_values(values.bind)
        return Declaration(t.map_of(t.STRING, values.type), bind_values, 2, max(limit, 0), values, keys=_STRING)
    required = set(schema.get("required") or ())
    types: dict[str, tuple[Type, str]] = {}
    fields: dict[str, Declaration] = {}
    binds: list[tuple[str, Bind]] = []
    nullable: list[str] = []
    min_size = 2
    for property_, inner in (schema.get("properties") or {}).items():
        escaped = escape(property_)
        declared = from_schema(inner, name=f"{name}.{escaped}")
        if declared is None:
            continue
        if escaped is not None:
            types[escaped] = (declared.type, property_)
            fields[escaped] = declared
        if declared.bind is not None:
            binds.append((property_, declared.bind))
        if inner.get("nullable"):
            nullable.append(property_)
        if property_ in required and "default" not in inner:
            min_size += len(property_) + declared.min_size + 4
    bind = _bind_fields(binds, nullable) if binds or nullable else None
    return Declaration(t.struct(name, types), bind, min_size, fields=fields)


def _array(schema: Schema, name: str) -> Declaration | None:
    items = schema.get("items")
    elements = from_schema(items, name=f"{name}.@idx") if isinstance(items, Mapping) else None
    if elements is None:
        return None
    limit = schema.get("maxItems")
    if limit is None:
        limit = (MAX_REQUEST_BYTES - 2) // (elements.min_size + 1)
    bind = _bind_list(elements.bind, schema)
    return Declaration(t.list_of(elements.type), bind, 2, max(limit, 0), elements)


def _string(schema: Schema) -> Declaration:
    format_ = schema.get("format", "")
    limit = schema.get("maxLength")
    if format_ in _STRING_TYPES:
        type_, min_size, longest = _STRING_TYPES[format_]
        if format_ == "byte":
            size = MAX_REQUEST_BYTES - 2 if limit is None else max(limit, 0)
        else:
            assert longest is not None
            size = longest
        return Declaration(type_, _STRING_BINDS[format_], min_size, size)
    if limit is not None:
        size = max(limit, 0) * 4
    elif schema.get("enum"):
        size = max((len(each.encode()) for each in schema["enum"] if isinstance(each, str)), default=0)
    else:
        size = MAX_REQUEST_BYTES - 2
    return Declaration(t.STRING, None, 2, size)


# Binding: each keeps what it cannot convert, since schema validation refuses that anyway.


def _double(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _timestamp(value: Any) -> Any:
    return (conversions.parse_timestamp(value) or value) if isinstance(value, str) else value


def _date(value: Any) -> Any:
    return (conversions.parse_timestamp(f"{value}T00:00:00Z") or value) if isinstance(value, str) else value


def _duration(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    nanos = conversions.parse_duration(value.replace(" ", ""))
    return value if nanos is None else Duration(nanos)


def _bytes(value: Any) -> Any:
    try:
        return b64decode(value)
    except (binascii.Error, TypeError, ValueError):
        return value


_STRING_BINDS: Mapping[str, Bind] = {
    "byte": _bytes,
    "duration": _duration,
    "date": _date,
    "date-time": _timestamp,
}


def _bind_values(bind: Bind) -> Bind:
    def bound(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: item if item is None else bind(item) for key, item in value.items()}

    return bound


def _bind_fields(binds: list[tuple[str, Bind]], nullable: list[str]) -> Bind:
    def bound(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        out = dict(value)
        # To CEL, a field of an object that is null is not there.
        for name in nullable:
            if out.get(name, "") is None:
                del out[name]
        for name, bind in binds:
            item = out.get(name)
            if item is not None:
                out[name] = bind(item)
        return out

    return bound


def _bind_list(bind: Bind | None, schema: Schema) -> Bind | None:
    kind = schema.get("x-kubernetes-list-type", "")
    if kind == "set":
        wrap: Callable[[list[Any]], list[Any]] = SetList
    elif kind == "map":
        keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        wrap = lambda items: MapList(items, keys)  # noqa: E731
    elif bind is None:
        return None
    else:
        wrap = list

    def bound(value: Any) -> Any:
        if not isinstance(value, list):
            return value
        if bind is None:
            return wrap(value)
        return wrap([item if item is None else bind(item) for item in value])

    return bound


def rule_environment(schema: Schema, *, root: bool = False, optional_old_self: bool = False) -> Environment:
    """The environment of a validation rule on this schema: ``self`` and ``oldSelf``.

    With ``optional_old_self``, ``oldSelf`` is an optional; bind ABSENT_OLD_SELF when there is none.
    """
    declared = from_schema(schema, root=root)
    if declared is None:
        return Environment({})
    old_type = t.optional_of(declared.type) if optional_old_self else declared.type
    bind = declared.bind
    binders: dict[str, Bind] = {}
    if bind is not None:
        binders["self"] = bind
    if optional_old_self:
        binders["oldSelf"] = _bind_optional(declared)
    elif bind is not None:
        binders["oldSelf"] = bind
    return Environment({"self": declared.type, "oldSelf": old_type}, binders=binders)


ABSENT_OLD_SELF = NONE


def _bind_optional(declared: Declaration) -> Bind:
    return lambda value: value if type(value) is Optional else Optional(declared.value(value))
