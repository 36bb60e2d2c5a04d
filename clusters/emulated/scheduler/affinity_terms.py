"""Inter-pod affinity terms, read once per Pod: which Pods a term means, and in which topology."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clusters.kube import selectors

Object = dict[str, Any]
Labels = Mapping[str, str]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """`namespace_selector` picks further namespaces, by their labels; selecting nothing is the common case."""

    namespaces: frozenset[str]
    selector: selectors.Selector
    topology_key: str
    namespace_selector: selectors.Selector
    weight: int = 0

    def matches(self, namespace: str, labels: Labels, namespace_labels: Labels) -> bool:
        if namespace not in self.namespaces and (
            self.namespace_selector.selects_nothing or not self.namespace_selector.matches(namespace_labels)
        ):
            return False
        return self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class AffinityTerms:
    """What a Pod wants near it and away from it."""

    required: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    preferred_anti: tuple[AffinityTerm, ...] = ()


NONE = AffinityTerms()


def read(pod: Object) -> AffinityTerms:
    """Raises selectors.SelectorError for a selector that admission let through but nobody can read."""
    affinity = pod["spec"].get("affinity")
    if not affinity:
        return NONE
    near, away = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    if not near and not away:
        return NONE
    namespace = pod["metadata"]["namespace"]
    return AffinityTerms(
        tuple(_term(namespace, term) for term in near.get(_REQUIRED) or ()),
        tuple(_term(namespace, term) for term in away.get(_REQUIRED) or ()),
        tuple(_weighted(namespace, term) for term in near.get(_PREFERRED) or ()),
        tuple(_weighted(namespace, term) for term in away.get(_PREFERRED) or ()),
    )


def _weighted(namespace: str, weighted: Object) -> AffinityTerm:
    return _term(namespace, weighted["podAffinityTerm"], int(weighted.get("weight", 0)))


def _term(namespace: str, term: Object, weight: int = 0) -> AffinityTerm:
    names = term.get("namespaces") or ()
    selector = term.get("namespaceSelector")
    # No namespaces at all means the Pod's own; a selector without names means only what it selects.
    own = not names and selector is None
    return AffinityTerm(
        frozenset((namespace,)) if own else frozenset(names),
        selectors.from_label_selector(term.get("labelSelector")),
        term["topologyKey"],
        selectors.from_label_selector(selector),
        weight,
    )
