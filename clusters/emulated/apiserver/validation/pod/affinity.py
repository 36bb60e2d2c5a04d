"""Node selectors, node affinity, pod affinity, tolerations, taints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.validation.pod.options import PodOptions
from clusters.emulated.apiserver.validation.pod.topology import match_label_keys
from clusters.kube import names
from clusters.kube.field import FieldError, child, forbidden, index, invalid, not_supported, required
from clusters.kube.internal import printed
from clusters.kube.selectors import validate_label_selector

Value = Mapping[str, Any]

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _node_requirement(requirement: Value, path: str, allow_invalid_values: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    at = child(path, "values")
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(at, "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(at, text))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            errors.append(required(at, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
    else:
        errors.append(invalid(child(path, "operator"), operator, "not a valid selector operator"))
    name = requirement.get("key", "")
    errors += [invalid(child(path, "key"), name, text) for text in names.qualified_name(name)]
    if not allow_invalid_values:
        for position, value in enumerate(values):
            errors += [invalid(index(at, position), value, text) for text in names.label_value(value)]
    return errors


def _node_field_requirement(requirement: Value, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            errors.append(required(child(path, "values"), text))
    else:
        errors.append(invalid(child(path, "operator"), operator, "not a valid selector operator"))
    if requirement.get("key") != "metadata.name":
        errors.append(invalid(child(path, "key"), requirement.get("key", ""), "not a valid field selector key"))
    else:
        for position, value in enumerate(values):
            at = index(child(path, "values"), position)
            errors += [invalid(at, value, text) for text in names.dns_subdomain(value)]
    return errors


def node_selector_term_errors(term: Value, path: str, *, allow_invalid_values: bool = False) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, requirement in enumerate(term.get("matchExpressions") or ()):
        errors += _node_requirement(requirement, f"{path}.matchExpressions[{position}]", allow_invalid_values)
    for position, requirement in enumerate(term.get("matchFields") or ()):
        errors += _node_field_requirement(requirement, f"{path}.matchFields[{position}]")
    return errors


def node_selector_errors(selector: Value, path: str, *, allow_invalid_values: bool = False) -> list[FieldError]:
    at = child(path, "nodeSelectorTerms")
    terms = selector.get("nodeSelectorTerms")
    if not terms:
        return [required(at, "must have at least one node selector term")]
    errors: list[FieldError] = []
    for position, term in enumerate(terms):
        errors += node_selector_term_errors(term, index(at, position), allow_invalid_values=allow_invalid_values)
    return errors


def affinity_errors(affinity: Value, path: str, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    node = affinity.get("nodeAffinity")
    if node is not None:
        at = child(path, "nodeAffinity")
        if node.get(_REQUIRED) is not None:
            allowed = options.invalid_label_value_in_node_affinity
            errors += node_selector_errors(node[_REQUIRED], child(at, _REQUIRED), allow_invalid_values=allowed)
        for position, term in enumerate(node.get(_PREFERRED) or ()):
            where = index(child(at, _PREFERRED), position)
            errors += _weight(term, where)
            preference = term.get("preference") or {}
            errors += node_selector_term_errors(preference, child(where, "preference"), allow_invalid_values=True)
    for kind in ("podAffinity", "podAntiAffinity"):
        if affinity.get(kind) is not None:
            allowed = options.invalid_label_value_in_selector
            errors += _pod_affinity(affinity[kind], child(path, kind), allowed)
    return errors


def _weight(term: Value, path: str) -> list[FieldError]:
    weight = term.get("weight", 0)
    return [] if 1 <= weight <= 100 else [invalid(child(path, "weight"), weight, "must be in the range 1-100")]


def _pod_affinity(affinity: Value, path: str, allow_invalid_values: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, term in enumerate(affinity.get(_REQUIRED) or ()):
        errors += _pod_affinity_term(term, index(child(path, _REQUIRED), position), allow_invalid_values)
    for position, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        at = index(child(path, _PREFERRED), position)
        errors += _weight(weighted, at)
        term = weighted.get("podAffinityTerm") or {}
        errors += _pod_affinity_term(term, child(at, "podAffinityTerm"), allow_invalid_values)
    return errors


def _pod_affinity_term(term: Value, path: str, allow_invalid_values: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in ("labelSelector", "namespaceSelector"):
        errors += validate_label_selector(term.get(kind), child(path, kind), allow_invalid_values=allow_invalid_values)
    for name in term.get("namespaces") or ():
        errors += [invalid(child(path, "namespace"), name, text) for text in names.dns_label(name)]
    errors += match_label_keys(
        path, term.get("matchLabelKeys"), term.get("mismatchLabelKeys"), term.get("labelSelector")
    )
    topology = term.get("topologyKey", "")
    at = child(path, "topologyKey")
    if not topology:
        errors.append(required(at, "can not be empty"))
    return errors + [invalid(at, topology, text) for text in names.qualified_name(topology)]


def taint_effect_errors(effect: str, path: str) -> list[FieldError]:
    return [] if effect in TAINT_EFFECTS else [not_supported(path, effect, TAINT_EFFECTS)]


def tolerations_errors(tolerations: Sequence[Value], path: str, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, toleration in enumerate(tolerations):
        at = index(path, position)
        name, operator = toleration.get("key", ""), toleration.get("operator", "")
        effect, value = toleration.get("effect", ""), toleration.get("value", "")
        if name:
            errors += [invalid(child(at, "key"), name, text) for text in names.qualified_name(name)]
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(invalid(child(at, "operator"), operator, text))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            text = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(invalid(child(at, "effect"), effect, text))
        errors += _operator_errors(operator, value, at, options)
        if effect:
            errors += taint_effect_errors(effect, child(at, "effect"))
    return errors


def _operator_errors(operator: str, value: str, path: str, options: PodOptions) -> list[FieldError]:
    at = child(path, "operator")
    if operator in ("Equal", ""):
        wrong = names.label_value(value)
        return [invalid(at, value, ";".join(wrong))] if wrong else []
    if operator == "Exists":
        return [invalid(at, value, "value must be empty when `operator` is 'Exists'")] if value else []
    if operator in ("Lt", "Gt"):
        if options.toleration_comparison:
            return []
        return [not_supported(at, operator, ("Equal", "Exists", "Lt", "Gt"))]
    return [not_supported(at, operator, ("Equal", "Exists"))]


def taints_errors(taints: Sequence[Value], path: str) -> list[FieldError]:
    """A node's taints."""
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate(taints):
        at = index(path, position)
        name, value, effect = (taint.get(field, "") for field in ("key", "value", "effect"))
        errors += [invalid(child(at, "key"), name, text) for text in names.qualified_name(name)]
        wrong = names.label_value(value)
        if wrong:
            errors.append(invalid(child(at, "value"), value, ";".join(wrong)))
        if not effect:
            errors.append(required(child(at, "effect")))
        else:
            errors += taint_effect_errors(effect, child(at, "effect"))
        if (effect, name) in seen:
            detail = "taints must be unique by key and effect pair"
            errors.append(FieldError("FieldValueDuplicate", at, printed("core.Taint", taint), detail))
        seen.add((effect, name))
    return errors
