"""A cordoned node takes only Pods that tolerate the taint of a cordoned node."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.cache import Cache
from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import Cycle, Plugin
from clusters.emulated.scheduler.plugins.scheduling_gates import is_the_pod_itself
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import SKIP, Status, unresolvable
from clusters.emulated.scheduler.tolerations import tolerates

_TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_REFUSED = unresolvable("node(s) were unschedulable").by("NodeUnschedulable")


class NodeUnschedulable(Plugin):
    name = "NodeUnschedulable"

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self.registrations = (
            Registration("Node", Action.ADD | Action.NODE_TAINT, _became_schedulable),
            Registration("Pod", Action.POD_TOLERATION, is_the_pod_itself),
        )

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | None:
        return SKIP if not self._cache.cordoned or tolerates(pod.tolerations, _TAINT) else None

    def filter(self, data: Any, pod: PodInfo, node: NodeInfo) -> Status | None:
        return _REFUSED if node.unschedulable else None


def _became_schedulable(pod: PodInfo, old: dict[str, Any] | None, new: dict[str, Any] | None) -> bool:
    if new is None or (new.get("spec") or {}).get("unschedulable"):
        return False
    return old is None or bool((old.get("spec") or {}).get("unschedulable"))
