"""From a request to the verb that answers it: which resource, which subresource, which method."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.negotiation import MediaType, NotProduced, negotiate, negotiate_custom
from clusters.emulated.apiserver.options import list_options
from clusters.emulated.apiserver.registry.registry import Registry
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.verbs import read
from clusters.emulated.apiserver.verbs.create import create
from clusters.emulated.apiserver.verbs.delete import Deleter
from clusters.emulated.apiserver.verbs.patch import patch
from clusters.emulated.apiserver.verbs.update import update
from clusters.emulated.apiserver.verbs.watch import watch
from clusters.emulated.apiserver.verbs.write import Writer
from clusters.kube import errors
from clusters.kube.gostring import quote
from clusters.kube.names import path_segment_name

if TYPE_CHECKING:
    from clusters.emulated.apiserver.subresources import Subresources

T = TypeVar("T")
Object = dict[str, Any]

#: A write has this long, whatever the client asks for: the store may be away, webhooks may be slow.
WRITE_TIMEOUT_S = 34.0
# Subresources that are the same object seen through another door: their rules differ, the verbs do not.
_SAME_OBJECT = frozenset(("status", "ephemeralcontainers", "resize", "approval", "finalize"))
_CONNECTIONS = frozenset(("log", "exec", "attach", "portforward", "proxy"))

# Whole resources that Kubernetes wants people to leave: every request that has a route is answered with a warning.
_DEPRECATED = {
    ("", "v1", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}

Verb = Callable[[Request, Served, MediaType], Awaitable[HttpResponse]]


class Dispatcher:
    def __init__(self, registry: Registry, services: Services, subresources: Subresources) -> None:
        self.registry = registry
        self.services = services
        self.subresources = subresources
        self.writer = Writer(services)
        self.deleter = Deleter(services)
        self._verbs: dict[str, Verb] = {
            "get": self._get,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
            "list": self._list,
            "watch": self._watch,
        }

    async def __call__(self, request: Request) -> HttpResponse:
        info = request.info
        asked = (info.group, info.version, info.resource)
        served = self.registry.find(*asked)
        if served is None:
            return await self._unstored(request)
        if served.resource.custom and not _fits_scope(request, served):
            return respond.page_not_found(request)
        verb = self._verb(request, served)
        if asked in _DEPRECATED:
            request.warn(_DEPRECATED[asked])
        accept = request.http.headers.get("accept") or ""
        try:
            media = negotiate(accept) if served.struct is not None else negotiate_custom(accept)
        except NotProduced:
            raise NotProduced(streams=verb in ("list", "watch")) from None
        if info.subresource and info.subresource not in _SAME_OBJECT:
            work = self.subresources.handle(request, served, media)
            # Connections last as long as they last; everything else is over in the time that a write has.
            return await (work if info.subresource in _CONNECTIONS else self.bounded(work))
        return await self._verbs[verb](request, served, media)

    async def _unstored(self, request: Request) -> HttpResponse:
        """A resource that is asked and not stored, or none at all."""
        info = request.info
        virtual = self.registry.virtual.get((info.group, info.version, info.resource))
        if virtual is not None and (info.namespace or not virtual.namespaced):
            media = negotiate(request.http.headers.get("accept") or "")
            return await self.bounded(self.subresources.handle_virtual(request, virtual, media))
        return self.unknown(request)

    def unknown(self, request: Request) -> HttpResponse:
        """An unknown group is a plain page; a known group says in a Status that it has no such resource."""
        info = request.info
        if info.prefix == "apis" and not self.registry.is_built_in(info.group):
            return respond.page_not_found(request)
        raise errors.generic(404)

    def _verb(self, request: Request, served: Served) -> str:
        """The verb, if the resource has it at this URL; 404 and 405 as the real routes give them."""
        info, resource, method = request.info, served.resource, request.http.method
        if resource.custom:
            return served.verb(request)  # type: ignore[attr-defined, no-any-return]
        if info.namespace and not resource.namespaced and resource.plural != "namespaces":
            raise errors.generic(404)
        if info.name:
            if len(info.parts) > (3 if info.subresource else 2) and not self._takes_path(info.subresource):
                raise errors.generic(404)
            problems = path_segment_name(info.name)
            if problems:
                text = "; ".join(problems)
                raise errors.bad_request(f"Name parameter invalid: {quote(info.name)}: {text}")
        verb = info.verb
        if info.subresource:
            sub = resource.subresource(info.subresource)
            if sub is None:
                raise errors.generic(404)
            if verb not in sub.verbs and not (verb == "get" and self._takes_path(info.subresource)):
                raise errors.generic(405)
            return verb
        if resource.namespaced and not info.namespace and verb not in ("list", "watch"):
            raise errors.generic(405 if not info.name else 404)
        if verb not in resource.verbs or method in ("HEAD", "OPTIONS") or (verb == "watch" and method != "GET"):
            raise errors.generic(405)
        if (verb == "create" and info.name) or (verb in ("update", "patch") and not info.name):
            raise errors.generic(405)
        return verb

    @staticmethod
    def _takes_path(subresource: str) -> bool:
        return subresource == "proxy"

    # Verbs

    async def _get(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        return await read.get(request, served, self.services, media)

    async def _list(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        options = list_options(request.query)
        return await read.list_(request, served, self.services, options, media)

    async def _watch(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        return watch(request, served, self.services, list_options(request.query, watch=True), media)

    async def _create(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        stored = await self.bounded(create(request, served, self.writer))
        return self.written(request, served, stored, 201, media)

    async def _update(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        stored, created = await self.bounded(update(request, served, self.writer))
        return self.written(request, served, stored, 201 if created else 200, media)

    async def _patch(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        stored, created = await self.bounded(patch(request, served, self.writer))
        return self.written(request, served, stored, 201 if created else 200, media)

    async def _delete(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        deletion, options = await self.bounded(self.deleter.delete(request, served))
        accepted = not deletion.gone and options.orphan_dependents is False
        status = 202 if accepted else 200
        if not deletion.gone or served.returns_deleted_object:
            return self.written(request, served, deletion.stored, status, media)
        metadata = deletion.stored.object["metadata"]
        details = {
            "name": metadata["name"],
            "group": request.info.group,
            "kind": request.info.resource,
            "uid": metadata.get("uid", ""),
        }
        details = {name: value for name, value in details.items() if value}
        success = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return respond.obj(request, status, success, media.untransformed())

    async def _delete_collection(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        items, revision = await self.bounded(self.deleter.delete_collection(request, served))
        metadata = {"resourceVersion": str(revision)}
        return read.listed(request, served, items, metadata, media.untransformed())

    def written(self, request: Request, served: Served, stored: Stored, status: int, media: MediaType) -> HttpResponse:
        return read.one(request, served, self.services, stored, status, media)

    async def bounded(self, work: Awaitable[T]) -> T:
        """`work`, or 504 when it takes longer than a write may take. What was begun may still happen."""
        task = asyncio.current_task()
        assert task is not None, "requests run in tasks"
        expired = False

        def expire() -> None:
            nonlocal expired
            expired = True
            task.cancel()

        timer = self.services.clock.call_later(WRITE_TIMEOUT_S, expire)
        try:
            return await work
        except asyncio.CancelledError:
            if not expired:
                raise
            task.uncancel()
            message = "request did not complete within requested timeout - context deadline exceeded"
            raise errors.timeout(message) from None
        finally:
            timer.cancel()


def _fits_scope(request: Request, served: Served) -> bool:
    """Custom resources are only there at the URLs of their scope; all namespaces can be listed and watched."""
    info = request.info
    if served.resource.namespaced:
        return bool(info.namespace) or info.verb in ("list", "watch")
    return not info.namespace


def status_success(code: int = 0) -> bytes:
    status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if code:
        status["code"] = code
    return orjson.dumps(status)
