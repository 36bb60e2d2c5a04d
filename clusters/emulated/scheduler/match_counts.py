"""How many Pods of a selector each node has: counted once per selector, then kept as Pods come and go.

counts.of("default", selector, "app=web")   # {"node-1": 3}; nodes without any are left out
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.kube.selectors import Selector

_SELECTORS_MAX: Final = 4096

# Namespace and the selector's text.
Key = tuple[str, str]
# What a matching Pod surely has: its namespace, a label and its value; or just the namespace.
Bucket = tuple[str, ...]


class _Tracked:
    __slots__ = ("bucket", "by_node", "selector")

    def __init__(self, selector: Selector, bucket: Bucket) -> None:
        self.selector = selector
        self.bucket = bucket
        self.by_node: dict[str, int] = {}

    def count(self, pod: PodInfo, node_name: str, delta: int) -> None:
        if not self.selector.matches(pod.labels):
            return
        left = self.by_node.get(node_name, 0) + delta
        if left:
            self.by_node[node_name] = left
        else:
            del self.by_node[node_name]


class MatchCounts:
    """Pods that are going away do not count. The selectors used last are remembered."""

    def __init__(self) -> None:
        self._tracked: OrderedDict[Key, _Tracked] = OrderedDict()
        self._buckets: dict[Bucket, dict[Key, _Tracked]] = {}

    def of(
        self, namespace: str, selector: Selector, text: str, placed: Iterable[tuple[PodInfo, str]]
    ) -> dict[str, int]:
        """`placed` are all Pods and their nodes; looked at only when the selector is new."""
        key = (namespace, text)
        tracked = self._tracked.get(key)
        if tracked is None:
            tracked = self._track(key, selector)
            for pod, node_name in placed:
                if pod.namespace == namespace and not pod.terminating:
                    tracked.count(pod, node_name, 1)
        else:
            self._tracked.move_to_end(key)
        return tracked.by_node

    def _track(self, key: Key, selector: Selector) -> _Tracked:
        bucket: Bucket = (key[0],)
        for requirement in selector.requirements:
            if requirement.operator in ("=", "==", "in") and len(requirement.values) == 1:
                bucket = (key[0], requirement.key, requirement.values[0])
                break
        tracked = self._tracked[key] = _Tracked(selector, bucket)
        self._buckets.setdefault(bucket, {})[key] = tracked
        if len(self._tracked) > _SELECTORS_MAX:
            oldest, dropped = self._tracked.popitem(last=False)
            members = self._buckets[dropped.bucket]
            del members[oldest]
            if not members:
                del self._buckets[dropped.bucket]
        return tracked

    def placed(self, pod: PodInfo, node_name: str) -> None:
        self._count(pod, node_name, 1)

    def taken(self, pod: PodInfo, node_name: str) -> None:
        self._count(pod, node_name, -1)

    def _count(self, pod: PodInfo, node_name: str, delta: int) -> None:
        if not self._buckets or pod.terminating:
            return
        namespace = pod.namespace
        for bucket in ((namespace,), *((namespace, name, value) for name, value in pod.labels.items())):
            members = self._buckets.get(bucket)
            if members is not None:
                for tracked in members.values():
                    tracked.count(pod, node_name, delta)
