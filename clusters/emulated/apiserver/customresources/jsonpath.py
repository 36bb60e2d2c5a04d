"""JSONPath as client-go understands it, for printer columns and selectable fields.

    >>> JsonPath.parse('.status.conditions[?(@.type=="Ready")].status').find(obj)
    ['True']

A path that leads nowhere finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

Step = Callable[[list[Any]], list[Any]]

_NAME = re.compile(r"(?:\\.|[^\s.\[\]{}|,()'\"\\])+")
_FILTER = re.compile(r"\s*(@[^=!<>]*?)\s*(?:(==|!=|<=|>=|<|>)\s*(.+?))?\s*")
_SLICE = re.compile(r"(-?\d*)(?::(-?\d*))?(?::(-?\d*))?")


class JsonPathError(ValueError):
    """The text is no JSONPath."""


class JsonPath:
    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)

    @staticmethod
    def parse(text: str) -> JsonPath:
        return JsonPath(_steps(text))

    def find(self, value: Any) -> list[Any]:
        values = [value]
        for step in self._steps:
            if not values:
                break
            values = step(values)
        return values


def _steps(text: str) -> list[Step]:
    steps: list[Step] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character in "$@":
            position += 1
        elif text.startswith("..", position):
            match = _NAME.match(text, position + 2)
            if match is None:
                raise JsonPathError(text)
            steps.append(_recursive(_unescaped(match.group())))
            position = match.end()
        elif character == ".":
            if position + 1 == len(text):
                position += 1
                continue
            if text[position + 1] == "[":
                position += 1
                continue
            match = _NAME.match(text, position + 1)
            if match is None:
                raise JsonPathError(text)
            steps.append(_wildcard if match.group() == "*" else _field(_unescaped(match.group())))
            position = match.end()
        elif character == "[":
            end = _closing(text, position)
            steps.append(_bracket(text[position + 1 : end]))
            position = end + 1
        else:
            match = _NAME.match(text, position)
            if match is None or position:
                raise JsonPathError(text)
            steps.append(_field(_unescaped(match.group())))
            position = match.end()
    return steps


def _closing(text: str, start: int) -> int:
    """Where the bracket at `start` ends; brackets in quotes do not count."""
    depth, quote = 0, ""
    for position in range(start, len(text)):
        character = text[position]
        if quote:
            if character == quote and text[position - 1] != "\\":
                quote = ""
        elif character in "'\"":
            quote = character
        elif character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
            if not depth:
                return position
    raise JsonPathError(text)


def _unescaped(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _bracket(inner: str) -> Step:
    inner = inner.strip()
    if inner.startswith("?("):
        return _filter(inner[2:].removesuffix(")"))
    if inner == "*":
        return _wildcard
    if inner[:1] in "'\"" and inner:
        parts = re.findall(r"'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"", inner)
        return _union([_field(_unescaped(single or double)) for single, double in parts])
    if "," in inner:
        return _union([_bracket(part) for part in inner.split(",")])
    match = _SLICE.fullmatch(inner)
    if match is None or not inner:
        raise JsonPathError(inner)
    start, end, step = match.groups()
    if end is None and step is None:
        return _index(int(start))
    return _slice(*(int(part) if part else None for part in (start, end, step)))


def _field(name: str) -> Step:
    def step(values: list[Any]) -> list[Any]:
        return [value[name] for value in values if value.__class__ is dict and name in value]

    return step


def _wildcard(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value.__class__ is dict:
            found += [value[name] for name in sorted(value)]
        elif value.__class__ is list:
            found += value
    return found


def _index(position: int) -> Step:
    def step(values: list[Any]) -> list[Any]:
        return [value[position] for value in values if value.__class__ is list and -len(value) <= position < len(value)]

    return step


def _slice(start: int | None, end: int | None, step_by: int | None) -> Step:
    def step(values: list[Any]) -> list[Any]:
        return [each for value in values if value.__class__ is list for each in value[start:end:step_by]]

    return step


def _union(steps: list[Step]) -> Step:
    return lambda values: [each for step in steps for each in step(values)]


def _recursive(name: str) -> Step:
    def descend(value: Any, found: list[Any]) -> None:
        if value.__class__ is dict:
            if name in value:
                found.append(value[name])
            for each in value.values():
                descend(each, found)
        elif value.__class__ is list:
            for each in value:
                descend(each, found)

    def step(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in values:
            descend(value, found)
        return found

    return step


def _filter(text: str) -> Step:
    match = _FILTER.fullmatch(text)
    if match is None:
        raise JsonPathError(text)
    left, operator, right = match.groups()
    path = JsonPath(_steps(left))
    if operator is None:
        return lambda values: [item for item in _elements(values) if path.find(item)]
    wanted: Callable[[Any], list[Any]]
    if right.startswith("@"):
        wanted = JsonPath(_steps(right)).find
    else:
        literal = _literal(right)
        wanted = lambda item: [literal]  # noqa: E731
    return lambda values: [item for item in _elements(values) if _compare(path.find(item), operator, wanted(item))]


def _elements(values: list[Any]) -> list[Any]:
    return [item for value in values if value.__class__ is list for item in value]


def _literal(text: str) -> Any:
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return _unescaped(text[1:-1])
    if text in ("true", "false"):
        return text == "true"
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise JsonPathError(text) from None


def _compare(left: list[Any], operator: str, right: list[Any]) -> bool:
    if not left or not right:
        return False
    a, b = left[0], right[0]
    numbers = isinstance(a, (int, float)) and isinstance(b, (int, float))
    if a.__class__ is not b.__class__ and not numbers:
        return False
    if operator in ("==", "!="):
        return bool((a == b) == (operator == "=="))
    return bool({"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator])
