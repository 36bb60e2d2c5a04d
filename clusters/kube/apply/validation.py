"""Whether a configuration fits its type, in the words of server-side apply.

>>> text(deployment, {"spec": {"replicaz": 1}})
'.spec.replicaz: field not declared in schema'
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from clusters.kube.apply.compare import UntypableError, element_of
from clusters.kube.apply.elements import printed
from clusters.kube.apply.types import ListFace, MapFace, Type
from clusters.kube.gostring import quote
from clusters.kube.patch.errors import go_type, go_value


def text(kind: Type, value: Any) -> str | None:
    """All errors as Kubernetes joins them, or None."""
    errors = [f"{path}: {message}" if path else message for path, message in problems(kind, value)]
    if not errors:
        return None
    return errors[0] if len(errors) == 1 else "\n".join(["errors:", *(f"  {error}" for error in errors)])


def problems(kind: Type, value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(path, message) of each error; duplicates in keyed lists and sets are errors."""
    if isinstance(value, dict) and kind.map is not None:
        yield from _map_problems(kind.map, value, path)
    elif isinstance(value, list) and kind.list is not None:
        yield from _list_problems(kind.list, value, path)
    elif value is not None:
        message = _mismatch(kind, value)
        if message is not None:
            yield path, message


def _map_problems(face: MapFace, value: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    for name, item in value.items():
        kind = face.of(name)
        if kind is None:
            yield f"{path}.{name}", "field not declared in schema"
            return  # The first undeclared field of a map ends the look at it.
        yield from problems(kind, item, f"{path}.{name}")


def _list_problems(face: ListFace, value: list[Any], path: str) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for position, item in enumerate(value):
        if face.atomic:
            yield from problems(face.element, item, f"{path}[{position}]")
            continue
        try:
            element = element_of(face, item)
        except UntypableError as error:
            yield path, f"element {position}: {error}"
            return
        if element in seen:
            yield path, f"duplicate entries for key {printed(element)}"
        seen.add(element)
        yield from problems(face.element, item, path + printed(element))


def _mismatch(kind: Type, value: Any) -> str | None:
    """A value that no face takes. The order is the one in which Kubernetes asks: map, scalar, list."""
    if kind.map is not None and (kind.scalar is None or isinstance(value, (dict, list))):
        return f"expected map, got &{{{go_value(value)}}}"
    if kind.scalar is None:
        return f"expected list, got &{{{go_value(value)}}}"
    if kind.scalar == "numeric":
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return f"expected numeric (int or float), got {go_type(value)}"
    elif kind.scalar == "string":
        if not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{_go_syntax(value)}}}"
    elif kind.scalar == "boolean":
        if not isinstance(value, bool):
            return f"expected boolean, got &{{{go_value(value)}}}"
    elif isinstance(value, (dict, list)):
        return f"expected any scalar, got &{{{go_value(value)}}}"
    return None


def _go_syntax(value: Any) -> str:
    """`%#v` of a decoded JSON value."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(_go_syntax, value)) + "}"
    if isinstance(value, dict):
        inner = ", ".join(f"{quote(key)}:{_go_syntax(value[key])}" for key in sorted(value))
        return "map[string]interface {}{" + inner + "}"
    return "interface {}(nil)" if value is None else go_value(value)
