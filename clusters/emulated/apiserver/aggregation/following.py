"""Follows the APIServices of one api-server. Nothing more is loaded until one names a Service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request
from clusters.emulated.watch.events import DELETED, CacheEvent, EndReason

if TYPE_CHECKING:
    from clusters.emulated.apiserver.aggregation.remotes import Remotes
    from clusters.emulated.apiserver.server import ApiServer
    from clusters.emulated.watch.fan_out import CacheSubscription

Object = dict[str, Any]
API_SERVICES = "apiservices.apiregistration.k8s.io"
_RETRY_S = 1.0


class Aggregation:
    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._subscription: CacheSubscription[Stored] | None = None
        self._stopped = False
        #: APIServices that name a Service, if there are any.
        self.remotes: Remotes | None = None

    def start(self) -> None:
        self._stopped = False
        cache = self._server.storages[API_SERVICES].cache
        items, revision = cache.list(cache.prefix)
        for stored in items:
            if stored.mentions(b'"service":'):
                self._look_at(stored.object)
        self._subscription = cache.subscribe(cache.prefix, revision, self._changed, self._ended)

    def stop(self) -> None:
        self._stopped = True
        if self._subscription is not None:
            self._subscription.cancel()
        if self.remotes is not None:
            self.remotes.stop()

    async def proxied(self, request: Request) -> HttpResponse | None:
        """The answer of the server that this path belongs to, or None if that is this one."""
        assert self.remotes is not None
        return await self.remotes.proxied(request)

    def _look_at(self, service: Object) -> None:
        if (service.get("spec") or {}).get("service") is not None:
            self._all().follow(service)
        elif self.remotes is not None:
            self.remotes.forget(service)

    def _all(self) -> Remotes:
        if self.remotes is None:
            from clusters.emulated.apiserver.aggregation.remotes import Remotes

            self.remotes = Remotes(self._server)
        return self.remotes

    def _changed(self, event: CacheEvent[Stored]) -> None:
        service = event.object.object
        if event.kind != DELETED:
            self._look_at(service)
            return
        if self.remotes is not None:
            self.remotes.forget(service)
        # One that stands for custom resources comes back while they are served.
        self._server.custom_resources.revisit((service.get("spec") or {}).get("group", ""))

    def _ended(self, reason: EndReason) -> None:
        if not self._stopped:  # The cache is being rebuilt: look at everything again when it is back.
            self._server.clock.call_later(_RETRY_S, self._resume)

    def _resume(self) -> None:
        if self._stopped:
            return
        if self._server.storages[API_SERVICES].cache.ready:
            self.start()
        else:
            self._ended(EndReason.REINITIALISED)
