"""`pods/…/exec`, `attach` and `portforward`: connections through the api-server to the node's kubelet."""

from __future__ import annotations

from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.negotiation import MediaType
from clusters.emulated.apiserver.options import boolean, first
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.subresources.connecting import admit_connect
from clusters.emulated.apiserver.subresources.kubelets import (
    KubeletAddress,
    KubeletConnections,
    KubeletUnreachableError,
    Object,
    StreamOptions,
    chosen_container,
)
from clusters.kube import errors
from clusters.kube.gostring import quote


class StreamSubresources:
    def __init__(self, services: Services, connections: KubeletConnections) -> None:
        self._services = services
        self._connections = connections

    async def exec(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        return await self._stream(request, served, "PodExecOptions")

    async def attach(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        return await self._stream(request, served, "PodAttachOptions")

    async def _stream(self, request: Request, served: Served, kind: str) -> HttpResponse:
        query = request.query
        flags = {name: bool(boolean(query, name)) for name in ("stdin", "stdout", "stderr", "tty")}
        command = tuple(query.get("command") or ()) if kind == "PodExecOptions" else ()
        wanted = first(query, "container")
        shown: Object = {**flags, "container": wanted, "command": list(command)}
        await admit_connect(request, served, self._services, kind, shown)
        await self._require_create(request, served)
        pod = await self._connections.pod(request)
        container = chosen_container(pod, wanted)
        node, address = await self._host(request, pod)
        options = StreamOptions(**flags, command=command)
        kubelets = self._connections.kubelets
        ask = kubelets.exec if kind == "PodExecOptions" else kubelets.attach
        try:
            return await ask(node, pod, container, options, request)
        except KubeletUnreachableError as unreachable:
            raise _cannot_dial(address, unreachable) from None

    async def port_forward(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        ports = [_port(text) for text in request.query.get("ports") or ()]
        await admit_connect(request, served, self._services, "PodPortForwardOptions", {"ports": ports})
        await self._require_create(request, served)
        pod = await self._connections.pod(request)
        node, address = await self._host(request, pod)
        try:
            return await self._connections.kubelets.port_forward(node, pod, ports, request)
        except KubeletUnreachableError as unreachable:
            raise _cannot_dial(address, unreachable) from None

    async def _require_create(self, request: Request, served: Served) -> None:
        """Browsers connect by GET; that must not need less permission than the POST of everybody else."""
        info = request.info
        if info.verb == "create":
            return
        try:
            await self._services.authorize(request.user, request, "create", served, info.name)
        except errors.StatusError as refused:
            if refused.code != 403:
                raise
            raise errors.forbidden(info.group_resource, info.name, "") from None

    async def _host(self, request: Request, pod: Object) -> tuple[str, KubeletAddress]:
        node = (pod.get("spec") or {}).get("nodeName", "")
        if not node:
            raise errors.bad_request(f"pod {request.info.name} does not have a host assigned")
        address = await self._connections.address(node, "pods")
        if "upgrade" not in (request.http.headers.get("connection") or "").lower():
            raise errors.bad_request("Upgrade request required")
        return node, address


def _cannot_dial(address: KubeletAddress, unreachable: KubeletUnreachableError) -> errors.StatusError:
    return errors.unknown(f"error dialing backend: {address.dial_error(unreachable)}")


def _port(text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise errors.bad_request(f"strconv.ParseInt: parsing {quote(text)}: invalid syntax")
    return int(text)
