"""Which nodes were promised to Pods that wait for their victims to leave.

nominator.add(pod, "node-1")     # preemption chose node-1
nominator.of_node("node-1")      # [pod]: others of lower priority must not take the room
"""

from __future__ import annotations

from collections.abc import Callable

from clusters.emulated.scheduler.pod_info import PodInfo


class Nominator:
    """`is_waiting` tells whether the api-server still has the Pod, unassigned; others get no promise."""

    def __init__(self, is_waiting: Callable[[PodInfo], bool]) -> None:
        self._is_waiting = is_waiting
        self._node_of: dict[str, str] = {}
        self._pods: dict[str, dict[str, PodInfo]] = {}

    @property
    def promises(self) -> int:
        return len(self._node_of)

    def of_node(self, node_name: str) -> list[PodInfo]:
        pods = self._pods.get(node_name)
        return list(pods.values()) if pods else []

    def add(self, pod: PodInfo, node_name: str | None = None) -> None:
        """None: as the Pod's status says. "" takes the promise back."""
        self.remove(pod.uid)
        name = pod.nominated_node_name if node_name is None else node_name
        if not name or not self._is_waiting(pod):
            return
        self._node_of[pod.uid] = name
        self._pods.setdefault(name, {})[pod.uid] = pod

    def update(self, old_nominated: str, pod: PodInfo) -> None:
        """A promise that is not written down yet survives an update that does not know of it."""
        known = self._node_of.get(pod.uid)
        if known is not None and not old_nominated and not pod.nominated_node_name:
            self.add(pod, known)
        else:
            self.add(pod)

    def remove(self, uid: str) -> None:
        name = self._node_of.pop(uid, None)
        if name is None:
            return
        del self._pods[name][uid]
        if not self._pods[name]:
            del self._pods[name]
