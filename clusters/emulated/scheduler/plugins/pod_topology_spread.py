"""Topology spread constraints: hard ones filter, soft ones score.

A Pod that names none, but belongs to a Service or a controller, is spread softly over nodes and zones.
"""

from __future__ import annotations

import math
from typing import Any

from clusters.emulated.scheduler.cache import Cache
from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.listers import Listers
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.node_selection import every_node, required_node_affinity
from clusters.emulated.scheduler.plugin import MAX_SCORE, Cycle, Plugin
from clusters.emulated.scheduler.plugins.spread_constraints import (
    HOSTNAME,
    Constraint,
    constraints_of,
    counts_node,
    default_constraints,
    has_all_keys,
)
from clusters.emulated.scheduler.plugins.spread_hints import SpreadHints
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import SKIP, Status, unresolvable, unschedulable
from clusters.kube.selectors import SelectorError

Object = dict[str, Any]

_MISMATCH = "node(s) didn't match pod topology spread constraints"
_TOO_SKEWED = unschedulable(_MISMATCH).by("PodTopologySpread")
_NO_LABEL = unresolvable(f"{_MISMATCH} (missing required label)").by("PodTopologySpread")


class _Counts:
    """Per constraint: how many matching Pods each domain has."""

    __slots__ = ("constraints", "domains", "smallest")

    def __init__(self, constraints: list[Constraint], domains: list[dict[str, int]]) -> None:
        self.constraints = constraints
        self.domains = domains
        self.smallest: list[int] = []
        self.find_smallest()

    def find_smallest(self) -> None:
        """The emptiest domain is what skew is measured against; with too few domains that is a missing one."""
        self.smallest = [
            0 if len(counts) < constraint.min_domains else min(counts.values(), default=math.inf)  # type: ignore[misc]
            for constraint, counts in zip(self.constraints, self.domains, strict=True)
        ]

    def copy(self) -> _Counts:
        return _Counts(self.constraints, [dict(counts) for counts in self.domains])


class PodTopologySpread(Plugin):
    name = "PodTopologySpread"

    def __init__(self, cache: Cache, listers: Listers) -> None:
        self._cache = cache
        self._listers = listers
        hints = SpreadHints(self._hard_constraints)
        self.registrations = (
            Registration(
                "Pod",
                Action.ADD | Action.DELETE | Action.POD_LABEL | Action.POD_TOLERATION,
                hints.after_pod_change,
            ),
            Registration(
                "Node",
                Action.ADD | Action.DELETE | Action.NODE_LABEL | Action.NODE_TAINT,
                hints.after_node_change,
            ),
        )

    def _hard_constraints(self, pod: PodInfo) -> list[Constraint]:
        # The default constraints are all soft.
        return constraints_of(pod, "DoNotSchedule") if pod.spec.get("topologySpreadConstraints") else []

    # Filter

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | None:
        constraints = self._hard_constraints(pod)
        if not constraints:
            return SKIP
        matches = required_node_affinity(pod.pod) or every_node
        domains: list[dict[str, int]] = [{} for _ in constraints]
        counted = [self._counts(constraint, pod.namespace) for constraint in constraints]
        for node in self._cache.nodes:
            if not has_all_keys(node.labels, constraints):
                continue
            for constraint, counts, by_node in zip(constraints, domains, counted, strict=True):
                if counts_node(constraint, pod, node, matches):
                    value = node.labels[constraint.topology_key]
                    counts[value] = counts.get(value, 0) + by_node.get(node.name, 0)
        cycle.data[self.name] = _Counts(constraints, domains)
        return None

    def filter(self, data: _Counts, pod: PodInfo, node: NodeInfo) -> Status | None:
        for place, constraint in enumerate(data.constraints):
            value = node.labels.get(constraint.topology_key)
            if value is None:
                return _NO_LABEL
            skew = data.domains[place].get(value, 0) + constraint.self_match - data.smallest[place]
            if skew > constraint.max_skew:
                return _TOO_SKEWED
        return None

    def copy_data(self, data: _Counts) -> _Counts:
        return data.copy()

    def add_pod(self, data: _Counts, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
        self._recount(data, pod, other, node, 1)

    def remove_pod(self, data: _Counts, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
        self._recount(data, pod, other, node, -1)

    def _recount(self, data: _Counts, pod: PodInfo, other: PodInfo, node: NodeInfo, delta: int) -> None:
        if other.namespace != pod.namespace or not has_all_keys(node.labels, data.constraints):
            return
        matches = required_node_affinity(pod.pod) or every_node
        for constraint, counts in zip(data.constraints, data.domains, strict=True):
            if constraint.selector.matches(other.labels) and counts_node(constraint, pod, node, matches):
                value = node.labels[constraint.topology_key]
                counts[value] = counts.get(value, 0) + delta
        data.find_smallest()

    # Score

    def scores(self, cycle: Cycle, pod: PodInfo, nodes: list[NodeInfo]) -> list[int] | None:
        explicit = bool(pod.spec.get("topologySpreadConstraints"))
        try:
            constraints = constraints_of(pod, "ScheduleAnyway") if explicit else default_constraints(pod, self._listers)
        except SelectorError:
            return None
        if not constraints:
            return None
        # Nodes that lack a label of an explicit constraint get nothing; defaults count a missing zone as one.
        kept = [node for node in nodes if has_all_keys(node.labels, constraints)] if explicit else nodes
        totals = [0.0] * len(kept)
        for constraint in constraints:
            if constraint.topology_key == HOSTNAME:
                totals = self._add_by_node(constraint, pod, kept, totals)
            else:
                totals = self._add_by_domain(constraint, constraints if explicit else [], pod, kept, totals)
        scores = _normalised([math.floor(total + 0.5) for total in totals])
        if len(kept) == len(nodes):
            return scores
        by_name = {node.name: score for node, score in zip(kept, scores, strict=True)}
        return [by_name.get(node.name, 0) for node in nodes]

    def _add_by_node(
        self, constraint: Constraint, pod: PodInfo, nodes: list[NodeInfo], totals: list[float]
    ) -> list[float]:
        counts = self._counts(constraint, pod.namespace)
        weight, more = math.log(len(nodes) + 2), constraint.max_skew - 1
        return [
            total + counts.get(node.name, 0) * weight + more if HOSTNAME in node.labels else total
            for node, total in zip(nodes, totals, strict=True)
        ]

    def _add_by_domain(
        self,
        constraint: Constraint,
        needed: list[Constraint],
        pod: PodInfo,
        nodes: list[NodeInfo],
        totals: list[float],
    ) -> list[float]:
        """`needed`: only nodes with the labels of all of these count."""
        key = constraint.topology_key
        values = [node.labels.get(key, "") for node in nodes]
        domains = dict.fromkeys(values, 0)
        if not domains.keys() - {""}:
            return totals  # No node has the label: nothing to tell them apart.
        matches = required_node_affinity(pod.pod) or every_node
        for name, count in self._counts(constraint, pod.namespace).items():
            node = self._cache.node(name)
            if node is None or not has_all_keys(node.labels, needed):
                continue
            value = node.labels.get(key, "")
            if value in domains and counts_node(constraint, pod, node, matches):
                domains[value] += count
        weight, more = math.log(len(domains) + 2), constraint.max_skew - 1
        added = {value: count * weight + more for value, count in domains.items()}
        return [
            total + added[value] if value or key in node.labels else total
            for node, value, total in zip(nodes, values, totals, strict=True)
        ]

    def _counts(self, constraint: Constraint, namespace: str) -> dict[str, int]:
        if constraint.selector.empty:
            return {}
        return self._cache.matching(namespace, constraint.selector, constraint.selector_key)


def _normalised(scores: list[int]) -> list[int]:
    """The fewer matching Pods, the higher: reversed between the smallest and the largest."""
    largest, smallest = max(scores, default=0), min(scores, default=0)
    if largest == 0:
        return [MAX_SCORE] * len(scores)
    top = largest + smallest
    return [MAX_SCORE * (top - score) // largest for score in scores]
