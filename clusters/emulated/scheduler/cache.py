"""What runs where, as the scheduler believes it: what the informers say, plus Pods it has just placed itself.

A placed Pod is *assumed* until its binding shows up in the informer, so the next decision already counts it:

    cache.assume(pod, "node-1")        # counted on node-1
    cache.add_pod(bound)               # the informer confirms it: assumed no longer
    cache.forget(pod)                  # or: the binding failed, and the room is free again
"""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.match_counts import MatchCounts
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.node_tree import NodeTree
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.kube.selectors import Selector

Object = dict[str, Any]


class Cache:
    """Decisions are synchronous, so the cache itself is the snapshot that an attempt works on."""

    def __init__(self) -> None:
        self._infos: dict[str, NodeInfo] = {}
        self._tree = NodeTree()
        self._ordered: list[NodeInfo] | None = []
        self._placed: dict[str, tuple[PodInfo, str]] = {}  # By uid: the Pod as counted, and on which node.
        self._assumed: set[str] = set()
        self._with_affinity: dict[str, NodeInfo] = {}
        self._with_required_anti_affinity: dict[str, NodeInfo] = {}
        self._image_nodes: dict[str, int] = {}
        self._claim_users: dict[str, int] = {}
        self._matches = MatchCounts()
        # How many nodes have a PreferNoSchedule taint, a harder one, or are cordoned: mostly none.
        self.soft_tainted = 0
        self.hard_tainted = 0
        self.cordoned = 0

    # Nodes

    @property
    def nodes(self) -> list[NodeInfo]:
        """All nodes in the order they are tried."""
        if self._ordered is None:
            self._ordered = [self._infos[name] for name in self._tree.names()]
        return self._ordered

    def node(self, name: str) -> NodeInfo | None:
        info = self._infos.get(name)
        return info if info is not None and info.node is not None else None

    def set_node(self, node: Object) -> None:
        name = node["metadata"]["name"]
        info = self._infos.get(name)
        if info is None:
            info = self._infos[name] = NodeInfo(name)
        self._count_node(info, -1)
        info.set_node(node)
        self._count_node(info, 1)
        if info.with_affinity:
            self._note_affinity(info)
        if self._tree.add(node):
            self._ordered = None

    def remove_node(self, name: str) -> None:
        """Its Pods stay counted until their own deletion is seen; a node of the same name gets them back."""
        info = self._infos.get(name)
        if info is None or info.node is None:
            return
        self._count_node(info, -1)
        self._tree.remove(name)
        self._ordered = None
        if not info.pods:
            del self._infos[name]
            return
        info.node = None
        info.soft_taints = info.hard_taints = ()
        info.unschedulable = False
        info.images = {}
        self._note_affinity(info)

    def _count_node(self, info: NodeInfo, sign: int) -> None:
        if info.soft_taints:
            self.soft_tainted += sign
        if info.hard_taints:
            self.hard_tainted += sign
        if info.unschedulable:
            self.cordoned += sign
        for name in info.images:
            left = self._image_nodes.get(name, 0) + sign
            if left:
                self._image_nodes[name] = left
            else:
                del self._image_nodes[name]

    def nodes_with_image(self, name: str) -> int:
        return self._image_nodes.get(name, 0)

    # Pods

    def add_pod(self, pod: PodInfo) -> None:
        """The informer says this Pod is on its node: confirms an assumed one, moves one that went elsewhere."""
        self._assumed.discard(pod.uid)
        self._take(pod.uid)
        self._place(pod, pod.node_name)

    def remove_pod(self, uid: str) -> None:
        self._assumed.discard(uid)
        self._take(uid)

    def assume(self, pod: PodInfo, node_name: str) -> None:
        assert pod.uid not in self._placed, f"{pod.key} is already placed"
        self._place(pod, node_name)
        self._assumed.add(pod.uid)

    def forget(self, uid: str) -> None:
        if uid in self._assumed:
            self.remove_pod(uid)

    def is_assumed(self, uid: str) -> bool:
        return uid in self._assumed

    def matching(self, namespace: str, selector: Selector, text: str) -> dict[str, int]:
        """By node: how many Pods of the namespace the selector picks. `text` is the selector's own."""
        return self._matches.of(namespace, selector, text, self._placed.values())

    def claim_in_use(self, key: str) -> bool:
        return key in self._claim_users

    def nodes_with_affinity(self) -> list[NodeInfo]:
        return list(self._with_affinity.values())

    def nodes_with_required_anti_affinity(self) -> list[NodeInfo]:
        return list(self._with_required_anti_affinity.values())

    def _place(self, pod: PodInfo, node_name: str) -> None:
        info = self._infos.get(node_name)
        if info is None:
            info = self._infos[node_name] = NodeInfo(node_name)
        info.add(pod)
        self._placed[pod.uid] = (pod, node_name)
        self._matches.placed(pod, node_name)
        if pod.has_affinity:
            self._note_affinity(info)
        for key in pod.claim_keys:
            self._claim_users[key] = self._claim_users.get(key, 0) + 1

    def _take(self, uid: str) -> None:
        placed = self._placed.pop(uid, None)
        if placed is None:
            return
        pod, node_name = placed
        info = self._infos[node_name]
        info.remove(pod)
        self._matches.taken(pod, node_name)
        if pod.has_affinity:
            self._note_affinity(info)
        for key in pod.claim_keys:
            left = self._claim_users[key] - 1
            if left:
                self._claim_users[key] = left
            else:
                del self._claim_users[key]
        if info.node is None and not info.pods:
            del self._infos[node_name]

    def _note_affinity(self, info: NodeInfo) -> None:
        _keep(self._with_affinity, info, bool(info.with_affinity) and info.node is not None)
        anti = bool(info.with_required_anti_affinity) and info.node is not None
        _keep(self._with_required_anti_affinity, info, anti)


def _keep(index: dict[str, NodeInfo], info: NodeInfo, wanted: bool) -> None:
    if wanted:
        index[info.name] = info
    else:
        index.pop(info.name, None)
