"""The estimated cost of CEL rules: one rule, and all rules of a schema together, must stay within a budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clusters.kube.field import FieldError, forbidden

if TYPE_CHECKING:
    from clusters.kube.cel import Program

Schema = Mapping[str, Any]

_RULE_LIMIT = 10_000_000
_SCHEMA_LIMIT = 100_000_000
_MAX_UINT64 = 2**64 - 1
_SHOWN_MAX = 4
_ADVICE = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings "
    "are declared)"
)


def occurrences_below(schema: Schema, occurrences: int | None) -> int | None:
    """How often the parts of `schema` can occur, if it can itself `occurrences` times."""
    kind = schema.get("type")
    count: int | None = 1
    if kind == "array":
        count = schema.get("maxItems")
    elif kind == "object" and schema.get("additionalProperties") is not None:
        count = schema.get("maxProperties")
    if occurrences is None or count is None:
        return None
    return min(occurrences * max(count, 0), _MAX_UINT64)


def cost_errors(
    program: Program,
    schema: Schema,
    root: bool,
    occurrences: int | None,
    path: str,
    costs: list[tuple[str, int]],
) -> list[FieldError]:
    """One rule; what it costs is added to `costs`."""
    from clusters.kube.cel.estimates import estimate_cost, max_cardinality
    from clusters.kube.cel.schema import from_schema

    declared = from_schema(schema, root=root)
    if declared is None:
        return []
    times = max_cardinality(declared) if occurrences is None else occurrences
    cost = min(estimate_cost(program, declared).high * times, _MAX_UINT64)
    costs.append((path, cost))
    if cost <= _RULE_LIMIT:
        return []
    return [forbidden(path, _text("estimated rule cost", cost, _RULE_LIMIT))]


def _text(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = "more than 100x" if factor > 100 else f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {shown} {_ADVICE}"


def total_cost_errors(costs: list[tuple[str, int]], path: str) -> list[FieldError]:
    total = min(sum(cost for _, cost in costs), _MAX_UINT64)
    if total <= _SCHEMA_LIMIT:
        return []
    worst = sorted((each for each in costs if each[1] >= _SCHEMA_LIMIT // 100), key=lambda each: -each[1])
    text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    errors = [forbidden(rule_path, text) for rule_path, _ in worst[:_SHOWN_MAX]]
    what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    return [*errors, forbidden(path, _text(what, total, _SCHEMA_LIMIT))]
