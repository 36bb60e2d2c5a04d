"""Several api-servers: one that ends, one that is gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clusters.base import Lever
from clusters.emulated.levers.pulling import Count, entered, in_loop

if TYPE_CHECKING:
    from clusters.emulated.cluster import EmulatedCluster


class ReplicaLevers:
    def __init__(self, cluster: EmulatedCluster) -> None:
        self._cluster = cluster

    @contextmanager
    def drain(self, replica: int) -> Iterator[Lever]:
        """It was told to end: it says that it is not ready, and serves until its time is over."""
        health = self._cluster.plane.replicas[replica].nonresource.health
        in_loop(self._cluster.run, lambda: setattr(health, "shutting_down", True))
        try:
            yield Count(1)
        finally:
            in_loop(self._cluster.run, lambda: setattr(health, "shutting_down", False))

    @contextmanager
    def refuse(self, replica: int) -> Iterator[Lever]:
        """Its process is gone: nobody listens at its address, and its connections are cut."""
        self._cluster.listening()
        listener = self._cluster.plane.replica_listener(replica)
        with entered(self._cluster.run, listener.refuse()):
            in_loop(self._cluster.run, listener.cut_connections)
            yield Count(1)
