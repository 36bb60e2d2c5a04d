"""HTTP/1.1 to etcd's JSON gateway on asyncio streams: a pool of kept connections, and streams.

Only what the gateway needs: POST with a JSON body, answers with a length or in chunks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from clusters.emulated.clock import Clock
from clusters.emulated.store.connection import CONNECTION_LOST, RECONNECT_BASE_S, RECONNECT_FACTOR
from clusters.emulated.store.errors import Unavailable

CONNECTIONS_IDLE_MAX: Final = 32
LINE_BYTES_MAX: Final = 64 << 20  # a watch answer is one line
RECONNECT_MAX_S: Final = 5.0

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class GatewayRefused(Exception):
    """The gateway answered with an error: gRPC's code and text, for the caller to translate."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass
class _Head:
    status: int
    length: int | None
    chunked: bool
    close: bool


class Gateway:
    """One etcd endpoint. A request waits for a connection as long as its caller lets it, as gRPC's does."""

    def __init__(self, host: str, port: int, clock: Clock) -> None:
        self._host = host
        self._port = port
        self._clock = clock
        self._idle: list[Streams] = []
        self._closed = False

    async def call(self, path: str, body: dict[str, Any], *, repeatable: bool = False) -> dict[str, Any]:
        """Posts and returns the answer. A break after sending is Unavailable, unless it may be repeated."""
        while True:
            streams = await self._connection()
            try:
                answer = await self._exchange(streams, path, body)
            except (OSError, EOFError, asyncio.IncompleteReadError):
                streams[1].close()
                if not repeatable:
                    raise Unavailable(CONNECTION_LOST) from None
                continue
            except asyncio.CancelledError:
                streams[1].close()  # The answer would be read by the next request.
                raise
            return answer

    async def stream(self, path: str, body: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        """Posts and yields each message of a streamed answer, over a connection of its own."""
        reader, writer = await self._connect()
        try:
            writer.write(self._request(path, body))
            head = await _read_head(reader)
            if head.status != 200:
                raise _refusal(head.status, await _read_body(reader, head))
            rest = b""
            async for chunk in _chunks(reader):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line:
                        yield _result(orjson.loads(line))
        except (OSError, EOFError, asyncio.IncompleteReadError):
            raise Unavailable(CONNECTION_LOST) from None
        finally:
            writer.close()

    async def close(self) -> None:
        self._closed = True
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()

    async def _exchange(self, streams: Streams, path: str, body: dict[str, Any]) -> dict[str, Any]:
        reader, writer = streams
        writer.write(self._request(path, body))
        await writer.drain()
        head = await _read_head(reader)
        content = await _read_body(reader, head)
        if head.close or self._closed or len(self._idle) >= CONNECTIONS_IDLE_MAX:
            writer.close()
        else:
            self._idle.append(streams)
        if head.status != 200:
            raise _refusal(head.status, content)
        return _result(orjson.loads(content))

    async def _connection(self) -> Streams:
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.close()
        return await self._connect()

    async def _connect(self) -> Streams:
        pause_s = RECONNECT_BASE_S
        while True:
            try:
                return await asyncio.open_connection(self._host, self._port, limit=LINE_BYTES_MAX)
            except OSError:
                if self._closed:
                    raise Unavailable(CONNECTION_LOST) from None
                await self._clock.sleep(pause_s)
                pause_s = min(pause_s * RECONNECT_FACTOR, RECONNECT_MAX_S)

    def _request(self, path: str, body: dict[str, Any]) -> bytes:
        content = orjson.dumps(body)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content


async def _read_head(reader: asyncio.StreamReader) -> _Head:
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip().lower()
    length = headers.get("content-length")
    return _Head(
        status=int(lines[0].split(" ")[1]),
        length=None if length is None else int(length),
        chunked=headers.get("transfer-encoding") == "chunked",
        close=headers.get("connection") == "close",
    )


async def _read_body(reader: asyncio.StreamReader, head: _Head) -> bytes:
    if head.chunked:
        return b"".join([chunk async for chunk in _chunks(reader)])
    if head.length is None:
        return await reader.read()
    return await reader.readexactly(head.length)


async def _chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while True:
        size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
        chunk = await reader.readexactly(size + 2)
        if size == 0:
            return
        yield chunk[:-2]


def _result(message: dict[str, Any]) -> dict[str, Any]:
    """A streamed message wraps its result; an error in a stream comes with status 200."""
    error = message.get("error")
    if isinstance(error, dict):
        code = error.get("grpc_code") or error.get("code") or 2
        raise GatewayRefused(int(code), str(error.get("message", "")))
    result = message.get("result")
    return result if isinstance(result, dict) else message


def _refusal(status: int, content: bytes) -> GatewayRefused:
    try:
        answer = orjson.loads(content)
    except orjson.JSONDecodeError:
        return GatewayRefused(2, f"HTTP status {status}: {content[:200].decode('latin-1')}")
    return GatewayRefused(int(answer.get("code", 2)), str(answer.get("message") or answer.get("error")))
