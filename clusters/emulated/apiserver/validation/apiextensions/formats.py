"""Formats that the api-server knows: any other is ignored, with a warning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube.gostring import quote

_STRING_FORMATS = frozenset(
    (
        "bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5",
        "isbn", "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date",
        "duration", "datetime", "k8sshortname", "k8slongname",
    )
)  # fmt: skip
_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def format_warnings(spec: Object, old_spec: Object | None = None) -> list[str]:
    """One per unknown format that the stored definition does not have already."""
    known = set(_unrecognized(old_spec)) if old_spec else set()
    return [f"unrecognized format {quote(each)}" for each in _unrecognized(spec) if each not in known]


def _unrecognized(spec: Object) -> list[str]:
    versions = spec.get("versions") or []
    schemas = [(version.get("schema") or {}).get("openAPIV3Schema") or {} for version in versions]
    if schemas and all(schema == schemas[0] for schema in schemas):
        schemas = schemas[:1]
    return [
        part["format"]
        for schema in schemas
        for part in _walk(schema)
        if part.get("format") and not _recognized(part["format"], part.get("type") or "")
    ]


def _recognized(format_: str, kind: str) -> bool:
    if kind in ("", "string"):
        # Dashes do not count: date-time is datetime.
        return format_.replace("-", "") in _STRING_FORMATS
    return format_ in _NUMBER_FORMATS.get(kind, ())


def _walk(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield schema
    items = schema.get("items")
    parts: list[Any] = [*items] if isinstance(items, list) else [items]
    for name in ("allOf", "anyOf", "oneOf"):
        parts += schema.get(name) or ()
    parts.append(schema.get("not"))
    parts += (schema.get("properties") or {}).values()
    parts.append(schema.get("additionalProperties"))
    for part in parts:
        if isinstance(part, Mapping):
            yield from _walk(part)
