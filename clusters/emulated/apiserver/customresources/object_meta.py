"""apiVersion, kind and metadata of a resource, also where one is embedded in another."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.customresources.structural import Structural
from clusters.emulated.apiserver.validation.metadata import object_meta_errors
from clusters.kube import names
from clusters.kube.field import FieldError, child, index, invalid, key, required
from clusters.kube.schema import DecodeError, Struct, decode

Object = dict[str, Any]


def read_metadata(raw: Any, struct: Struct, path: str = "metadata") -> tuple[Object, list[str]]:
    """ObjectMeta as Go reads it, and what a strict reader says; raises DecodeError."""
    return decode(struct, {} if raw is None else raw, (None, path))


def coerce_embedded(value: Any, schema: Structural | None, struct: Struct, path: str, problems: list[str]) -> None:
    """Reads the metadata of every embedded resource; raises DecodeError at the first that cannot be read."""
    if schema is None or not schema.has_embedded:
        return
    if value.__class__ is dict:
        for name in list(value):
            each = value[name]
            if schema.embedded:
                if name in ("apiVersion", "kind") and each.__class__ is not str:
                    raise DecodeError(str(invalid(child(path, name), each, "must be a string")))
                if name == "metadata":
                    value[name] = each = _coerced(each, struct, child(path, name), problems)
            part = schema.properties.get(name)
            if part is not None:
                coerce_embedded(each, part, struct, child(path, name), problems)
            elif schema.additional is not None:
                coerce_embedded(each, schema.additional, struct, key(path, name), problems)
    elif value.__class__ is list:
        for position, each in enumerate(value):
            coerce_embedded(each, schema.items, struct, index(path, position), problems)


def _coerced(raw: Any, struct: Struct, path: str, problems: list[str]) -> Object:
    try:
        metadata, unknown = read_metadata(raw, struct, path)
    except DecodeError as error:
        raise DecodeError(str(invalid(path, raw, error.text))) from None
    problems += unknown
    return metadata


def embedded_errors(value: Any, schema: Structural | None, path: str = "") -> list[FieldError]:
    """What is wrong with the type and metadata of embedded resources."""
    if schema is None or not schema.has_embedded:
        return []
    errors: list[FieldError] = []
    if value.__class__ is dict:
        if schema.embedded:
            errors += _resource_errors(value, path)
        for name in sorted(value):
            part = schema.properties.get(name)
            if part is not None:
                errors += embedded_errors(value[name], part, child(path, name))
            elif schema.additional is not None:
                errors += embedded_errors(value[name], schema.additional, key(path, name))
    elif value.__class__ is list:
        for position, each in enumerate(value):
            errors += embedded_errors(each, schema.items, index(path, position))
    return errors


def _resource_errors(value: Object, path: str) -> list[FieldError]:
    errors = [required(child(path, name)) for name in ("apiVersion", "kind") if name not in value]
    api_version, kind = value.get("apiVersion", "v1"), value.get("kind", "X")
    if api_version.__class__ is not str:
        errors.append(invalid(child(path, "apiVersion"), api_version, "must be a string"))
    elif not api_version:
        errors.append(invalid(child(path, "apiVersion"), api_version, "must not be empty"))
    elif api_version.count("/") > 1:
        text = f"unexpected GroupVersion string: {api_version}"
        errors.append(invalid(child(path, "apiVersion"), api_version, text))
    if kind.__class__ is not str:
        errors.append(invalid(child(path, "kind"), kind, "must be a string"))
    elif not kind:
        errors.append(invalid(child(path, "kind"), kind, "must not be empty"))
    else:
        problems = names.dns1035_label(kind.lower())
        if problems:
            text = f"may have mixed case, but should otherwise match: {','.join(problems)}"
            errors.append(invalid(child(path, "kind"), kind, text))
    metadata = value.get("metadata")
    if metadata is not None:
        named = {**metadata, "name": metadata.get("name") or "fakename"}
        errors += object_meta_errors(
            named, bool(metadata.get("namespace")), names.path_segment_name, child(path, "metadata")
        )
    return errors
