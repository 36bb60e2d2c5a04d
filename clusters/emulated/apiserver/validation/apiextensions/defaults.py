"""Default values in a schema: they must fit the schema they stand in, and have no field it does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.kube.field import FieldError, invalid, key, type_invalid
from clusters.kube.gostring import quote

Schema = Mapping[str, Any]

_PRESERVE = "x-kubernetes-preserve-unknown-fields"


def default_errors(schema: Schema, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    default = schema.get("default")
    if default is not None:
        if _has_unknown_fields(default, schema):
            errors.append(invalid(f"{path}.default", default, "must not have unknown fields"))
        errors += _type_errors(default, schema, f"{path}.default")
    if isinstance(schema.get("items"), Mapping):
        errors += default_errors(schema["items"], f"{path}.items")
    for name, part in (schema.get("properties") or {}).items():
        errors += default_errors(part, key(f"{path}.properties", name))
    return errors


def _has_unknown_fields(value: Any, schema: Schema) -> bool:
    if isinstance(value, list):
        items = schema.get("items")
        return isinstance(items, Mapping) and any(_has_unknown_fields(each, items) for each in value)
    if not isinstance(value, dict):
        return False
    properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
    for name, each in value.items():
        part = properties.get(name, additional)
        if isinstance(part, Mapping):
            if _has_unknown_fields(each, part):
                return True
        elif not part and not schema.get(_PRESERVE):
            return True
    return False


def json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    names = {float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]


def _type_errors(value: Any, schema: Schema, path: str, name: str = "") -> list[FieldError]:
    """`name` is the place inside the default, which is all that the text tells."""
    wanted, found = schema.get("type") or "", json_type(value)
    if found == "null" and schema.get("nullable"):
        return []
    if schema.get("x-kubernetes-int-or-string"):
        fits = found in ("integer", "string")
        wanted = "integer,string"
    else:
        fits = not wanted or found == wanted or (wanted == "number" and found == "integer")
    if not fits:
        text = f"{name} in body must be of type {wanted}: {quote(found)}"
        return [type_invalid(path, found, text)]
    errors: list[FieldError] = []
    if isinstance(value, dict):
        properties, additional = schema.get("properties") or {}, schema.get("additionalProperties")
        for field, each in value.items():
            part = properties.get(field, additional)
            if isinstance(part, Mapping):
                inner = f"{name}.{field}" if name else field
                errors += _type_errors(each, part, f"{path}.{field}", inner)
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for position, each in enumerate(value):
            at = f"[{position}]"
            errors += _type_errors(each, schema["items"], f"{path}{at}", f"{name}{at}")
    return errors
