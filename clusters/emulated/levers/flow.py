"""Priority and fairness: between authentication and authorization, a request waits for a seat."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from clusters.base import Lever
from clusters.emulated.levers.pulling import pulled

if TYPE_CHECKING:
    from clusters.emulated.cluster import EmulatedCluster


class FlowLevers:
    def __init__(self, cluster: EmulatedCluster) -> None:
        self._cluster = cluster

    def starve(self, level: str) -> AbstractContextManager[Lever]:
        """A priority level has no seats."""
        replicas = self._cluster.plane.replicas
        return pulled(self._cluster.run, *(replica.flow_control.starve(level) for replica in replicas))
