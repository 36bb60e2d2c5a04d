"""Path elements as FieldsV1 writes them: `f:name`, `k:{"name":"c"}`, `v:"x"`, `i:0`; `.` is the place itself.

They stay strings everywhere; this file makes them, sorts them as Go does, and prints them in paths.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import orjson

from clusters.kube.gostring import quote, to_json
from clusters.kube.patch.errors import go_value

#: Strings that JSON writes as they are, so that most keys need no encoder.
_plain = re.compile(r"[A-Za-z0-9_./:@ -]*\Z").match


class BadElementError(ValueError):
    """A string that is no path element; managed fields with one are not taken over."""


def json_text(value: Any) -> str:
    if type(value) is str and _plain(value):
        return f'"{value}"'
    return to_json(value)


def key_element(pairs: list[tuple[str, Any]]) -> str:
    """`k:{…}` of key fields that are sorted by name."""
    return "k:{" + ",".join(f'"{name}":{json_text(value)}' for name, value in pairs) + "}"


def value_element(value: Any) -> str:
    return "v:" + json_text(value)


def _value_order(value: Any) -> tuple[int, Any]:
    """Numbers before strings before booleans, then lists, maps and null by their text."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, (int, float)):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (5, "") if value is None else (3 if isinstance(value, list) else 4, to_json(value))


@lru_cache(maxsize=8192)
def order(element: str) -> tuple[Any, ...]:
    """The sort key of an element: fields, then keys, then values, then indices; each by its content."""
    kind = element[:2]
    if kind == "f:":
        return (0, element[2:])
    if kind == "k:":
        return (1, tuple((name, _value_order(value)) for name, value in key_pairs(element)))
    if kind == "v:":
        return (2, _value_order(orjson.loads(element[2:])))
    return (3, int(element[2:])) if kind == "i:" else (-1,)


def key_pairs(element: str) -> list[tuple[str, Any]]:
    loaded: dict[str, Any] = orjson.loads(element[2:])
    return sorted(loaded.items(), key=lambda pair: pair[0])


def canonical(element: str) -> str | None:
    """The element as Kubernetes would write it, None for kinds that do not exist (they are skipped)."""
    if len(element) < 2:
        raise BadElementError("key must be 2 characters long:")
    if element[1] != ":":
        raise BadElementError(f"missing colon: {element}")
    kind = element[0]
    if kind == "f":
        return element
    try:
        if kind == "v":
            return value_element(orjson.loads(element[2:]))
        if kind == "k":
            return key_element(key_pairs(element))
        if kind == "i":
            return f"i:{int(element[2:])}"
    except (ValueError, AttributeError) as error:
        raise BadElementError(f"cannot read path element {element}: {error}") from error
    return None


def printed(element: str) -> str:
    """As paths show it: `.name`, `[name="c"]`, `[="x"]`, `[0]`."""
    kind = element[:2]
    if kind == "f:":
        return "." + element[2:]
    if kind == "k:":
        return "[" + ",".join(f"{name}={_shown(value)}" for name, value in key_pairs(element)) + "]"
    return f"[={_shown(orjson.loads(element[2:]))}]" if kind == "v:" else f"[{element[2:]}]"


def _shown(value: Any) -> str:
    if value is None:
        return "null"
    return quote(value) if isinstance(value, str) else go_value(value)
