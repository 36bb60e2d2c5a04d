"""Pods that want to be near other Pods, or away from them, in a topology (a node, a zone…)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from clusters.emulated.scheduler.affinity_terms import AffinityTerm
from clusters.emulated.scheduler.cache import Cache
from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.listers import Listers
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import MAX_SCORE, Cycle, Plugin
from clusters.emulated.scheduler.plugins.inter_pod_affinity_hints import after_node_change, after_pod_change
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import SKIP, Status, unresolvable, unschedulable
from clusters.kube.selectors import NOTHING

Labels = Mapping[str, str]
# A label and its value on nodes: a domain.
Domain = tuple[str, str]
Counts = dict[Domain, int]

_NOT_NEAR = unresolvable("node(s) didn't match pod affinity rules").by("InterPodAffinity")
_NOT_AWAY = unschedulable("node(s) didn't match pod anti-affinity rules").by("InterPodAffinity")
_UNWANTED = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules").by("InterPodAffinity")

# How much a required affinity of a Pod that runs already attracts the new one.
_HARD_WEIGHT = 1


class _Data:
    """How many Pods per domain match what the Pod wants near, wants away, and who wants the Pod away."""

    __slots__ = ("anti", "anti_terms", "existing_anti", "namespace_labels", "near", "near_terms")

    def __init__(
        self, near_terms: tuple[AffinityTerm, ...], anti_terms: tuple[AffinityTerm, ...], namespace_labels: Labels
    ) -> None:
        self.near_terms = near_terms
        self.anti_terms = anti_terms
        self.namespace_labels = namespace_labels
        self.near: Counts = {}
        self.anti: Counts = {}
        self.existing_anti: Counts = {}

    def copy(self) -> _Data:
        clone = _Data(self.near_terms, self.anti_terms, self.namespace_labels)
        clone.near, clone.anti = dict(self.near), dict(self.anti)
        clone.existing_anti = dict(self.existing_anti)
        return clone

    def count(self, pod: PodInfo, other: PodInfo, node: NodeInfo, delta: int) -> None:
        labels = node.labels
        for term in other.affinity.required_anti:
            if term.matches(pod.namespace, pod.labels, self.namespace_labels):
                _add(self.existing_anti, labels, term.topology_key, delta)
        self.count_own(other, node, delta)

    def count_own(self, other: PodInfo, node: NodeInfo, delta: int) -> None:
        if self.near_terms and _matches_all(self.near_terms, other):
            for term in self.near_terms:
                _add(self.near, node.labels, term.topology_key, delta)
        for term in self.anti_terms:
            if term.matches(other.namespace, other.labels, {}):
                _add(self.anti, node.labels, term.topology_key, delta)


class InterPodAffinity(Plugin):
    name = "InterPodAffinity"

    def __init__(self, cache: Cache, listers: Listers) -> None:
        self._cache = cache
        self._listers = listers
        self.registrations = (
            Registration("Pod", Action.ADD | Action.DELETE | Action.POD_LABEL, after_pod_change),
            Registration("Node", Action.ADD | Action.NODE_LABEL, after_node_change),
        )

    # Filter

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | None:
        if pod.problem:
            return unresolvable(f"parsing pod: {pod.problem}")
        wary = self._cache.nodes_with_required_anti_affinity()
        affinity = pod.affinity
        if not wary and not affinity.required and not affinity.required_anti:
            return SKIP
        data = _Data(
            self._with_namespaces(affinity.required),
            self._with_namespaces(affinity.required_anti),
            self._namespace_labels(pod.namespace),
        )
        for node in wary:
            for other in node.with_required_anti_affinity.values():
                for term in other.affinity.required_anti:
                    if term.matches(pod.namespace, pod.labels, data.namespace_labels):
                        _add(data.existing_anti, node.labels, term.topology_key, 1)
        if not data.existing_anti and not affinity.required and not affinity.required_anti:
            return SKIP
        if affinity.required or affinity.required_anti:
            for node in self._cache.nodes:
                for other in node.pods.values():
                    data.count_own(other, node, 1)
        cycle.data[self.name] = data
        return None

    def filter(self, data: _Data, pod: PodInfo, node: NodeInfo) -> Status | None:
        if not _is_near(data, pod, node.labels):
            return _NOT_NEAR
        labels = node.labels
        if data.anti:
            for term in data.anti_terms:
                value = labels.get(term.topology_key)
                if value is not None and data.anti.get((term.topology_key, value), 0) > 0:
                    return _NOT_AWAY
        if data.existing_anti and any(data.existing_anti.get(domain, 0) > 0 for domain in labels.items()):
            return _UNWANTED
        return None

    def copy_data(self, data: _Data) -> _Data:
        return data.copy()

    def add_pod(self, data: _Data, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
        data.count(pod, other, node, 1)

    def remove_pod(self, data: _Data, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
        data.count(pod, other, node, -1)

    # Score

    def scores(self, cycle: Cycle, pod: PodInfo, nodes: list[NodeInfo]) -> list[int] | None:
        preferred = self._with_namespaces(pod.affinity.preferred)
        preferred_anti = self._with_namespaces(pod.affinity.preferred_anti)
        own = bool(preferred or preferred_anti)
        concerned = self._cache.nodes if own else self._cache.nodes_with_affinity()
        if not concerned:
            return None
        namespace_labels = self._namespace_labels(pod.namespace)
        domains: Counts = {}
        for node in concerned:
            if not node.labels:
                continue
            for other in (node.pods if own else node.with_affinity).values():
                if own:
                    _weigh(domains, preferred, other, {}, node.labels, 1)
                    _weigh(domains, preferred_anti, other, {}, node.labels, -1)
                if other.has_affinity:
                    theirs = other.affinity
                    hard = tuple(replace(term, weight=_HARD_WEIGHT) for term in theirs.required)
                    _weigh(domains, hard, pod, namespace_labels, node.labels, 1)
                    _weigh(domains, theirs.preferred, pod, namespace_labels, node.labels, 1)
                    _weigh(domains, theirs.preferred_anti, pod, namespace_labels, node.labels, -1)
        if not domains:
            return None
        return _normalised([sum(domains.get(domain, 0) for domain in node.labels.items()) for node in nodes])

    # Namespaces

    def _namespace_labels(self, name: str) -> Labels:
        namespace = self._listers.namespaces.get(name)
        return (namespace["metadata"].get("labels") or {}) if namespace else {}

    def _with_namespaces(self, terms: tuple[AffinityTerm, ...]) -> tuple[AffinityTerm, ...]:
        """A namespace selector is resolved once per attempt, into names."""
        return tuple(term if term.namespace_selector.selects_nothing else self._resolved(term) for term in terms)

    def _resolved(self, term: AffinityTerm) -> AffinityTerm:
        names = {
            namespace["metadata"]["name"]
            for namespace in self._listers.namespaces.list()
            if term.namespace_selector.matches(namespace["metadata"].get("labels") or {})
        }
        return replace(term, namespaces=term.namespaces | names, namespace_selector=NOTHING)


def _is_near(data: _Data, pod: PodInfo, labels: Labels) -> bool:
    all_found = True
    for term in data.near_terms:
        value = labels.get(term.topology_key)
        if value is None:
            return False
        if data.near.get((term.topology_key, value), 0) <= 0:
            all_found = False
    # The first Pod of a group that wants to be near its own kind may go anywhere.
    return all_found or (not data.near and _matches_all(data.near_terms, pod))


def _matches_all(terms: tuple[AffinityTerm, ...], other: PodInfo) -> bool:
    return bool(terms) and all(term.matches(other.namespace, other.labels, {}) for term in terms)


def _add(counts: Counts, labels: Labels, key: str, delta: int) -> None:
    value = labels.get(key)
    if value is None:
        return
    left = counts.get((key, value), 0) + delta
    if left:
        counts[(key, value)] = left
    else:
        counts.pop((key, value), None)


def _weigh(
    domains: Counts,
    terms: Iterable[AffinityTerm],
    pod: PodInfo,
    namespace_labels: Labels,
    labels: Labels,
    sign: int,
) -> None:
    for term in terms:
        value = labels.get(term.topology_key)
        if value is not None and term.matches(pod.namespace, pod.labels, namespace_labels):
            domain = (term.topology_key, value)
            domains[domain] = domains.get(domain, 0) + sign * term.weight


def _normalised(scores: list[int]) -> list[int]:
    smallest, largest = min(scores), max(scores)
    span = largest - smallest
    if not span:
        return [0] * len(scores)
    return [int(MAX_SCORE * ((score - smallest) / span)) for score in scores]
