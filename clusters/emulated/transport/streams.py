"""What a handler holds while it owns a connection: a chunked body, or the raw bytes after an upgrade."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from clusters.emulated.apiserver.http import frame_chunk, unframe_chunk

if TYPE_CHECKING:
    from clusters.emulated.transport.connection import Connection

_UNREAD_BYTES_MAX = 256 * 1024


class ChunkWriter:
    """The `StreamWriter` of an HTTPS connection. HTTP/1.0 clients get the bytes without chunk frames."""

    __slots__ = ("_chunked", "_connection", "_write", "finished")

    def __init__(self, connection: Connection, chunked: bool) -> None:
        self._connection = connection
        self._write = connection.write
        self._chunked = chunked
        self.finished = False

    @property
    def buffered_bytes(self) -> int:
        return self._connection.buffered_bytes

    @property
    def closed(self) -> bool:
        return self.finished or self._connection.is_closing

    def write(self, data: bytes) -> None:
        if data and not self.finished:
            self._write(frame_chunk(data) if self._chunked else data)

    def write_framed(self, framed: bytes) -> None:
        if framed and not self.finished:
            self._write(framed if self._chunked else unframe_chunk(framed))

    def on_close(self, callback: Callable[[], None]) -> None:
        self._connection.client_gone.add_callback(callback)

    async def drain(self) -> None:
        await self._connection.drain()

    def abort(self) -> None:
        self._connection.abort()


class UpgradedConnection:
    """The `RawConnection` of an HTTPS connection."""

    __slots__ = ("_arrived", "_bytes", "_connection", "_ended", "_paused", "_waiter")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._arrived: deque[bytes] = deque()
        self._bytes = 0
        self._ended = False
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None

    @property
    def closed(self) -> bool:
        return self._ended or self._connection.is_closing

    def received(self, data: bytes) -> None:
        self._arrived.append(data)
        self._bytes += len(data)
        if self._bytes > _UNREAD_BYTES_MAX and not self._paused:
            self._paused = True
            self._connection.pause()
        self._wake()

    def ended(self) -> None:
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def read(self) -> bytes:
        while not self._arrived:
            if self._ended:
                return b""
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        data = self._arrived.popleft()
        self._bytes -= len(data)
        if self._paused and self._bytes <= _UNREAD_BYTES_MAX // 2:
            self._paused = False
            self._connection.resume()
        return data

    def write(self, data: bytes) -> None:
        if data:
            self._connection.write(data)

    async def drain(self) -> None:
        await self._connection.drain()

    def abort(self) -> None:
        self._connection.abort()
