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
        for node in self._cache.nodes:
            if not has_all_keys(node.labels, constraints):
                continue
            for constraint, counts in zip(constraints, domains, strict=True):
                if counts_node(constraint, pod, node, matches):
                    value = node.labels[constraint.topology_key]
                    found = self._count(node, constraint, pod.namespace)
                    counts[value] = counts.get(value, 0) + found
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
            constraints = (
                constraints_of(pod, "ScheduleAnyway") if explicit else default_constraints(pod, self._listers)
            )
        except SelectorError:
            return None
        if not constraints:
            return None
        # Nodes that lack a label of an explicit constraint get nothing; defaults count a missing zone as one.
        ignored = [explicit and not has_all_keys(node.labels, constraints) for node in nodes]
        totals = [0.0] * len(nodes)
        for constraint in constraints:
            self._add_scores(constraint, constraints, pod, nodes, ignored, totals, explicit)
        return _normalised([round_half_away(total) for total in totals], ignored)

    def _add_scores(
        self,
        constraint: Constraint,
        constraints: list[Constraint],
        pod: PodInfo,
        nodes: list[NodeInfo],
        ignored: list[bool],
        totals: list[float],
        explicit: bool,
    ) -> None:
        key = constraint.topology_key
        namespace = pod.namespace
        if key == HOSTNAME:
            weight = math.log(len(nodes) - sum(ignored) + 2)
            for place, node in enumerate(nodes):
                if not ignored[place] and key in node.labels:
                    count = self._count(node, constraint, namespace)
                    totals[place] += count * weight + (constraint.max_skew - 1)
            return
        domains = {node.labels.get(key, ""): 0 for place, node in enumerate(nodes) if not ignored[place]}
        weight = math.log(len(domains) + 2)
        matches = required_node_affinity(pod.pod) or every_node
        for node in self._cache.nodes:
            value = node.labels.get(key, "")
            if value not in domains or (explicit and not has_all_keys(node.labels, constraints)):
                continue
            if counts_node(constraint, pod, node, matches):
                domains[value] += self._count(node, constraint, namespace)
        for place, node in enumerate(nodes):
            if not ignored[place] and key in node.labels:
                totals[place] += domains[node.labels[key]] * weight + (constraint.max_skew - 1)

    def _count(self, node: NodeInfo, constraint: Constraint, namespace: str) -> int:
        if constraint.selector.empty or not node.pods:
            return 0
        return node.count_matching(namespace, constraint.selector, constraint.selector_key)


def _normalised(scores: list[int], ignored: list[bool]) -> list[int]:
    """The fewer matching Pods, the higher: reversed between the smallest and the largest."""
    kept = [score for score, ignore in zip(scores, ignored, strict=True) if not ignore]
    largest = max(kept, default=0)
    smallest = min(kept, default=0)
    if largest == 0:
        return [0 if ignore else MAX_SCORE for ignore in ignored]
    return [
        0 if ignore else MAX_SCORE * (largest + smallest - score) // largest
        for score, ignore in zip(scores, ignored, strict=True)
    ]


def round_half_away(number: float) -> int:
    return math.floor(number + 0.5)
