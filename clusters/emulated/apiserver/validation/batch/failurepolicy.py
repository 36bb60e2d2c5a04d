"""A Job's podFailurePolicy and successPolicy, and the index intervals (`1,3-5`) that success is told in."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.fields import named, nonnegative
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import (
    OMIT_VALUE,
    FieldError,
    duplicate,
    index,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from clusters.kube.gostring import quote, quoted_list

_RULES_MAX = 20
_EXIT_CODES_MAX = 255
_PATTERNS_MAX = 20
_INDEXES_BYTES_MAX = 64 * 1024
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")


class IndexesError(ValueError):
    """The interval list cannot be read; `str()` says why."""


def _one_of(value: str, path: str, supported: tuple[str, ...]) -> list[FieldError]:
    if not value:
        return [required(path, f"valid values: {quoted_list(list(supported))}")]
    return [] if value in supported else [not_supported(path, value, supported)]


def pod_failure_policy_errors(spec: Object, path: str) -> list[FieldError]:
    rules, rules_path = spec["podFailurePolicy"].get("rules") or (), f"{path}.rules"
    errors = [too_many(rules_path, len(rules), _RULES_MAX)] if len(rules) > _RULES_MAX else []
    pod_spec = (spec.get("template") or {}).get("spec") or {}
    containers = {
        container.get("name", "") for part in ("containers", "initContainers") for container in pod_spec.get(part) or ()
    }
    for position, rule in enumerate(rules):
        errors += _rule_errors(spec, rule, index(rules_path, position), containers)
    return errors


def _rule_errors(spec: Object, rule: Object, path: str, containers: set[str]) -> list[FieldError]:
    action, action_path = rule.get("action", ""), f"{path}.action"
    errors: list[FieldError] = []
    if action != "FailIndex":
        errors += _one_of(action, action_path, _ACTIONS)
    elif spec.get("backoffLimitPerIndex") is None:
        errors.append(invalid(action_path, action, "requires the backoffLimitPerIndex to be set"))
    exit_codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
    if exit_codes is not None:
        errors += _exit_code_errors(exit_codes, f"{path}.onExitCodes", containers)
    if conditions:
        errors += _condition_errors(conditions, f"{path}.onPodConditions")
    if exit_codes is not None and conditions:
        text = "specifying both OnExitCodes and OnPodConditions is not supported"
        errors.append(invalid(path, OMIT_VALUE, text))
    if exit_codes is None and not conditions:
        text = "specifying one of OnExitCodes and OnPodConditions is required"
        errors.append(invalid(path, OMIT_VALUE, text))
    return errors


def _condition_errors(conditions: list[Object], path: str) -> list[FieldError]:
    errors = [too_many(path, len(conditions), _PATTERNS_MAX)] if len(conditions) > _PATTERNS_MAX else []
    for position, pattern in enumerate(conditions):
        pattern_path = index(path, position)
        errors += named(f"{pattern_path}.type", pattern.get("type", ""), names.qualified_name)
        errors += _one_of(pattern.get("status", ""), f"{pattern_path}.status", _STATUSES)
    return errors


def _exit_code_errors(exit_codes: Object, path: str, containers: set[str]) -> list[FieldError]:
    operator = exit_codes.get("operator", "")
    errors = _one_of(operator, f"{path}.operator", _OPERATORS)
    container = exit_codes.get("containerName")
    if container is not None and container not in containers:
        text = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", container, text))
    values: list[int] = exit_codes.get("values") or []
    values_path = f"{path}.values"
    if not values:
        errors.append(invalid(values_path, exit_codes.get("values"), "at least one value is required"))
    elif len(values) > _EXIT_CODES_MAX:
        errors.append(too_many(values_path, len(values), _EXIT_CODES_MAX))
    for position, value in enumerate(values):
        value_path = index(values_path, position)
        if operator == "In" and value == 0:
            errors.append(invalid(value_path, value, "must not be 0 for the In operator"))
        if value in values[:position]:
            errors.append(duplicate(value_path, value))
    if values != sorted(values):
        errors.append(invalid(values_path, values, "must be ordered"))
    return errors


def success_policy_errors(spec: Object, path: str) -> list[FieldError]:
    rules, rules_path = spec["successPolicy"].get("rules") or (), f"{path}.rules"
    errors: list[FieldError] = []
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(rules_path, text))
    if len(rules) > _RULES_MAX:
        errors.append(too_many(rules_path, len(rules), _RULES_MAX))
    for position, rule in enumerate(rules):
        errors += _success_rule_errors(rule, index(rules_path, position), spec.get("completions") or 0)
    return errors


def _success_rule_errors(rule: Object, path: str, completions: int) -> list[FieldError]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    errors: list[FieldError] = []
    if count is None and indexes is None:
        errors.append(required(path, "at least one of succeededCount or succeededIndexes must be specified"))
    total = 0
    if indexes is not None:
        indexes_path = f"{path}.succeededIndexes"
        if len(indexes) > _INDEXES_BYTES_MAX:
            errors.append(too_long(indexes_path, _INDEXES_BYTES_MAX))
        try:
            total = count_indexes(indexes, completions)
        except IndexesError as error:
            errors.append(invalid(indexes_path, indexes, f"error parsing succeededIndexes: {error}"))
    if count is not None:
        count_path = f"{path}.succeededCount"
        errors += nonnegative(count, count_path)
        if count > completions:
            text = f"must be less than or equal to {completions} (the number of specified completions)"
            errors.append(invalid(count_path, count, text))
        if indexes is not None and count > total:
            text = (
                f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            )
            errors.append(invalid(count_path, count, text))
    return errors


def count_indexes(text: str, completions: int) -> int:
    """How many indexes `1,3-5` names. Raises IndexesError."""
    total, last = 0, None
    for interval in text.split(",") if text else ():
        start, end = interval_of(interval, completions)
        if last is not None and last >= start:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {start}")
        total += end - start + 1
        last = end
    return total


def interval_of(text: str, completions: int) -> tuple[int, int]:
    """Raises IndexesError."""
    limits = text.split("-")
    if len(limits) > 2:
        raise IndexesError(
            f"the fragment {quote(text)} violates the requirement that an index interval can have at most "
            "two parts separated by '-'"
        )
    numbers = [_index_number(limit, completions) for limit in limits]
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        raise IndexesError(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]


def _index_number(text: str, completions: int) -> int:
    if not text.lstrip("+").isdigit():
        raise IndexesError(f"cannot convert string to integer for index: {quote(text)}")
    if int(text) >= completions:
        raise IndexesError(f"too large index: {quote(text)}")
    return int(text)


def overlap(completed: str, failed: str, completions: int) -> int | None:
    """The first index that both lists name; intervals that cannot be read are passed over."""
    named_by: list[list[tuple[int, int]]] = []
    for text in (completed, failed):
        intervals: list[tuple[int, int]] = []
        for part in text.split(",") if text else ():
            try:
                intervals.append(interval_of(part, completions))
            except IndexesError:
                continue
        named_by.append(intervals)
    shared = [max(a[0], b[0]) for a in named_by[0] for b in named_by[1] if a[0] <= b[1] and b[0] <= a[1]]
    return min(shared, default=None)
