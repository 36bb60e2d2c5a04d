"""Prefers nodes whose CPU and memory shares come closer together by taking the Pod."""

from __future__ import annotations

from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import MAX_SCORE, Cycle, Plugin
from clusters.emulated.scheduler.pod_info import PodInfo

_HALF = MAX_SCORE // 2


class NodeResourcesBalancedAllocation(Plugin):
    name = "NodeResourcesBalancedAllocation"

    def scores(self, cycle: Cycle, pod: PodInfo, nodes: list[NodeInfo]) -> list[int] | None:
        cpu, memory = pod.request.cpu_milli, pod.request.memory
        if not cpu and not memory:
            return None
        key = ("balance", cpu, memory)
        return [score if (score := node.memo.get(key)) is not None else _remember(node, key) for node in nodes]


def _remember(node: NodeInfo, key: tuple[str, int, int]) -> int:
    score = node.memo[key] = _improvement(node, key[1], key[2])
    return score


def _improvement(node: NodeInfo, cpu_milli: int, memory: int) -> int:
    cpu_capacity, memory_capacity = node.allocatable_cpu_milli, node.allocatable_memory
    if not cpu_capacity or not memory_capacity:
        # A single resource is always in balance with itself.
        return _HALF + _HALF // 2
    cpu, bytes_used = node.requested_cpu_milli, node.requested_memory
    with_pod = _balance((cpu + cpu_milli) / cpu_capacity, (bytes_used + memory) / memory_capacity)
    without = _balance(cpu / cpu_capacity, bytes_used / memory_capacity)
    # Division towards zero: the sum is never negative, as both balances lie between 50 and 100.
    return _HALF + (_HALF + with_pod - without) // 2


def _balance(first: float, second: float) -> int:
    """100 for equal shares, 50 for one full and one empty."""
    if first > 1:
        first = 1.0
    if second > 1:
        second = 1.0
    return int((1 - abs((first - second) / 2)) * MAX_SCORE)
