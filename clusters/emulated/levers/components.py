"""Hops 9 and 10: processes beside the api-server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clusters.base import Lever
from clusters.emulated.levers.pulling import Count

if TYPE_CHECKING:
    from clusters.emulated.cluster import EmulatedCluster


class ComponentLevers:
    def __init__(self, cluster: EmulatedCluster, group: str) -> None:
        self._cluster = cluster
        self._group = group

    @contextmanager
    def stop(self, name: str = "") -> Iterator[Lever]:
        """One of the group, or all of it, as by a kill; healed, they start anew."""
        components = self._cluster.components
        running = [each for each in components if components.is_running(each)]
        self._cluster.run(components.stop(name or self._group))
        stopped = [each for each in running if not components.is_running(each)]
        try:
            yield Count(len(stopped))
        finally:
            for each in stopped:
                self._cluster.run(components.start(each))
