"""A structural schema, read once: which fields there are, what is pruned, defaulted, and how lists are keyed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

Schema = Mapping[str, Any]

META_FIELDS = frozenset(("apiVersion", "kind", "metadata"))


class Structural:
    """One node of the schema. `additional` is None with `has_additional` set for `additionalProperties: true`."""

    __slots__ = (
        "additional", "default", "embedded", "has_additional", "has_defaults", "has_embedded", "has_keyed_lists",
        "items", "list_keys", "list_type", "nullable", "preserve", "properties", "schema", "type",
    )  # fmt: skip

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.type: str = schema.get("type") or ""
        self.properties = {name: Structural(part) for name, part in (schema.get("properties") or {}).items()}
        items = schema.get("items")
        self.items = Structural(items) if isinstance(items, Mapping) else None
        additional = schema.get("additionalProperties")
        self.has_additional = additional is not None
        self.additional = Structural(additional) if isinstance(additional, Mapping) else None
        self.preserve = schema.get("x-kubernetes-preserve-unknown-fields") is True
        self.embedded = schema.get("x-kubernetes-embedded-resource") is True
        self.nullable = schema.get("nullable") is True
        self.default: Any = schema.get("default")
        self.list_type: str = schema.get("x-kubernetes-list-type") or ""
        self.list_keys: tuple[str, ...] = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        below = [*self.properties.values(), *(part for part in (self.items, self.additional) if part is not None)]
        #: Whether the walk that applies defaults, embedded metadata or list keys has anything to do down here.
        self.has_defaults: bool = self.default is not None or any(part.has_defaults for part in below)
        self.has_embedded: bool = self.embedded or any(part.has_embedded for part in below)
        self.has_keyed_lists: bool = self.list_type in ("set", "map") or any(part.has_keyed_lists for part in below)

    def field(self, name: str) -> Structural | None:
        """The schema of a field, or None where nothing is known of it."""
        found = self.properties.get(name)
        return self.additional if found is None else found


def prune(obj: dict[str, Any], root: Structural | None) -> list[str]:
    """Drops the fields of a resource that its schema does not know; their paths, sorted."""
    unknown: list[str] = []
    schema = root or Structural({})
    if schema.preserve:
        _keep(obj, schema, "", unknown, resource=True)
    else:
        _prune_fields(obj, schema, "", unknown, resource=True)
    return sorted(unknown)


def _prune(value: Any, schema: Structural | None, path: str, unknown: list[str]) -> None:
    if value.__class__ is dict:
        if schema is None:
            unknown += [f"{path}.{name}" for name in value]
            value.clear()
        elif schema.preserve:
            _keep(value, schema, path, unknown, resource=schema.embedded)
        else:
            _prune_fields(value, schema, path, unknown, resource=schema.embedded)
    elif value.__class__ is list:
        if schema is not None and schema.preserve:
            _keep(value, schema, path, unknown, resource=False)
            return
        items = None if schema is None else schema.items
        for position, each in enumerate(value):
            if each.__class__ is dict or each.__class__ is list:
                _prune(each, items, f"{path}[{position}]", unknown)


def _prune_fields(value: dict[str, Any], schema: Structural, path: str, unknown: list[str], *, resource: bool) -> None:
    gone: list[str] = []
    for name, each in value.items():
        if resource and name in META_FIELDS:
            continue
        part = schema.properties.get(name)
        if part is None and not schema.has_additional:
            gone.append(name)
        elif each.__class__ is dict or each.__class__ is list:
            _prune(each, part or schema.additional, f"{path}.{name}" if path else name, unknown)
    for name in gone:
        del value[name]
        if path or name not in META_FIELDS:
            unknown.append(f"{path}.{name}" if path else name)


def _keep(value: Any, schema: Structural | None, path: str, unknown: list[str], *, resource: bool) -> None:
    """Unknown fields stay here; what is known below is looked at as usual."""
    if schema is None:
        return
    if value.__class__ is dict:
        for name, each in value.items():
            if resource and name in META_FIELDS:
                continue
            part = schema.properties.get(name)
            if part is not None or schema.has_additional:
                _prune(each, part or schema.additional, f"{path}.{name}" if path else name, unknown)
    elif value.__class__ is list:
        items = schema.items
        for position, each in enumerate(value):
            below = f"{path}[{position}]"
            _keep(each, items, below, unknown, resource=items is not None and items.embedded)


def drop_nulls(value: Any, schema: Structural | None) -> None:
    """Nulls of fields that are neither nullable nor have a default are as if they had not been sent."""
    if value.__class__ is dict:
        gone: list[str] = []
        for name, each in value.items():
            part = None if schema is None else schema.field(name)
            if each is None:
                if part is not None and not part.nullable and part.default is None:
                    gone.append(name)
            elif each.__class__ is dict or each.__class__ is list:
                drop_nulls(each, part)
        for name in gone:
            del value[name]
    elif value.__class__ is list:
        items = None if schema is None else schema.items
        for each in value:
            if each.__class__ is dict or each.__class__ is list:
                drop_nulls(each, items)


def apply_defaults(value: Any, schema: Structural | None) -> None:
    """Fills in the defaults of missing fields, and of nulls where null is no value."""
    if schema is None or not schema.has_defaults:
        return
    if value.__class__ is dict:
        for name, part in schema.properties.items():
            if part.default is not None and (name not in value or (value[name] is None and not part.nullable)):
                value[name] = _copy(part.default)
        for name, each in value.items():
            part_or_none = schema.properties.get(name)
            if part_or_none is None and schema.additional is not None:
                part_or_none = schema.additional
                if each is None and not part_or_none.nullable:
                    each = value[name] = _copy(part_or_none.default)
            apply_defaults(each, part_or_none)
    elif value.__class__ is list and schema.items is not None:
        items = schema.items
        for position, each in enumerate(value):
            if each is None and not items.nullable:
                each = value[position] = _copy(items.default)
            apply_defaults(each, items)


def _copy(default: Any) -> Any:
    if default.__class__ is dict or default.__class__ is list:
        return orjson.loads(orjson.dumps(default))
    return default
