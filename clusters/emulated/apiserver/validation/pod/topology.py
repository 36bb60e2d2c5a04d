"""Topology spread constraints, and the label keys that they and pod affinity take from the Pod itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.validation.pod.options import PodOptions
from clusters.kube import names
from clusters.kube.field import (
    FieldError,
    child,
    duplicate,
    forbidden,
    index,
    invalid,
    not_supported,
    required,
)
from clusters.kube.selectors import validate_label_selector

Value = Mapping[str, Any]

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")


def _label_keys(path: str, keys: Sequence[str] | None, selector: Value | None) -> list[FieldError]:
    if not keys:
        return []
    if selector is None:
        return [forbidden(path, "must not be specified when labelSelector is not set")]
    return [
        invalid(index(path, position), name, text)
        for position, name in enumerate(keys)
        for text in names.qualified_name(name)
    ]


def match_label_keys(
    path: str, match: Sequence[str] | None, mismatch: Sequence[str] | None, selector: Value | None
) -> list[FieldError]:
    """`matchLabelKeys` and `mismatchLabelKeys` beside a selector they are merged into."""
    if not match and not mismatch:
        return []
    errors = _label_keys(child(path, "matchLabelKeys"), match, selector)
    errors += _label_keys(child(path, "mismatchLabelKeys"), mismatch, selector)
    if selector is not None:
        positions = {name: position for position, name in enumerate(match or ())}
        seen = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            name = expression.get("key", "")
            if name in positions and name in seen:
                text = "exists in both matchLabelKeys and labelSelector"
                errors.append(invalid(index(path, positions[name]), name, text))
            seen.add(name)
    for position, name in enumerate(match or ()):
        if name in (mismatch or ()):
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.append(invalid(index(child(path, "matchLabelKeys"), position), name, text))
    return errors


def _legacy_match_label_keys(path: str, keys: Sequence[str], selector: Value | None) -> list[FieldError]:
    if not keys:
        return []
    errors: list[FieldError] = []
    selected: set[str] = set()
    if selector is None:
        errors.append(forbidden(path, "must not be specified when labelSelector is not set"))
    else:
        selected = set(selector.get("matchLabels") or ())
        selected |= {expression.get("key", "") for expression in selector.get("matchExpressions") or ()}
    for position, name in enumerate(keys):
        at = index(path, position)
        errors += [invalid(at, name, text) for text in names.qualified_name(name)]
        if name in selected:
            errors.append(invalid(at, name, "exists in both matchLabelKeys and labelSelector"))
    return errors


def spread_constraints_errors(constraints: Sequence[Value], path: str, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, constraint in enumerate(constraints):
        at = index(path, position)
        topology, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        skew, domains = constraint.get("maxSkew", 0), constraint.get("minDomains")
        selector, keys = constraint.get("labelSelector"), constraint.get("matchLabelKeys") or ()
        if skew <= 0:
            errors.append(invalid(child(at, "maxSkew"), skew, "must be greater than zero"))
        if not topology:
            errors.append(required(child(at, "topologyKey"), "can not be empty"))
        if action not in _ACTIONS:
            errors.append(not_supported(child(at, "whenUnsatisfiable"), action, _ACTIONS))
        if any(
            later.get("topologyKey", "") == topology and later.get("whenUnsatisfiable", "") == action
            for later in constraints[position + 1 :]
        ):
            repeated = child(at, "{topologyKey, whenUnsatisfiable}")
            errors.append(duplicate(repeated, f"{{{topology}, {action}}}"))
        if domains is not None:
            errors += _min_domains(domains, action, child(at, "minDomains"))
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(field) is not None and constraint[field] not in _POLICIES:
                errors.append(not_supported(child(at, field), constraint[field], _POLICIES))
        if options.legacy_match_label_keys:
            errors += _legacy_match_label_keys(child(at, "matchLabelKeys"), keys, selector)
        else:
            errors += match_label_keys(at, keys, None, selector)
        if not options.invalid_topology_selector:
            errors += validate_label_selector(selector, child(at, "labelSelector"))
    return errors


def _min_domains(domains: int, action: str, path: str) -> list[FieldError]:
    errors = [] if domains > 0 else [invalid(path, domains, "must be greater than zero")]
    if action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(invalid(path, domains, text))
    return errors
