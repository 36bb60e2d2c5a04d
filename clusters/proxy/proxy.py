"""One proxy: a listener, an upstream, and the toxics in between, which work on open connections as well."""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import asdict, dataclass
from typing import Any

from clusters.proxy.toxics import CloseConnection, Passing, Toxic, Waiting

_CHUNK_BYTES = 64 * 1024
_QUEUE_CHUNKS_MAX = 64
_RST_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass
class Placed:
    """A toxic in its place: its name, the direction it works in, and on how many of the connections."""

    name: str
    stream: str
    toxicity: float
    toxic: Toxic

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "type": self.toxic.type,
            "stream": self.stream,
            "toxicity": self.toxicity,
            "attributes": asdict(self.toxic),
        }


class Proxy:
    def __init__(self, name: str, listen: str, upstream: str, waiting: Waiting) -> None:
        self.name = name
        self.listen = listen
        self.upstream = upstream
        self.toxics: dict[str, Placed] = {}
        #: How many clients have connected since it was made.
        self.connections_total = 0
        self._waiting = waiting
        self._server: asyncio.Server | None = None
        self._links: set[asyncio.Task[None]] = set()

    @property
    def enabled(self) -> bool:
        return self._server is not None

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "listen": self.listen,
            "upstream": self.upstream,
            "enabled": self.enabled,
            "toxics": [each.as_json() for each in self.toxics.values()],
        }

    async def enable(self) -> None:
        if self._server is None:
            host, _, port = self.listen.rpartition(":")
            self._server = await asyncio.start_server(self._accept, host, int(port or 0))
            self.listen = "{}:{}".format(*self._server.sockets[0].getsockname()[:2])

    async def disable(self) -> None:
        """Listens no more, and drops every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        links = [*self._links]
        for link in links:
            link.cancel()
        await asyncio.gather(*links, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections_total += 1
        link = asyncio.current_task()
        assert link is not None
        self._links.add(link)
        try:
            await self._serve(reader, writer)
        except asyncio.CancelledError:
            # Only `disable` cancels, and it waits; asyncio's own callback would call this an error.
            return
        finally:
            self._links.discard(link)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = self.upstream.rpartition(":")
        try:
            up_reader, up_writer = await asyncio.open_connection(host, int(port))
        except OSError:
            return
        ways = [
            asyncio.ensure_future(self._carry("upstream", reader, up_writer, writer)),
            asyncio.ensure_future(self._carry("downstream", up_reader, writer, writer)),
        ]
        try:
            await asyncio.gather(*ways)
        except CloseConnection as closing:
            if closing.reset:
                for each in (writer, up_writer):
                    _reset(each)
        except OSError:
            return  # One side is gone, and so the other goes.
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            up_writer.close()

    async def _carry(
        self, stream: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client: asyncio.StreamWriter
    ) -> None:
        """Reads ahead, so that a late chunk does not make the next one later still."""
        waiting = self._waiting
        passing = Passing(
            waiting, still_in_force=lambda toxic: any(toxic is each.toxic for each in self.toxics.values())
        )
        chance = waiting.random.random()
        chunks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_QUEUE_CHUNKS_MAX)

        async def read() -> None:
            while chunk := await reader.read(_CHUNK_BYTES):
                await chunks.put((waiting.now_s(), chunk))
            await chunks.put((waiting.now_s(), b""))

        reading = asyncio.ensure_future(read())
        # A connection that ends in an error ends the reading; whoever waits for a chunk must learn of it.
        reading.add_done_callback(lambda done: None if done.cancelled() or done.exception() is None else _end(chunks))
        try:
            while True:
                passing.received_s, chunk = await chunks.get()
                toxics = [
                    each.toxic for each in self.toxics.values() if each.stream == stream and chance < each.toxicity
                ]
                if not chunk:
                    for toxic in toxics:
                        await toxic.at_end(passing)
                    if writer.can_write_eof():
                        writer.write_eof()
                    return
                await self._through(toxics, chunk, passing, writer)
        finally:
            reading.cancel()

    async def _through(self, toxics: list[Toxic], chunk: bytes, passing: Passing, writer: asyncio.StreamWriter) -> None:
        if not toxics:
            writer.write(chunk)
            passing.passed_bytes += len(chunk)
            await writer.drain()
            return
        async for part in toxics[0].pass_on(chunk, passing):
            await self._through(toxics[1:], part, passing, writer)


def _end(chunks: asyncio.Queue[tuple[float, bytes]]) -> None:
    if not chunks.full():
        chunks.put_nowait((0.0, b""))


def _reset(writer: asyncio.StreamWriter) -> None:
    underlying = writer.get_extra_info("socket")
    if underlying is not None:
        underlying.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RST_ON_CLOSE)
    writer.transport.abort()
