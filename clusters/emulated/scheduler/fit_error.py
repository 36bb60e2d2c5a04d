"""Why a Pod fits no node: the diagnosis of one attempt, and the sentence that Kubernetes makes of it.

diagnosis = Diagnosis({"node-1": unresolvable("node(s) were unschedulable")})
diagnosis.message(2)   # "0/2 nodes are available: 1 node(s) were unschedulable."
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clusters.emulated.scheduler.status import Code, Status

NO_NODES = "no nodes available to schedule pods"
_ABSENT = Status(Code.UNRESOLVABLE)


@dataclass(slots=True)
class Diagnosis:
    """`absent` is the status of every node that has none of its own (it was never looked at)."""

    by_node: dict[str, Status] = field(default_factory=dict)
    absent: Status = _ABSENT
    plugins: set[str] = field(default_factory=set)
    pre_filter_message: str = ""
    post_filter_message: str = ""

    def add(self, node_name: str, status: Status) -> None:
        self.by_node[node_name] = status
        if status.plugin:
            self.plugins.add(status.plugin)

    def of(self, node_name: str) -> Status:
        return self.by_node.get(node_name, self.absent)

    def message(self, nodes: int) -> str:
        """`0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable. preemption: …`"""
        parts = [f"0/{nodes} nodes are available:"]
        if self.pre_filter_message:
            parts.append(f"{self.pre_filter_message}.")
        elif reasons := self._counted_reasons(nodes):
            parts.append(", ".join(reasons) + ".")
        if self.post_filter_message:
            parts.append(self.post_filter_message)
        return " ".join(parts)

    def _counted_reasons(self, nodes: int) -> list[str]:
        """Sorted as text, count first: `10 x` comes before `2 y`, as in Kubernetes."""
        counts: dict[str, int] = {}
        for status in self.by_node.values():
            for reason in status.reasons:
                counts[reason] = counts.get(reason, 0) + 1
        unseen = nodes - len(self.by_node)
        if unseen > 0:
            for reason in self.absent.reasons:
                counts[reason] = counts.get(reason, 0) + unseen
        return sorted(f"{count} {reason}" for reason, count in counts.items())


class FitError(Exception):
    """The Pod fits nowhere now. It waits until an event may change the mind of one of `diagnosis.plugins`."""

    def __init__(self, diagnosis: Diagnosis, nodes: int) -> None:
        super().__init__("the pod fits no node")
        self.diagnosis = diagnosis
        self.nodes = nodes

    @property
    def message(self) -> str:
        return self.diagnosis.message(self.nodes)


class NoNodesError(Exception):
    """The cluster has no nodes at all."""

    message = NO_NODES


class PluginError(Exception):
    """A plugin could not decide. The attempt counts as an error, not as unschedulable, and is repeated."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
