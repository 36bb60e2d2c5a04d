"""Follows the definitions of one api-server. All that custom resources need is imported with the first of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusters.emulated.apiserver.customresources.definition_hooks import DefinitionHooks
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.watch.events import CacheEvent, EndReason

if TYPE_CHECKING:
    from clusters.emulated.apiserver.customresources.lifecycle import DefinitionLifecycle
    from clusters.emulated.apiserver.server import ApiServer
    from clusters.emulated.watch.fan_out import CacheSubscription

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


class CustomResources:
    """`await start()` serves what is defined already; from then on every change of a definition is followed."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._lifecycle: DefinitionLifecycle | None = None
        self._subscription: CacheSubscription[Stored] | None = None
        self._stopped = False
        server.services.hooks[DEFINITIONS] = DefinitionHooks()

    async def start(self) -> None:
        self._stopped = False
        self._follow()
        await self.settle()

    async def settle(self) -> None:
        """Until all that can be done for the definitions right now is done."""
        if self._lifecycle is not None:
            await self._lifecycle.settle()

    def stop(self) -> None:
        self._stopped = True
        if self._subscription is not None:
            self._subscription.cancel()
        if self._lifecycle is not None:
            self._lifecycle.stop()

    def revisit(self, group: str) -> None:
        """Something that stands for a group's custom resources has gone: it may have to come back."""
        if self._lifecycle is not None:
            self._lifecycle.revisit(group)

    def _follow(self) -> None:
        cache = self._server.storages[DEFINITIONS].cache
        items, revision = cache.list(cache.prefix)
        for stored in items:
            self._enqueue(stored.object["metadata"]["name"])
        self._subscription = cache.subscribe(cache.prefix, revision, self._changed, self._ended)

    def _changed(self, event: CacheEvent[Stored]) -> None:
        self._enqueue(event.key.rpartition("/")[2])

    def _ended(self, reason: EndReason) -> None:
        if not self._stopped:  # The cache is being rebuilt: look at everything again when it is back.
            self._server.clock.call_later(1.0, self._resume)

    def _resume(self) -> None:
        if self._stopped:
            return
        if self._server.storages[DEFINITIONS].cache.ready:
            self._follow()
        else:
            self._ended(EndReason.REINITIALISED)

    def _enqueue(self, name: str) -> None:
        if self._lifecycle is None:
            from clusters.emulated.apiserver.customresources.lifecycle import DefinitionLifecycle

            self._lifecycle = DefinitionLifecycle(self._server)
        self._lifecycle.enqueue(name)
