"""`proxy` of Pods, Services and nodes: plain HTTP through the api-server.

Pods and Services are reached over the routes of the cluster, nodes through their kubelet.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.negotiation import MediaType
from clusters.emulated.apiserver.objects import Objects
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.service_routes import ServiceRoutes
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.subresources.connecting import admit_connect
from clusters.emulated.apiserver.subresources.kubelets import KubeletConnections, KubeletUnreachableError, Object
from clusters.emulated.outbound.client import OutboundClient, Trust
from clusters.emulated.outbound.errors import OutboundError, UrlError, join_host_port
from clusters.kube import errors
from clusters.kube.gostring import quote
from clusters.kube.ipaddr import parse_ip

_HOP_BY_HOP = frozenset(
    (
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
        "transfer-encoding", "upgrade", "host", "content-length", "authorization", "accept-encoding",
    )
)  # fmt: skip


class ProxySubresources:
    def __init__(
        self,
        services: Services,
        objects: Objects,
        connections: KubeletConnections,
        routes: ServiceRoutes,
        outbound: OutboundClient,
    ) -> None:
        self._services = services
        self._objects = objects
        self._connections = connections
        self._routes = routes
        self._outbound = outbound

    async def node(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        path = _path(request)
        await admit_connect(request, served, self._services, "NodeProxyOptions", {"path": path})
        _, name, _ = _split(request.info.name, "node")
        address = await self._connections.address(name, "nodes")
        redirect = _to_directory(request, path)
        if redirect is not None:
            return redirect
        query = request.http.query
        try:
            asked = path + (f"?{query}" if query else "")
            return await self._connections.kubelets.proxy(name, asked, request)
        except KubeletUnreachableError as unreachable:
            raise _unreachable(address.dial_error(unreachable)) from None

    async def pod(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        await admit_connect(request, served, self._services, "PodProxyOptions", {"path": _path(request)})
        scheme, name, port = _split(request.info.name, "pod")
        pod = await self._objects.get_live("pods", request.info.namespace, name)
        if pod is None:
            raise errors.not_found("pods", name)
        if not port:
            containers = (pod.get("spec") or {}).get("containers") or ()
            port = next((str(each["ports"][0]["containerPort"]) for each in containers if each.get("ports")), "")
        addresses: Sequence[Object] = (pod.get("status") or {}).get("podIPs") or ()
        address = parse_ip(addresses[0].get("ip", "")) if addresses else None
        if address is None or not _is_global_unicast(address):
            raise errors.bad_request("address not allowed")
        number = int(port) if port.isdigit() else 443 if scheme == "https" else 80
        return await self._forward(request, scheme or "http", str(address), number)

    async def service(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        await admit_connect(request, served, self._services, "ServiceProxyOptions", {"path": _path(request)})
        identifier, namespace = request.info.name, request.info.namespace
        scheme, name, port = _split(identifier, "service")
        if port.isdigit():
            service = await self._objects.get_live("services", namespace, name)
            if service is None:
                raise errors.not_found("services", name)
            ports = (service.get("spec") or {}).get("ports") or ()
            found = next((each for each in ports if each.get("port") == int(port)), None)
            if found is None:
                raise errors.service_unavailable(f"no service port {port} found for service {quote(name)}")
            port = found.get("name", "")
        endpoints = await self._objects.get_live("endpoints", namespace, name)
        if endpoints is None:
            raise errors.not_found("services", name)
        subsets = endpoints.get("subsets") or ()
        if not subsets:
            raise errors.service_unavailable(f"no endpoints available for service {quote(name)}")
        target = self._endpoint(subsets, port, namespace)
        if target is None:
            raise errors.service_unavailable(f"no endpoints available for service {quote(identifier)}")
        return await self._forward(request, scheme or "http", *target)

    def _endpoint(self, subsets: Sequence[Object], port: str, namespace: str) -> tuple[str, int] | None:
        """Any address that is a Pod's of this namespace: nobody gets sent elsewhere by a forged Endpoints."""
        for subset in self._from_anywhere(subsets):
            for each in subset.get("ports") or ():
                if each.get("name", "") != port:
                    continue
                for address in self._from_anywhere(subset.get("addresses") or ()):
                    if self._is_pod(address, namespace):
                        return address["ip"], each["port"]
        return None

    def _from_anywhere(self, items: Sequence[Object]) -> Sequence[Object]:
        start = int(self._services.randomness.fraction() * len(items))
        return [*items[start:], *items[:start]]

    def _is_pod(self, address: Object, namespace: str) -> bool:
        reference = address.get("targetRef") or {}
        if reference.get("namespace", "") != namespace:
            return False
        pod = self._objects.get("pods", namespace, reference.get("name", ""))
        ips = ((pod or {}).get("status") or {}).get("podIPs") or ()
        return any(each.get("ip") == address.get("ip") for each in ips)

    async def _forward(self, request: Request, scheme: str, host: str, port: int) -> HttpResponse:
        path = _path(request)
        redirect = _to_directory(request, path)
        if redirect is not None:
            return redirect
        http = request.http
        url = f"{scheme}://{join_host_port(host, port)}{path}" + (f"?{http.query}" if http.query else "")
        headers = [(name, value) for name, value in http.headers.items() if name not in _HOP_BY_HOP]
        prefix = request.http.path.partition("/proxy")[0] + "/proxy"
        headers += [
            ("X-Forwarded-For", http.remote_address or "127.0.0.1"),
            ("X-Forwarded-Uri", prefix + path),
            ("X-Forwarded-Host", http.headers.get("host") or ""),
            ("X-Forwarded-Proto", "https"),
        ]
        try:
            reply = await self._outbound.request(
                http.method,
                url,
                headers=headers,
                body=http.body,
                trust=Trust(insecure=True),
                resolve=self._routes.dialled,
                follow_redirects=False,
            )
        except OutboundError as error:
            cause = error.cause if isinstance(error, UrlError) else error
            raise _unreachable(str(cause)) from None
        kept = [(name, value) for name, value in reply.headers if name not in _HOP_BY_HOP]
        answered = [(name, _rewritten(name, value, prefix, host, port)) for name, value in kept]
        return HttpResponse(reply.status, [*request.response_headers, *answered], reply.body)


def _unreachable(text: str) -> errors.StatusError:
    return errors.service_unavailable(f"error trying to reach service: {text}")


def _split(identifier: str, what: str) -> tuple[str, str, str]:
    """`name`, `name:port` or `scheme:name:port`; anything else is refused."""
    parts = identifier.split(":")
    if len(parts) == 1:
        scheme, name, port = "", parts[0], ""
    elif len(parts) == 2:
        scheme, name, port = "", parts[0], parts[1]
    else:
        scheme, name, port = parts[0], parts[1], ":".join(parts[2:])
    if len(parts) > 3 or not name or scheme not in ("", "http", "https"):
        raise errors.bad_request(f"invalid {what} request {quote(identifier)}")
    return scheme, name, port


def _path(request: Request) -> str:
    """What comes after `…/proxy`, as it was sent."""
    return request.http.path.partition("/proxy")[2]


def _to_directory(request: Request, path: str) -> HttpResponse | None:
    """Relative links only work below a path that ends with a slash."""
    if path or request.http.method not in ("GET", "HEAD"):
        return None
    query = request.http.query
    location = request.http.path + "/" + (f"?{query}" if query else "")
    response = respond.text(request, 301, "", nosniff=False)
    response.headers = [*request.response_headers, ("Location", location)]
    return response


def _rewritten(name: str, value: str, prefix: str, host: str, port: int) -> str:
    """Redirects within the backend lead back through the proxy."""
    if name != "location":
        return value
    target = urlsplit(value)
    if target.netloc and target.netloc not in (join_host_port(host, port), host):
        return value
    if not target.path.startswith("/"):
        return value
    return prefix + target.path + (f"?{target.query}" if target.query else "")


def _is_global_unicast(address: object) -> bool:
    names = ("is_loopback", "is_multicast", "is_unspecified", "is_link_local")
    return not any(getattr(address, name) for name in names)
