"""Hop 8: the watch caches of the replicas, and the streams that they feed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING

from clusters.base import Lever, Object
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.levers.pulling import Count, pulled
from clusters.emulated.watch.cache import WatchCache

if TYPE_CHECKING:
    from clusters.emulated.cluster import EmulatedCluster


class WatchLevers:
    def __init__(self, cluster: EmulatedCluster) -> None:
        self._cluster = cluster
        self._run = cluster.run

    def freeze(self, resource: str, replica: int | None = None) -> AbstractContextManager[Lever]:
        """Caches stop following; healed, they catch up in order."""
        return pulled(self._run, *(cache.freeze() for cache in self._caches(resource, replica)))

    def delay(self, resource: str, delay_s: float, replica: int | None = None) -> AbstractContextManager[Lever]:
        """Every change is seen this much later, in order."""
        return pulled(self._run, *(cache.delay(delay_s) for cache in self._caches(resource, replica)))

    @contextmanager
    def rotate(self, resource: str, events: int, churn: Callable[[int], tuple[str, Object]]) -> Iterator[Lever]:
        """The window keeps so few events, and that many writes push older ones out."""
        with ExitStack() as ends:
            for number in range(events + 1):
                ends.enter_context(self._cluster.levers.objects.present(churn(number)))
            caches = self._caches(resource, None)
            lever = ends.enter_context(pulled(self._run, *(cache.window(events) for cache in caches)))
            yield lever

    def reinitialise(self, resource: str) -> AbstractContextManager[Lever]:
        """The cache is not ready and its watches end; healed, it lists anew."""
        return pulled(self._run, *(cache.reinitialise() for cache in self._caches(resource, None)))

    @contextmanager
    def restart(self, resource: str) -> Iterator[Lever]:
        """History is forgotten and caches list anew, as when an api-server is restarted. Nothing brings it back: who
        relists is healed."""
        self._cluster.levers.store.compact()
        with self.reinitialise(resource) as restarted:
            pass
        yield Count(restarted.fired)

    @contextmanager
    def cut(self) -> Iterator[Lever]:
        """Every open watch ends without a word, once."""
        caches = [storage.cache for replica in self._cluster.plane.replicas for storage in replica.storages.values()]
        watched = [cache for cache in caches if cache.subscriptions]
        with pulled(self._run, *(cache.reinitialise() for cache in watched)) as cut:
            yield cut

    def _caches(self, resource: str, replica: int | None) -> list[WatchCache[Stored]]:
        replicas = self._cluster.plane.replicas
        chosen = replicas if replica is None else [replicas[replica]]
        return [each.storages[resource].cache for each in chosen]
