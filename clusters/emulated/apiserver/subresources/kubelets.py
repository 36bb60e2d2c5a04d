"""The way from the api-server to a node: whom to ask for logs, exec, attach, port-forward and proxying.

`Kubelets` is what the nodes of a cluster implement. `KubeletConnections` finds out where a Pod's or node's kubelet
is, with the errors of an api-server that cannot; as long as nobody has set `kubelets`, no kubelet listens.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from clusters.emulated.apiserver.http import HttpResponse, StreamWriter
from clusters.emulated.apiserver.objects import Objects
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.verbs.write import store_failure
from clusters.emulated.outbound.errors import join_host_port
from clusters.emulated.store import errors as store_errors
from clusters.kube import errors

Object = dict[str, Any]
#: Writes the log to the client, and returns when it is complete.
LogStream = Callable[[StreamWriter], Awaitable[None]]

DEFAULT_PORT = 10250
_PREFERRED = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")


class KubeletUnreachableError(Exception):
    """No connection to the kubelet came about. The text is what dialling it says: `connect: connection refused`."""

    def __init__(self, text: str = "connect: connection refused") -> None:
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class LogOptions:
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since_s: int | None = None
    since_time: str = ""
    tail_lines: int | None = None
    limit_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Of exec and attach; attach has no command."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False
    command: tuple[str, ...] = ()


class Kubelets(Protocol):
    """The kubelets of all nodes, by node name. A kubelet that is not there raises `KubeletUnreachableError`;
    what a kubelet refuses is a `StatusError`. `pod` is the stored Pod and must not be changed."""

    async def logs(self, node: str, pod: Object, container: str, options: LogOptions) -> LogStream: ...

    async def exec(
        self, node: str, pod: Object, container: str, options: StreamOptions, request: Request
    ) -> HttpResponse:
        """Usually 101 with an `upgrade` that speaks the protocol which the client asked for."""

    async def attach(
        self, node: str, pod: Object, container: str, options: StreamOptions, request: Request
    ) -> HttpResponse: ...

    async def port_forward(self, node: str, pod: Object, ports: Sequence[int], request: Request) -> HttpResponse: ...

    async def proxy(self, node: str, path: str, request: Request) -> HttpResponse:
        """`path` is what the kubelet is asked, with its query."""


class NoKubelets:
    """A cluster whose nodes are objects only: every port is closed."""

    async def logs(self, node: str, pod: Object, container: str, options: LogOptions) -> LogStream:
        raise KubeletUnreachableError

    async def exec(
        self, node: str, pod: Object, container: str, options: StreamOptions, request: Request
    ) -> HttpResponse:
        raise KubeletUnreachableError

    async def attach(
        self, node: str, pod: Object, container: str, options: StreamOptions, request: Request
    ) -> HttpResponse:
        raise KubeletUnreachableError

    async def port_forward(self, node: str, pod: Object, ports: Sequence[int], request: Request) -> HttpResponse:
        raise KubeletUnreachableError

    async def proxy(self, node: str, path: str, request: Request) -> HttpResponse:
        raise KubeletUnreachableError


@dataclass(frozen=True, slots=True)
class KubeletAddress:
    host: str
    port: int

    def __str__(self) -> str:
        return join_host_port(self.host, self.port)

    def dial_error(self, unreachable: KubeletUnreachableError) -> str:
        return f"dial tcp {self}: {unreachable}"


class KubeletConnections:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self.kubelets: Kubelets = NoKubelets()

    async def pod(self, request: Request) -> Object:
        found = await self._live("pods", request.info.namespace, request.info.name)
        if found is None:
            raise errors.not_found("pods", request.info.name)
        return found

    async def address(self, node_name: str, blamed: str) -> KubeletAddress:
        """Where the node's kubelet is. A node that is not there is blamed on the request's own resource, because
        Kubernetes looks it up in the request's context."""
        node = await self._live("nodes", "", node_name)
        if node is None:
            raise errors.not_found(blamed, node_name)
        status = node.get("status") or {}
        addresses = status.get("addresses") or ()
        for kind in _PREFERRED:
            for each in addresses:
                if each.get("type") == kind:
                    endpoint = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
                    return KubeletAddress(each.get("address", ""), endpoint.get("Port") or DEFAULT_PORT)
        known = " ".join(f"{{{each.get('type', '')} {each.get('address', '')}}}" for each in addresses)
        raise errors.unknown(f"no preferred addresses found; known addresses: [{known}]")

    async def _live(self, resource: str, namespace: str, name: str) -> Object | None:
        try:
            return await self._objects.get_live(resource, namespace, name)
        except store_errors.StoreError as error:
            raise store_failure(error) from error


def chosen_container(pod: Object, wanted: str) -> str:
    """The container meant: the one named, or the only one."""
    spec: Mapping[str, Any] = pod.get("spec") or {}
    name, containers = pod["metadata"]["name"], spec.get("containers") or []
    kinds = ("initContainers", "containers", "ephemeralContainers")
    names = [each.get("name", "") for kind in kinds for each in spec.get(kind) or ()]
    if wanted:
        if wanted not in names:
            raise errors.bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    if len(containers) == 1:
        only: str = containers[0].get("name", "")
        return only
    if not containers:
        raise errors.bad_request(f"a container name must be specified for pod {name}")
    raise errors.bad_request(f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]")
