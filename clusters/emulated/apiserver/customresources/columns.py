"""Printer columns: what `kubectl get` shows of a custom resource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.customresources.go_numbers import go_float
from clusters.emulated.apiserver.customresources.jsonpath import JsonPath, JsonPathError
from clusters.emulated.apiserver.tables.printer import CREATED_DESCRIPTION, NAME, Cells, Column, Printer
from clusters.kube.gostring import to_json
from clusters.kube.timestamps import TimestampError, parse_time, unix_s

Object = dict[str, Any]

_AGE = {
    "name": "Age",
    "type": "date",
    "description": CREATED_DESCRIPTION,
    "jsonPath": ".metadata.creationTimestamp",
}


def printer(columns: Sequence[Mapping[str, Any]] | None) -> Printer:
    """The columns of a version; with none given there is the age. One that cannot be read ends the list."""
    made: list[tuple[Column, JsonPath]] = []
    chosen: Sequence[Mapping[str, Any]] = columns or (_AGE,)
    for column in chosen:
        path: str = column["jsonPath"]
        try:
            parsed = JsonPath.parse(path)
        except JsonPathError:
            break
        described = column.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
        shown = Column(
            column["name"], column["type"], column.get("format") or "", described, column.get("priority") or 0
        )
        made.append((shown, parsed))

    def cells(obj: Object, now_s: float) -> Cells:
        return [obj["metadata"].get("name", ""), *(_cell(column, path, obj, now_s) for column, path in made)]

    return Printer((NAME, *(column for column, _ in made)), cells)


def _cell(column: Column, path: JsonPath, obj: Object, now_s: float) -> Any:
    found = path.find(obj)
    if not found:
        return None
    value, kind = found[0], column.type
    if kind == "string":
        return _text(value)
    numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "integer":
        return int(value) if numeric else None
    if kind == "number":
        return value if numeric else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if kind == "date" and isinstance(value, str):
        try:
            return human_duration(now_s - unix_s(parse_time(value)))
        except TimestampError:
            return "<invalid>"
    return None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "<nil>"
    if isinstance(value, (int, float)):
        return go_float(value)
    return value if isinstance(value, str) else to_json(value)


def human_duration(seconds: float) -> str:
    """A duration in at most two units, as `kubectl get` shows ages."""
    if seconds < -1:
        return "<invalid>"
    whole = int(seconds)
    if whole < 0:
        return "0s"
    if whole < 120:
        return f"{whole}s"
    minutes = whole // 60
    if minutes < 10:
        rest = whole % 60
        return f"{minutes}m{rest}s" if rest else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 8:
        rest = minutes % 60
        return f"{hours}h{rest}m" if rest else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if hours < 192:
        rest = hours % 24
        return f"{days}d{rest}h" if rest else f"{days}d"
    if days < 730:
        return f"{days}d"
    years = days // 365
    if years < 8:
        rest = days % 365
        return f"{years}y{rest}d" if rest else f"{years}y"
    return f"{years}y"
