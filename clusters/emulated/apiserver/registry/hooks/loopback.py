"""The api-server as its own client: writes it does on its own account, admitted and owned like anybody's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clusters.emulated.apiserver.http import Headers, HttpRequest
from clusters.emulated.apiserver.options import DeleteOptions, WriteOptions
from clusters.emulated.apiserver.registry.registry import Registry
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request, RequestInfo, UserInfo

if TYPE_CHECKING:
    from clusters.emulated.apiserver.verbs.delete import Deleter
    from clusters.emulated.apiserver.verbs.write import Writer

Object = dict[str, Any]
API_SERVER = UserInfo("system:apiserver", groups=("system:authenticated", "system:masters"))
_HEADERS = Headers([("user-agent", "kube-apiserver/v1.36.4 (linux/amd64) kubernetes"), ("accept", "application/json")])


class Loopback:
    def __init__(self, registry: Registry, writer: Writer, deleter: Deleter) -> None:
        self._registry = registry
        self._writer = writer
        self._deleter = deleter

    async def create(self, resource: str, namespace: str, obj: Object) -> Stored:
        """`resource` is a GroupResource name; `obj` is taken over."""
        served = self._served(resource)
        request = self._request("create", "POST", served, namespace, "", "")
        return await self._writer.create(request, served, obj, WriteOptions("CreateOptions"))

    async def update(
        self, resource: str, namespace: str, name: str, change: Callable[[Object], Object], subresource: str = ""
    ) -> Stored:
        """`change` makes the new object from the current one, which it must not modify; it may raise."""
        served, options = self._served(resource), WriteOptions("UpdateOptions")
        request = self._request("update", "PUT", served, namespace, name, subresource)

        async def made(old: Object | None) -> Object:
            assert old is not None, "an update never creates here"
            obj = self._writer.own_fields(request, served, old, change(old), options)
            return await self._writer.admit_update(request, served, obj, old, options)

        stored, _ = await self._writer.update(request, served, name, made, options)
        return stored

    async def delete(self, resource: str, namespace: str, name: str, *, admission: bool = True) -> None:
        served = self._served(resource)
        request = self._request("delete", "DELETE", served, namespace, name, "")
        await self._deleter.delete_named(request, served, name, DeleteOptions(), admission=admission)

    def _served(self, resource: str) -> Served:
        served = self._registry.group_resource(resource)
        assert served is not None, f"{resource} is always served"
        return served

    def _request(self, verb: str, method: str, served: Served, namespace: str, name: str, subresource: str) -> Request:
        resource, services = served.resource, self._writer.services
        info = RequestInfo(
            True,
            "",
            verb,
            prefix="apis" if resource.group else "api",
            group=resource.group,
            version=resource.version,
            namespace=namespace,
            resource=resource.plural,
            subresource=subresource,
            name=name,
        )
        http = HttpRequest(method, "", "", "", _HEADERS)
        now_s, deadline_s = services.clock.now_s(), services.clock.monotonic_s() + 60.0
        return Request(http, info, {}, services.randomness.uid(), now_s, deadline_s, API_SERVER)
