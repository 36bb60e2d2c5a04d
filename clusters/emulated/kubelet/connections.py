"""Connections to Pod addresses, as probes and hooks make them: who answers there, and Go's words when nobody does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusters.emulated.clock import Clock
from clusters.emulated.kubelet.back_off import duration
from clusters.emulated.kubelet.programs.box import Listener
from clusters.emulated.kubelet.runtime import Runtime

Object = dict[str, Any]


class ConnectError(Exception):
    """No answer; the text is Go's."""


class UnknownPortError(Exception):
    """The container has no port of that name."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    body: str


class Connections:
    def __init__(self, runtime: Runtime, clock: Clock) -> None:
        self._runtime = runtime
        self._clock = clock

    def _listener(self, host: str, port: int) -> Listener:
        for box in self._runtime.listeners_at(host):
            listener = box.listeners.get(port)
            if listener is not None:
                return listener
        shown = f"[{host}]" if ":" in host else host
        raise ConnectError(f"dial tcp {shown}:{port}: connect: connection refused")

    async def tcp(self, host: str, port: int, timeout_s: float) -> None:
        self._listener(host, port)

    async def http(self, url: str, host: str, port: int, path: str, timeout_s: float) -> HttpAnswer:
        """Raises `ConnectError` with the text of Go's HTTP client."""
        try:
            listener = self._listener(host, port)
        except ConnectError as error:
            raise ConnectError(f'Get "{url}": {error}') from error
        if timeout_s and listener.delay_s >= timeout_s:
            await self._clock.sleep(timeout_s)
            raise ConnectError(
                f'Get "{url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
            )
        if listener.delay_s:
            await self._clock.sleep(listener.delay_s)
        if listener.answer is None:
            raise ConnectError(f'Get "{url}": EOF')
        return HttpAnswer(*listener.answer(path))

    async def grpc(self, host: str, port: int, service: str, timeout_s: float) -> None:
        try:
            listener = self._listener(host, port)
        except ConnectError:
            await self._clock.sleep(timeout_s)
            raise ConnectError(
                f'timeout: failed to connect service "{host}:{port}" within {duration(timeout_s)}: '
                "context deadline exceeded"
            ) from None
        if not listener.grpc:
            raise ConnectError(
                "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): unimplemented"
            )


def resolve_port(port: int | str, container: Object) -> int:
    """A number, or the name of one of the container's ports."""
    if isinstance(port, int):
        return port
    for each in container.get("ports") or ():
        if each.get("name") == port:
            number: int = each["containerPort"]
            return number
    if port.isdigit():
        return int(port)
    raise UnknownPortError(f"couldn't find port named {port!r}".replace("'", '"'))


def http_target(action: Object, container: Object, pod_ip: str) -> tuple[str, str, int, str]:
    """url, host, port and path of an httpGet."""
    port = resolve_port(action["port"], container)
    host = action.get("host") or pod_ip
    scheme = (action.get("scheme") or "HTTP").lower()
    path = action.get("path") or "/"
    if not path.startswith("/"):
        path = "/" + path
    shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port}{path}", host, port, path
