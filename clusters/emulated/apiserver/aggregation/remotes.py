"""The APIServices that other servers answer for: kept available, discovered, and passed on to."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import orjson

from clusters.emulated.apiserver.aggregation import backend_discovery, proxy
from clusters.emulated.apiserver.aggregation.availability import (
    PASSED,
    Backend,
    condition,
    is_available,
    route_problem,
    with_condition,
)
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.registry.resources import Resource
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request, UserInfo
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.outbound.client import OutboundClient
from clusters.emulated.outbound.dial import Address
from clusters.emulated.outbound.errors import OutboundError
from clusters.emulated.outbound.response import OutboundResponse
from clusters.emulated.store.errors import StoreError
from clusters.emulated.watch.events import CacheEvent, EndReason
from clusters.kube import errors

if TYPE_CHECKING:
    from clusters.emulated.apiserver.server import ApiServer
    from clusters.emulated.watch.fan_out import CacheSubscription

Object = dict[str, Any]

API_SERVICES = "apiservices.apiregistration.k8s.io"
_SLICES = "endpointslices.discovery.k8s.io"
_SERVICE_NAME = "kubernetes.io/service-name"
_AGGREGATOR = UserInfo("system:kube-aggregator", groups=("system:masters",))
CHECK_TIMEOUT_S = 5.0
#: All are looked at again this often, because what lies behind a Service changes without a word.
RESYNC_S = 30.0
_FIRST_RETRY_S = 0.005

log = logging.getLogger(__name__)


class Remotes:
    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._outbound = OutboundClient(server.clock, "Go-http-client/1.1")
        self._credential: tuple[bytes, bytes] | None = None
        self._services: dict[str, Object] = {}
        self._by_version: dict[tuple[str, str], str] = {}
        self._found: dict[str, tuple[Resource, ...]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._failures: dict[str, int] = {}
        self._subscriptions: list[CacheSubscription[Stored]] = []
        self._stopped = False
        self._follow_routes()
        self._resync()

    def __bool__(self) -> bool:
        return bool(self._services)

    @property
    def checks(self) -> list[asyncio.Task[None]]:
        """What is being looked at, or was."""
        return list(self._tasks.values())

    def stop(self) -> None:
        self._stopped = True
        for subscription in self._subscriptions:
            subscription.cancel()
        for task in self._tasks.values():
            task.cancel()
        self._outbound.close()

    def follow(self, api_service: Object) -> None:
        name = api_service["metadata"]["name"]
        known = self._services.get(name)
        self._services[name] = api_service
        spec = api_service["spec"]
        self._by_version[spec.get("group", ""), spec["version"]] = name
        if known is None or known["spec"] != spec:
            self._check(name)
        self._publish()

    def forget(self, api_service: Object) -> None:
        name = api_service["metadata"]["name"]
        if self._services.pop(name, None) is None:
            return
        spec = api_service["spec"]
        self._by_version.pop((spec.get("group", ""), spec["version"]), None)
        self._found.pop(name, None)
        self._publish()

    # Requests

    async def proxied(self, request: Request) -> HttpResponse | None:
        parts = request.info.path.strip("/").split("/", 3)
        if parts[0] == "apis" and len(parts) > 2:
            name = self._by_version.get((parts[1], parts[2]))
        else:
            name = self._by_version.get(("", parts[1])) if parts[0] == "api" and len(parts) > 1 else None
        if name is None:
            return None
        api_service = self._services[name]
        backend = self._backend(api_service)
        service = self._server.objects.get("services", backend.namespace, backend.service)
        if service is None or not is_available(api_service):
            return proxy.unavailable(request)
        query = f"?{request.http.query}" if request.http.query else ""
        url = backend.url(service, request.http.path + query)
        return await proxy.forward(request, backend, url, self._outbound, self._resolver(backend))

    def _backend(self, api_service: Object) -> Backend:
        if self._credential is None:
            make = self._server.options.front_proxy_client
            self._credential = make() if make is not None else (b"", b"")
        return Backend.of(api_service, *self._credential)

    def _resolver(self, backend: Backend) -> Any:
        async def resolve(host: str, port: int) -> Address:
            return await self._server.routes.resolve(backend.namespace, backend.service, backend.port)

        return resolve

    # Availability

    def _follow_routes(self) -> None:
        for resource in ("services", _SLICES):
            cache = self._server.storages[resource].cache
            if cache.ready:
                subscription = cache.subscribe(cache.prefix, cache.revision, self._route_changed, self._ended)
                self._subscriptions.append(subscription)

    def _route_changed(self, event: CacheEvent[Stored]) -> None:
        metadata = event.object.object["metadata"]
        name = (metadata.get("labels") or {}).get(_SERVICE_NAME) or metadata["name"]
        for each in self._services.values():
            reference = each["spec"]["service"]
            if (reference.get("namespace"), reference.get("name")) == (metadata.get("namespace"), name):
                self._check(each["metadata"]["name"])

    def _ended(self, reason: EndReason) -> None:
        """A rebuilt cache is noticed with the next resync."""

    def _resync(self) -> None:
        if self._stopped:
            return
        if any(not each.active for each in self._subscriptions):
            self._subscriptions.clear()
            self._follow_routes()
        for name in self._services:
            self._check(name)
        self._server.clock.call_later(RESYNC_S, self._resync)

    def _check(self, name: str) -> None:
        """Looks at it now, or once more when the look that is under way is over."""
        task = self._tasks.get(name)
        if task is not None and not task.done():
            self._again.add(name)
            return
        self._again.discard(name)
        self._tasks[name] = asyncio.get_running_loop().create_task(self._run(name), name=f"availability of {name}")

    async def _run(self, name: str) -> None:
        api_service = self._services.get(name)
        if api_service is None:
            return
        try:
            wanted = await self._judge(self._backend(api_service))
            await self._write(name, wanted)
        except (errors.StatusError, StoreError) as error:
            log.info("APIService %s: %s", name, error)
            wanted = condition("Unknown", "", "")
        if wanted["reason"] in ("FailedDiscoveryCheck", ""):
            failures = self._failures[name] = self._failures.get(name, 0) + 1
            delay_s = min(_FIRST_RETRY_S * 2**failures, RESYNC_S)
            self._server.clock.call_later(delay_s, lambda: self._check_later(name))
        else:
            self._failures.pop(name, None)
        if name in self._again:
            self._server.clock.call_later(0.0, lambda: self._check_later(name))

    def _check_later(self, name: str) -> None:
        if not self._stopped and name in self._services:
            self._check(name)

    async def _judge(self, backend: Backend) -> Object:
        objects = self._server.objects
        service = objects.get("services", backend.namespace, backend.service)
        slices = [
            each
            for each in objects.list(_SLICES, backend.namespace)
            if (each["metadata"].get("labels") or {}).get(_SERVICE_NAME) == backend.service
        ]
        problem = route_problem(backend, service, slices)
        if problem is not None:
            return problem
        assert service is not None
        url = backend.url(service, backend.discovery_path)
        try:
            reply = await self._get(backend, url, "")
            if not 200 <= reply.status < 300:
                text = f"failing or missing response from {url}: bad status from {url}: {reply.status}"
                return condition("False", "FailedDiscoveryCheck", text)
        except OutboundError as error:
            text = f"failing or missing response from {url}: {error}"
            return condition("False", "FailedDiscoveryCheck", text)
        await self._discover(backend, service, reply)
        return PASSED

    async def _get(self, backend: Backend, url: str, accept: str) -> OutboundResponse:
        return await self._outbound.request(
            "GET",
            url,
            headers=[*([("Accept", accept)] if accept else []), *proxy.user_headers(_AGGREGATOR)],
            trust=backend.trust,
            resolve=self._resolver(backend),
            timeout_s=CHECK_TIMEOUT_S,
            client_timeout=True,
            follow_redirects=False,
        )

    async def _write(self, name: str, wanted: Object) -> None:
        now = rfc3339(self._server.clock.now_s())
        known = self._services.get(name)
        if known is None or with_condition(known, wanted, now) == known:
            return
        loopback = self._server.registry_wiring.loopback
        try:
            await loopback.update(
                API_SERVICES, "", name, lambda current: with_condition(current, wanted, now), "status"
            )
        except errors.StatusError as error:
            if error.code != 404:
                raise

    # Discovery

    async def _discover(self, backend: Backend, service: Object, legacy: OutboundResponse) -> None:
        """The backend's resources: in the aggregated form, or as its group version document has them."""
        try:
            reply = await self._get(backend, backend.url(service, "/apis"), backend_discovery.ACCEPT)
            if reply.status == 200 and "as=APIGroupDiscoveryList" in reply.header("content-type"):
                document = orjson.loads(reply.body)
                found = backend_discovery.from_aggregated(document, backend.group, backend.version)
            else:
                found = backend_discovery.from_legacy(orjson.loads(legacy.body), backend.group, backend.version)
        except (OutboundError, orjson.JSONDecodeError, KeyError, TypeError) as error:
            log.info("discovery of %s: %s", backend.name, error)
            return
        if self._found.get(backend.name) != found:
            self._found[backend.name] = found
            self._publish()

    def _publish(self) -> None:
        """Tells discovery; what does not answer is there too, as stale."""
        registry = self._server.registry
        aggregated = {}
        stale = []
        for (group, version), name in sorted(self._by_version.items()):
            if group:
                aggregated[group, version] = self._found.get(name, ())
                if not is_available(self._services[name]):
                    stale.append(f"{group}/{version}")
        if (aggregated, frozenset(stale)) != (registry.aggregated, registry.stale):
            registry.aggregated, registry.stale = aggregated, frozenset(stale)
            registry.generation += 1
