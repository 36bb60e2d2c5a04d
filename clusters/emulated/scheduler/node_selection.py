"""Which nodes a node selector picks: nodeSelector, node affinity, and a volume's node affinity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clusters.kube import selectors

Object = dict[str, Any]
Labels = Mapping[str, str]
# Called with a node's labels and its name.
NodeMatcher = Callable[[Labels, str], bool]

_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": "gt", "Lt": "lt"}


def every_node(labels: Labels, name: str) -> bool:
    return True


def required_node_affinity(pod: Object) -> NodeMatcher | None:
    """nodeSelector and required node affinity together. None: every node will do."""
    spec = pod["spec"]
    wanted = spec.get("nodeSelector")
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if not wanted and affinity is None:
        return None
    terms = None if affinity is None else node_selector(affinity)
    if not wanted:
        return terms
    pairs = dict(wanted).items()
    if terms is None:
        return lambda labels, name: pairs <= labels.items()
    matches = terms
    return lambda labels, name: pairs <= labels.items() and matches(labels, name)


def node_selector(selector: Object) -> NodeMatcher:
    """Terms are ORed; an empty term, and a term that cannot be read, picks nothing."""
    terms = [matcher for term in selector.get("nodeSelectorTerms") or () if (matcher := node_selector_term(term))]
    if len(terms) == 1:
        return terms[0]
    return lambda labels, name: any(matches(labels, name) for matches in terms)


def node_selector_term(term: Object) -> NodeMatcher | None:
    """Requirements are ANDed. None when the term is empty or unreadable."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return None
    try:
        label_match = _labels_matcher(expressions) if expressions else None
    except selectors.SelectorError:
        return None
    name_match = _name_matcher(fields) if fields else None
    if fields and name_match is None:
        return None
    if name_match is None:
        matches = label_match
        assert matches is not None, "a term without fields has expressions"
        return lambda labels, name: matches(labels)
    by_name = name_match
    if label_match is None:
        return lambda labels, name: by_name(name)
    by_label = label_match
    return lambda labels, name: by_label(labels) and by_name(name)


def _labels_matcher(expressions: Sequence[Object]) -> Callable[[Labels], bool]:
    requirements = []
    for expression in expressions:
        operator = _OPERATORS.get(expression.get("operator", ""))
        if operator is None:
            raise selectors.SelectorError(f"unknown operator {expression.get('operator')!r}")
        requirements.append(selectors.requirement(expression.get("key", ""), operator, expression.get("values") or ()))
    return selectors.Selector(requirements).matches


def _name_matcher(fields: Sequence[Object]) -> Callable[[str], bool] | None:
    """Only metadata.name exists as a field of a node."""
    tests: list[tuple[bool, bool, str]] = []
    for field in fields:
        values = field.get("values") or []
        if len(values) != 1 or field.get("operator") not in ("In", "NotIn"):
            return None
        tests.append((field.get("key") == "metadata.name", field["operator"] == "In", values[0]))

    def matches(name: str) -> bool:
        for is_name, equal, value in tests:
            actual = name if is_name else ""
            if (actual == value) is not equal:
                return False
        return True

    return matches
