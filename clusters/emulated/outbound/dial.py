"""From a host and port to a TCP connection, with Go's words when there is none."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import cast

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


class ByteStream(asyncio.Protocol):
    """A TCP connection. What arrived is read first, and only then why it ended.

    asyncio's own StreamReader forgets what it holds when the connection is reset, e.g. the TLS alert that says
    why the server hung up.
    """

    def __init__(self) -> None:
        self._transport: asyncio.Transport
        self._received = b""
        self._ended = False
        self._error: OSError | None = None
        self._readable: asyncio.Future[None] | None = None
        self.route = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        source, peer = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
        self.route = f"{join_host_port(*source[:2])}->{join_host_port(*peer[:2])}"

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._wake()

    def eof_received(self) -> bool:
        self._ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        if isinstance(exc, OSError):
            self._error = exc
        self._wake()

    def _wake(self) -> None:
        if self._readable is not None and not self._readable.done():
            self._readable.set_result(None)

    @property
    def open(self) -> bool:
        return not (self._ended or self._transport.is_closing())

    def take(self) -> bytes:
        """What has arrived by now, without waiting."""
        data, self._received = self._received, b""
        return data

    async def read(self) -> bytes:
        """What arrived next; b"" at the end. Raises the OSError that ended it."""
        while not self._received:
            if self._error is not None:
                raise self._error
            if self._ended:
                return b""
            self._readable = asyncio.get_running_loop().create_future()
            await self._readable
        return self.take()

    def write(self, data: bytes) -> None:
        """Sends; if the connection is gone, the next `read` tells why."""
        if not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        self._transport.close()


async def dial(address: Address, io: Callable[[], AbstractContextManager[None]] = nullcontext) -> ByteStream:
    """Connects, trying each address of a name in turn; the error is that of the first, as in Go.

    An emulated cluster lives on this machine alone: it connects to loopback and to nothing else. Any other
    address is one that never answers, as behind a firewall that drops packets; the caller's deadline ends it.
    `io` is entered only while something real is waited for (`Clock.io`).
    """
    loop = asyncio.get_running_loop()
    first_error: DialError | None = None
    for host in await _lookup(address.host):
        if not ip_address(host).is_loopback:
            await loop.create_future()
        try:
            with io():
                _, stream = await loop.create_connection(ByteStream, host, address.port)
        except OSError as error:
            shown = address.shown or join_host_port(host, address.port)
            first_error = first_error or DialError(f"dial tcp {shown}: {system_call_text('connect', error)}")
        else:
            return stream
    assert first_error is not None, "a lookup that succeeds gives at least one address"
    raise first_error


async def _lookup(host: str) -> list[str]:
    try:
        return [str(ip_address(host))]
    except ValueError:
        pass
    if host not in _own_names():
        # Names of other machines are not even asked for: a test sends nothing beyond this machine.
        raise DialError(f"dial tcp: lookup {host} on {resolver_address()}: no such host")
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def _own_names(path: str = "/etc/hosts") -> set[str]:
    """What the hosts file knows; everything else would be a question to a name server."""
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = {name for line in lines for name in line.partition("#")[0].split()[1:]}
    return names | {"localhost"}


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
