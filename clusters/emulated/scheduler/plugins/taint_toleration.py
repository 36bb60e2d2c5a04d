"""Taints keep Pods away unless tolerated; PreferNoSchedule only makes a node less welcome."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.cache import Cache
from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import Cycle, Plugin, normalised
from clusters.emulated.scheduler.plugins.scheduling_gates import is_the_pod_itself
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import SKIP, Status, unresolvable
from clusters.emulated.scheduler.tolerations import hard_taints, tolerates, untolerated

_REFUSED = unresolvable("node(s) had untolerated taint(s)").by("TaintToleration")


class TaintToleration(Plugin):
    name = "TaintToleration"

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self.registrations = (
            Registration("Node", Action.ADD | Action.NODE_TAINT, _became_tolerable),
            Registration("Pod", Action.POD_TOLERATION, is_the_pod_itself),
        )

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | None:
        return None if self._cache.hard_tainted else SKIP

    def filter(self, data: Any, pod: PodInfo, node: NodeInfo) -> Status | None:
        if not node.hard_taints or untolerated(pod.tolerations, node.hard_taints) is None:
            return None
        return _REFUSED

    def scores(self, cycle: Cycle, pod: PodInfo, nodes: list[NodeInfo]) -> list[int] | None:
        if not self._cache.soft_tainted:
            return None
        relevant = [one for one in pod.tolerations if one.get("effect") in (None, "", "PreferNoSchedule")]
        counts = [sum(not tolerates(relevant, taint) for taint in node.soft_taints) for node in nodes]
        return normalised(counts, reverse=True)


def _became_tolerable(pod: PodInfo, old: dict[str, Any] | None, new: dict[str, Any] | None) -> bool:
    if new is None or untolerated(pod.tolerations, hard_taints(new)) is not None:
        return False
    return old is None or untolerated(pod.tolerations, hard_taints(old)) is not None
