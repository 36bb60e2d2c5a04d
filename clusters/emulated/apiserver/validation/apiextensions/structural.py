"""Structural schemas: every value has its type in one place; what is nested in anyOf, allOf, oneOf, not adds none.

Errors are sorted by their text, as Kubernetes sorts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusters.kube.field import FieldError, forbidden, index, invalid, key, required

Schema = Mapping[str, Any]

_ROOT, _ITEM, _FIELD = "at the root", "for specified array items", "for specified object fields"
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_PRESERVE, _EMBEDDED = "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"
_X_INT_OR_STRING = "x-kubernetes-int-or-string"
# Field of a nested schema → what is said if it is there.
_FORBIDDEN_NESTED = (
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (_PRESERVE, "must be false to be structural"),
    (_EMBEDDED, "must be false to be structural"),
    (_X_INT_OR_STRING, "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_METADATA_ONLY = "must not specify anything other than name and generateName, but metadata is implicitly specified"


def unsupported(schema: Schema) -> str:
    """Why the schema cannot be made structural at all; empty if it can be tried."""
    for name in ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"):
        if schema.get(name):
            return f"OpenAPIV3Schema '{name.removeprefix('$') if name == '$schema' else name}' is not supported"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    if schema.get(_PRESERVE) is False:
        return f"internal error: '{_PRESERVE}' must be true or undefined"
    return next(filter(None, (unsupported(part) for part in _parts(schema))), "")


def _parts(schema: Schema) -> Iterator[Schema]:
    for name in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(name) or ()
    for name in ("not", "items", "additionalProperties"):
        if isinstance(schema.get(name), Mapping):
            yield schema[name]
    yield from (schema.get("properties") or {}).values()


def structural_errors(schema: Schema, path: str) -> list[FieldError]:
    errors = _invariants(schema, _ROOT, path) + _completeness(schema, schema, path, path)
    return sorted(errors, key=str)


def _invariants(schema: Schema, level: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, items, additional = schema.get("type") or "", schema.get("items"), schema.get("additionalProperties")
    properties = schema.get("properties") or {}
    if kind == "array" and items is None:
        errors.append(required(f"{path}.items", "must be specified"))
    if isinstance(items, Mapping):
        errors += _invariants(items, _ITEM, f"{path}.items")
    for name, part in properties.items():
        errors += _invariants(part, _FIELD, key(f"{path}.properties", name))
    if additional is not None:
        if level == _ROOT:
            errors.append(forbidden(f"{path}.additionalProperties", "must not be used at the root"))
        if isinstance(additional, Mapping):
            errors += _invariants(additional, _FIELD, f"{path}.additionalProperties")
    for name in (_PRESERVE, _EMBEDDED):
        if schema.get(_X_INT_OR_STRING) and schema.get(name):
            text = f"must be false if {_X_INT_OR_STRING} is true"
            errors.append(invalid(f"{path}.{name}", True, text))
    errors += _value_validation(schema, path, _skips_any_of(schema), _skips_first_all_of(schema))
    errors += _type_errors(schema, kind, level, path)
    errors += _resource_errors(schema, properties, level, path)
    return errors


def _type_errors(schema: Schema, kind: str, level: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    embedded = schema.get(_EMBEDDED)
    if embedded and kind != "object":
        text = f"must be object if {_EMBEDDED} is true"
        errors.append(invalid(f"{path}.type", kind, text) if kind else required(f"{path}.type", text))
    elif not kind and not schema.get(_X_INT_OR_STRING) and not schema.get(_PRESERVE):
        errors.append(required(f"{path}.type", f"must not be empty {level}"))
    if embedded and schema.get("additionalProperties") is not None:
        text = f"must not be used if {_EMBEDDED} is set"
        errors.append(forbidden(f"{path}.additionalProperties", text))
    if level == _ROOT and kind and kind != "object":
        errors.append(invalid(f"{path}.type", kind, "must be object at the root"))
    return errors


def _resource_errors(schema: Schema, properties: Mapping[str, Schema], level: str, path: str) -> list[FieldError]:
    """apiVersion, kind and metadata of a resource, at the root or embedded."""
    errors: list[FieldError] = []
    resource = level == _ROOT or schema.get(_EMBEDDED)
    for name in ("kind", "apiVersion"):
        if name in properties and resource and properties[name].get("type") != "string":
            type_path = f"{key(f'{path}.properties', name)}.type"
            errors.append(invalid(type_path, properties[name].get("type") or "", "must be string"))
    if "metadata" in properties:
        metadata, metadata_path = properties["metadata"], key(f"{path}.properties", "metadata")
        if resource and metadata.get("type") != "object":
            errors.append(invalid(f"{metadata_path}.type", metadata.get("type") or "", "must be object"))
        if level == _ROOT:
            allowed = set(metadata.get("properties") or ()) <= {"name", "generateName"}
            others = {name for name in metadata if name not in ("type", "properties", "default")}
            if not allowed or any(metadata[name] for name in others):
                errors.append(forbidden(metadata_path, _METADATA_ONLY))
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVE) and not properties:
        text = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        errors.append(required(f"{path}.properties", text))
    return errors


def _skips_any_of(schema: Schema) -> bool:
    return schema.get("anyOf") == _INT_OR_STRING


def _skips_first_all_of(schema: Schema) -> bool:
    all_of = schema.get("allOf") or []
    return bool(all_of) and all_of[0].get("anyOf") == _INT_OR_STRING


def _value_validation(schema: Schema, path: str, skip_any_of: bool, skip_first: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("anyOf", "allOf", "oneOf"):
        if name == "anyOf" and skip_any_of:
            continue
        for position, part in enumerate(schema.get(name) or ()):
            skip = name == "allOf" and skip_first and position == 0
            errors += _nested(part, index(f"{path}.{name}", position), skip)
    if schema.get("not") is not None:
        errors += _nested(schema["not"], f"{path}.not", False)
    pattern = schema.get("pattern") or ""
    if pattern:
        why = _pattern_error(pattern)
        if why:
            text = f"must be a valid regular expression, but isn't: {why}"
            errors.append(invalid(f"{path}.pattern", pattern, text))
    return errors


def _pattern_error(pattern: str) -> str:
    from clusters.kube.cel import EvaluationError
    from clusters.kube.cel.regex import compile_re2

    try:
        compile_re2(pattern)
    except EvaluationError as error:
        return str(error)
    return ""


def _nested(schema: Schema, path: str, skip_any_of: bool) -> list[FieldError]:
    errors = _value_validation(schema, path, skip_any_of, False)
    if isinstance(schema.get("items"), Mapping):
        errors += _nested(schema["items"], f"{path}.items", False)
    for name, part in (schema.get("properties") or {}).items():
        errors += _nested(part, key(f"{path}.properties", name), False)
    for name, text in _FORBIDDEN_NESTED:
        value = schema.get(name)
        # An empty schema and a default of false are there, too.
        if value or isinstance(value, Mapping) or (name == "default" and value is not None):
            errors.append(forbidden(f"{path}.{name}", text))
    if "metadata" in (schema.get("properties") or {}):
        text = "must not be specified in a nested context"
        errors.append(forbidden(key(f"{path}.properties", "metadata"), text))
    return errors


def _completeness(validation: Schema, schema: Schema, path: str, at: str) -> list[FieldError]:
    """What the nested schemas speak of must be in the structure itself."""
    errors: list[FieldError] = []
    if validation.get("not") is not None:
        errors += _nested_completeness(validation["not"], schema, path, f"{at}.not")
    for name in ("allOf", "anyOf", "oneOf"):
        for position, part in enumerate(validation.get(name) or ()):
            errors += _nested_completeness(part, schema, path, index(f"{at}.{name}", position))
    return errors


def _nested_completeness(validation: Schema, schema: Schema | None, path: str, at: str) -> list[FieldError]:
    if schema is None:
        return [required(path, f"because it is defined in {at}")]
    errors = _completeness(validation, schema, path, at)
    if isinstance(validation.get("items"), Mapping):
        items = schema.get("items")
        known = items if isinstance(items, Mapping) else None
        errors += _nested_completeness(validation["items"], known, f"{path}.items", f"{at}.items")
    properties = schema.get("properties") or {}
    for name, part in (validation.get("properties") or {}).items():
        part_path, part_at = key(f"{path}.properties", name), key(f"{at}.properties", name)
        errors += _nested_completeness(part, properties.get(name), part_path, part_at)
    return errors
