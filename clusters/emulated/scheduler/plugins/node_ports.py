"""Host ports are exclusive on a node."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import Cycle, Plugin
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import SKIP, Status, unschedulable

_REFUSED = unschedulable("node(s) didn't have free ports for the requested pod ports").by("NodePorts")


class NodePorts(Plugin):
    name = "NodePorts"

    def __init__(self) -> None:
        self.registrations = (
            Registration("Pod", Action.DELETE, _freed_a_port),
            Registration("Node", Action.ADD),
        )

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | None:
        return None if pod.host_ports else SKIP

    def filter(self, data: Any, pod: PodInfo, node: NodeInfo) -> Status | None:
        if node.used_ports and any(node.port_conflict(port) for port in pod.host_ports):
            return _REFUSED
        return None


def _freed_a_port(pod: PodInfo, old: dict[str, Any] | None, new: dict[str, Any] | None) -> bool:
    if old is None:
        return False
    deleted = PodInfo(old)
    if not deleted.node_name or not deleted.host_ports:
        return False
    alone = NodeInfo(deleted.node_name)
    alone.add(deleted)
    return any(alone.port_conflict(port) for port in pod.host_ports)
