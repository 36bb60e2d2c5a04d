"""Pods that need a feature of the kubelet go only to nodes that declare it."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import Cycle, Plugin
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import SKIP, Status, unresolvable

_REFUSED = unresolvable("node(s) didn't match Pod's required features").by("NodeDeclaredFeatures")


class NodeDeclaredFeatures(Plugin):
    name = "NodeDeclaredFeatures"

    def __init__(self) -> None:
        self.registrations = (Registration("Node", Action.ADD | Action.NODE_FEATURE),)

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | None:
        needed = needed_features(pod.spec)
        if not needed:
            return SKIP
        cycle.data[self.name] = needed
        return None

    def filter(self, data: frozenset[str], pod: PodInfo, node: NodeInfo) -> Status | None:
        assert node.node is not None, "only known nodes are tried"
        declared = (node.node.get("status") or {}).get("declaredFeatures") or ()
        return None if data <= set(declared) else _REFUSED


def needed_features(spec: dict[str, Any]) -> frozenset[str]:
    needed = set()
    if spec.get("hostNetwork") and spec.get("hostUsers") is False:
        needed.add("UserNamespacesHostNetworkSupport")
    for container in (*spec["containers"], *(spec.get("initContainers") or ())):
        rules = container.get("restartPolicyRules") or ()
        if any(rule.get("action") == "RestartAllContainers" for rule in rules):
            needed.add("RestartAllContainersOnContainerExits")
    return frozenset(needed)
