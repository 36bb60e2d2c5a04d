"""Lists that are sets or maps: no element, and no key, may occur twice."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.customresources.structural import Structural
from clusters.kube.field import FieldError, child, duplicate, index, invalid, key
from clusters.kube.gostring import to_json


def list_errors(value: Any, schema: Structural | None, path: str = "") -> list[FieldError]:
    if schema is None or not schema.has_keyed_lists:
        return []
    errors: list[FieldError] = []
    if value.__class__ is dict:
        if schema.additional is not None:
            for name in sorted(value):
                errors += list_errors(value[name], schema.additional, key(path, name))
        for name in sorted(value):
            part = schema.properties.get(name)
            if part is not None:
                errors += list_errors(value[name], part, child(path, name))
    elif value.__class__ is list:
        if schema.list_type == "set":
            errors += [duplicate(index(path, at), value[at]) for at in _repeated(value)]
        elif schema.list_type == "map":
            errors += _map_errors(value, schema, path)
        if schema.items is not None:
            for position, each in enumerate(value):
                errors += list_errors(each, schema.items, index(path, position))
    return errors


def _repeated(values: list[Any]) -> list[int]:
    """Where a value occurs for the second time; a third time is not told again."""
    seen: dict[str, int] = {}
    found = []
    for position, value in enumerate(values):
        text = to_json(value)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            found.append(position)
    return found


def _map_errors(values: list[Any], schema: Structural, path: str) -> list[FieldError]:
    for position, value in enumerate(values):
        if value is not None and value.__class__ is not dict:
            text = "must be an object for an array of list-type map"
            return [invalid(index(path, position), value, text)]
    keys = [
        {name: value[name] for name in schema.list_keys if name in value} if value is not None else {}
        for value in values
    ]
    return [duplicate(index(path, position), keys[position]) for position in _repeated(keys)]
