"""A Pod that names its node fits only there."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import Cycle, Plugin
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import SKIP, Status, unresolvable

_REFUSED = unresolvable("node(s) didn't match the requested node name").by("NodeName")


class NodeName(Plugin):
    name = "NodeName"

    def __init__(self) -> None:
        self.registrations = (Registration("Node", Action.ADD),)

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | None:
        return None if pod.node_name else SKIP

    def filter(self, data: Any, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None if pod.node_name == node.name else _REFUSED
