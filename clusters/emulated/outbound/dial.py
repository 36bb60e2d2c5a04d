"""From a host and port to a TCP connection, with Go's words when there is none."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from clusters.emulated.outbound.errors import DialError, join_host_port, system_call_text


@dataclass(frozen=True, slots=True)
class Address:
    """Where to connect. `shown` is what errors name instead, e.g. a ClusterIP that only stands for a port."""

    host: str
    port: int
    shown: str = ""

    def __str__(self) -> str:
        return self.shown or join_host_port(self.host, self.port)


Resolve = Callable[[str, int], Awaitable[Address]]
"""Says where a host and port really are, e.g. a Service's endpoint; may raise `DialError` in its own words."""


async def dial(address: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connects, trying each address of a name in turn; the error is that of the first, as in Go."""
    first_error: DialError | None = None
    for host in await _lookup(address.host):
        try:
            return await asyncio.open_connection(host, address.port, limit=1 << 20)
        except OSError as error:
            shown = address.shown or join_host_port(host, address.port)
            first_error = first_error or DialError(f"dial tcp {shown}: {system_call_text('connect', error)}")
    assert first_error is not None, "a lookup that succeeds gives at least one address"
    raise first_error


async def _lookup(host: str) -> list[str]:
    try:
        return [str(ip_address(host))]
    except ValueError:
        pass
    if host.rstrip(".").endswith(".invalid"):
        # RFC 6761: these names exist nowhere; no resolver has to be asked, least of all one that is down.
        raise DialError(f"dial tcp: lookup {host} on {resolver_address()}: no such host")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        text = "server misbehaving" if error.errno == socket.EAI_AGAIN else "no such host"
        raise DialError(f"dial tcp: lookup {host} on {resolver_address()}: {text}") from error
    return [str(entry[4][0]) for entry in found]


def resolver_address(path: str = "/etc/resolv.conf") -> str:
    """The first name server of the machine, which Go names in lookup errors; its default is 127.0.0.1:53."""
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        words = line.split()
        if len(words) >= 2 and words[0] == "nameserver":
            return join_host_port(words[1], 53)
    return "127.0.0.1:53"
