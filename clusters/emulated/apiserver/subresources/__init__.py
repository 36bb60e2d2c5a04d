"""What is not the object itself: scale, binding, eviction, tokens, logs …, and the reviews that are never stored.

`Subresources.handle` gets every request for a subresource that is not just another door to the same object
(those, like status, go the ordinary way with rules of their own).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.negotiation import MediaType
from clusters.emulated.apiserver.registry.resources import Resource
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.request import Request
from clusters.kube import errors

if TYPE_CHECKING:
    from clusters.emulated.apiserver.dispatch import Dispatcher

Handle = Callable[[Request, Served, MediaType], Awaitable[HttpResponse]]
HandleVirtual = Callable[[Request, Resource, MediaType], Awaitable[HttpResponse]]


class Subresources:
    """Handlers by (group resource, subresource); `*` as the resource stands for any that has it."""

    def __init__(self) -> None:
        self._handlers: dict[tuple[str, str], Handle] = {}
        self._virtual: dict[str, HandleVirtual] = {}
        self.dispatcher: Dispatcher | None = None

    def add(self, resource: str, subresource: str, handle: Handle) -> None:
        self._handlers[resource, subresource] = handle

    def add_virtual(self, resource: str, handle: HandleVirtual) -> None:
        self._virtual[resource] = handle

    async def handle(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        name = request.info.subresource
        handle = self._handlers.get((served.resource.group_resource, name)) or self._handlers.get(("*", name))
        if handle is None:
            raise errors.generic(404)
        return await handle(request, served, media)

    async def handle_virtual(self, request: Request, resource: Resource, media: MediaType) -> HttpResponse:
        handle = self._virtual.get(resource.group_resource)
        if handle is None or (request.info.name and resource.verbs == ("create",)):
            raise errors.generic(404)
        if request.info.verb not in resource.verbs:
            raise errors.generic(405)
        return await handle(request, resource, media)
