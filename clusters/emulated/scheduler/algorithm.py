"""From a Pod to a node: filter the nodes, score those that are left, take the best.

A large cluster is not searched to the end: the search stops when enough nodes fit, and the next one starts where
this one ended, so that all nodes have their turn.
"""

from __future__ import annotations

from typing import Final

from clusters.emulated.clock import Randomness
from clusters.emulated.scheduler.cache import Cache
from clusters.emulated.scheduler.fit_error import Diagnosis, FitError, NoNodesError
from clusters.emulated.scheduler.framework import Framework
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import Cycle
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import unresolvable

_ENOUGH_MIN: Final = 100
_PERCENTAGE_MIN: Final = 5


def enough_nodes(total: int) -> int:
    """How many fitting nodes end the search: half of a small cluster, 5 % of a very large one, 100 at least."""
    if total < _ENOUGH_MIN:
        return total
    percentage = max(50 - total // 125, _PERCENTAGE_MIN)
    return max(total * percentage // 100, _ENOUGH_MIN)


class Algorithm:
    def __init__(self, cache: Cache, framework: Framework, randomness: Randomness) -> None:
        self._cache = cache
        self._framework = framework
        self._randomness = randomness
        self._start = 0

    def schedule(self, cycle: Cycle, pod: PodInfo) -> str:
        """The name of the node. Raises FitError, NoNodesError or PluginError."""
        nodes = self._cache.nodes
        if not nodes:
            raise NoNodesError
        diagnosis = Diagnosis()
        fitting = self._fitting_nodes(cycle, pod, nodes, diagnosis)
        if not fitting:
            raise FitError(diagnosis, len(nodes))
        if len(fitting) == 1:
            return fitting[0].name
        scores = self._framework.run_scores(cycle, pod, fitting)
        best = max(scores)
        winners = [place for place, score in enumerate(scores) if score == best]
        if len(winners) == 1:
            return fitting[winners[0]].name
        return fitting[winners[int(self._randomness.fraction() * len(winners))]].name

    def _fitting_nodes(self, cycle: Cycle, pod: PodInfo, nodes: list[NodeInfo], diagnosis: Diagnosis) -> list[NodeInfo]:
        before = self._framework.run_pre_filter(cycle, pod)
        diagnosis.plugins.update(before.limiting)
        if before.status is not None:
            diagnosis.absent = before.status
            diagnosis.pre_filter_message = before.status.message
            if before.status.plugin:
                diagnosis.plugins.add(before.status.plugin)
            return []
        # What preemption made room for is most likely the only node that fits: try it first.
        nominated = self._cache.node(pod.nominated_node_name) if pod.nominated_node_name else None
        if nominated is not None:
            fitting = self._search(cycle, pod, [nominated], diagnosis)
            if fitting:
                return fitting
        candidates = nodes
        if before.node_names is not None:
            candidates = [node for node in nodes if node.name in before.node_names]
            plugins = " ".join(sorted(before.limiting))
            diagnosis.absent = unresolvable(f"node(s) didn't satisfy plugin(s) [{plugins}]")
        fitting = self._search(cycle, pod, candidates, diagnosis)
        self._start = (self._start + len(fitting) + len(diagnosis.by_node)) % len(nodes)
        return fitting

    def _search(self, cycle: Cycle, pod: PodInfo, nodes: list[NodeInfo], diagnosis: Diagnosis) -> list[NodeInfo]:
        total = len(nodes)
        if not total:
            return []
        enough = enough_nodes(total)
        start = self._start % total
        fitting: list[NodeInfo] = []
        refuses = self._framework.node_filter(cycle, pod)
        for node in nodes[start:] + nodes[:start] if start else nodes:
            status = refuses(node)
            if status is not None:
                diagnosis.add(node.name, status)
                continue
            fitting.append(node)
            if len(fitting) == enough:
                break
        return fitting
