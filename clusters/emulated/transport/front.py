"""A load balancer in front of several api-servers, as production has one: TCP passed through, health checked.

Every `CHECK_EVERY_S` of cluster time it asks each replica for /readyz over TLS. New connections go to the ready ones in
turn, with the client's TLS untouched; a replica that is found unready loses its connections. While none is ready
it answers itself, under the cluster's serving certificate: 503. That is where the 503 of the handbooks comes from.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence

from clusters.emulated.apiserver.http import HttpRequest, HttpResponse
from clusters.emulated.clock import Clock
from clusters.emulated.transport.https import HttpsServer

log = logging.getLogger(__name__)

CHECK_EVERY_S = 2.0
CHECK_TIMEOUT_S = 5.0
_CHUNK_BYTES = 64 * 1024
_SORRY = (
    b"<html><body><h1>503 Service Unavailable</h1>\nNo server is available to handle this request.\n</body></html>\n"
)

#: Whether the api-server that listens on this port is ready.
Ready = Callable[[int], Awaitable[bool]]


async def sorry(http: HttpRequest) -> HttpResponse:
    return HttpResponse(503, [("Content-Type", "text/html"), ("Cache-Control", "no-cache")], _SORRY)


class Front:
    """All methods belong to the loop's thread."""

    def __init__(self, host: str, tls: ssl.SSLContext, clock: Clock, ready: Ready) -> None:
        self.host = host
        self.port = 0
        self._clock = clock
        self._ready = ready
        self._sorry = HttpsServer(sorry, tls, host, clock=clock)
        self._replicas: tuple[int, ...] = ()
        self._turns = itertools.count()
        #: Ports of the replicas that were ready when last asked.
        self.ready: frozenset[int] = frozenset()
        self._server: asyncio.Server | None = None
        self._checking: asyncio.Task[None] | None = None
        self._links: dict[asyncio.Task[None], int] = {}

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.port}"

    async def start(self, replicas: Sequence[int]) -> None:
        """Listens, after the first check of the replicas on these ports."""
        self._replicas = tuple(replicas)
        await self._sorry.start()
        await self._check()
        self._server = await asyncio.start_server(self._accept, self.host, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        self._checking = asyncio.get_running_loop().create_task(self._keep_checking(), name="front")

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        tasks = [*self._links, *([self._checking] if self._checking is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._sorry.stop()

    # Health

    async def _keep_checking(self) -> None:
        while True:
            await self._clock.sleep(CHECK_EVERY_S)
            await self._check()

    async def _check(self) -> None:
        answers = await asyncio.gather(*(self._ready(port) for port in self._replicas))
        ready = frozenset(port for port, ok in zip(self._replicas, answers, strict=True) if ok)
        if ready != self.ready:
            log.info("ready behind the front: %s of %d", len(ready), len(self._replicas))
        self.ready = ready
        for link, port in [*self._links.items()]:
            # Who is with a replica that is gone, or with nobody although there is one now, has to come again.
            if port not in ready and (ready or port != self._sorry.port):
                link.cancel()

    # Connections

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = asyncio.current_task()
        assert link is not None
        ready = sorted(self.ready)
        port = ready[next(self._turns) % len(ready)] if ready else self._sorry.port
        self._links[link] = port
        try:
            await self._splice(port, reader, writer)
        except asyncio.CancelledError:
            return  # Only `stop` and a failed check cancel; asyncio's own callback would call this an error.
        except OSError:
            return
        finally:
            del self._links[link]
            writer.transport.abort()

    async def _splice(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        up_reader, up_writer = await asyncio.open_connection(self.host, port)
        ways = [asyncio.ensure_future(_carry(reader, up_writer)), asyncio.ensure_future(_carry(up_reader, writer))]
        try:
            await asyncio.gather(*ways)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            up_writer.transport.abort()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(_CHUNK_BYTES):
        writer.write(chunk)
        await writer.drain()
    writer.write_eof()
