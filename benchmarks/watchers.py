"""Many watches on one server: how long until the last one knows of a write, and what an idle one costs."""

from __future__ import annotations

import asyncio
import ssl
import time
from functools import partial
from urllib.parse import urlsplit

from benchmarks.load import Call, run


class _Watcher(asyncio.Protocol):
    """One watch connection; counts the events it has seen."""

    def __init__(self, path: str, host: str) -> None:
        self._request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json\r\n\r\n".encode()
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.heard: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._seen = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if not self.opened.done():
            self._seen += data
            if b"\r\n\r\n" in self._seen:
                self.opened.set_result(None)
        elif b'"MODIFIED"' in data and not self.heard.done():
            self.heard.set_result(time.perf_counter())


def _always(call: Call, number: int) -> Call:
    return call


async def _open(url: str, tls: ssl.SSLContext, path: str, count: int) -> list[_Watcher]:
    parts = urlsplit(url)
    loop = asyncio.get_running_loop()
    watchers = []
    for _ in range(count):
        _, watcher = await loop.create_connection(
            lambda: _Watcher(path, parts.netloc), parts.hostname or "127.0.0.1", parts.port or 443, ssl=tls
        )
        watchers.append(watcher)
    await asyncio.gather(*(watcher.opened for watcher in watchers))
    return watchers


async def fan_out_ms(
    url: str, tls: ssl.SSLContext, collection: str, name: str, watchers: int, writes: int
) -> list[float]:
    """Per write: milliseconds from sending it until the last of the watchers has its event."""
    path = f"{collection}?watch=1&fieldSelector=metadata.name%3D{name}&resourceVersion=0"
    opened = await _open(url, tls, path, watchers)
    took_ms = []
    for number in range(writes):
        for watcher in opened:
            watcher.heard = asyncio.get_running_loop().create_future()
        body = b'{"data":{"k":"%d"}}' % number
        began_s = time.perf_counter()
        change = Call("PATCH", f"{collection}/{name}", body, "application/merge-patch+json")
        writing = asyncio.ensure_future(run(url, partial(_always, change), connections=1, requests=1, tls=tls))
        heard = await asyncio.gather(*(watcher.heard for watcher in opened))
        took_ms.append((max(heard) - began_s) * 1000)
        await writing
    for watcher in opened:
        watcher.transport.close()
    return took_ms


async def idle(url: str, tls: ssl.SSLContext, path: str, count: int) -> list[_Watcher]:
    """Opens that many watches and leaves them open; the caller looks at the server's memory."""
    return await _open(url, tls, path, count)
