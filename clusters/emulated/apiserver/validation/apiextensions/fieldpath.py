"""Paths to fields of a schema, as rules (`fieldPath`) and selectable fields have them: `.spec.color`, `.a['b.c']`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_TOKENS = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+")


class FieldPathError(ValueError):
    """The path leads nowhere; `str()` says why."""


def resolve(path: str, schema: Schema, *, brackets: bool = True) -> tuple[str, Schema | None]:
    """The normalised path and the schema it leads to. Raises FieldPathError."""
    tokens = iter(_TOKENS.findall(path))
    normalised, at = "", schema
    for token in tokens:
        if token == "[":
            if not brackets:
                raise FieldPathError("array notation is not allowed")
            name = _next(tokens)
            if len(name) < 2 or not (name.startswith("'") and name.endswith("'")):
                raise FieldPathError(f"expected single quoted string but got {name}")
            normalised, at = _step(normalised, at, re.sub(r"\\(.)", r"\1", name[1:-1]))
            closing = _next(tokens)
            if closing != "]":
                raise FieldPathError(f"expected ] but got {closing}")
        elif token == ".":
            normalised, at = _step(normalised, at, _next(tokens))
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
    return normalised, at


def _next(tokens: Any) -> str:
    token = next(tokens, None)
    if token is None:
        raise FieldPathError("unexpected end of JSON path")
    return str(token)


def _step(normalised: str, schema: Schema, name: str) -> tuple[str, Schema]:
    properties = schema.get("properties")
    if properties:
        if name not in properties:
            raise FieldPathError("does not refer to a valid field")
        return (f"{normalised}.{name}" if normalised else name), properties[name]
    additional = schema.get("additionalProperties")
    if isinstance(additional, Mapping):
        return f"{normalised}[{name}]", additional
    raise FieldPathError("does not refer to a valid field")
