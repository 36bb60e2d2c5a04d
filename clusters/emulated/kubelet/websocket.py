"""WebSocket as `kubectl exec` speaks it: the handshake, frames, and Kubernetes' channels (v5 and v4).

Every binary message begins with its channel: 0 stdin, 1 stdout, 2 stderr, 3 the final Status, 4 terminal size; in v5,
255 followed by a channel closes that one.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from typing import Final

from clusters.emulated.apiserver.http import Headers, RawConnection

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
V5: Final = "v5.channel.k8s.io"
PROTOCOLS: Final = (V5, "v4.channel.k8s.io", "v4.base64.channel.k8s.io")
_GUID: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 1, 2, 8, 9, 10
MESSAGE_MAX: Final = 32 << 20


class WebSocketError(Exception):
    """The other side does not keep to the protocol; the connection is given up."""


def is_websocket(headers: Headers) -> bool:
    return (headers.get("upgrade") or "").lower() == "websocket"


def chosen_protocol(headers: Headers, known: tuple[str, ...] = PROTOCOLS) -> str:
    """The first of the client's that is known here; empty if none is."""
    for value in headers.get_all("sec-websocket-protocol"):
        for name in value.split(","):
            if name.strip() in known:
                return name.strip()
    return ""


def handshake(headers: Headers, protocol: str) -> list[tuple[str, str]]:
    key = headers.get("sec-websocket-key") or ""
    accept = base64.b64encode(hashlib.sha1((key + _GUID).encode()).digest()).decode()
    answer = [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept)]
    return [*answer, ("Sec-WebSocket-Protocol", protocol)] if protocol else answer


class Channels:
    """One connection after its handshake."""

    def __init__(self, connection: RawConnection, protocol: str) -> None:
        self._connection = connection
        self._base64 = "base64" in protocol
        self._rest = b""
        self._stdin: asyncio.Queue[bytes | None] = asyncio.Queue()

    # Sending

    def send(self, channel: int, data: bytes) -> None:
        if self._base64:
            self._frame(_TEXT, str(channel).encode() + base64.b64encode(data))
        else:
            self._frame(_BINARY, bytes([channel]) + data)

    async def close(self) -> None:
        self._frame(_CLOSE, (1000).to_bytes(2, "big"))
        await self._connection.drain()

    def _frame(self, opcode: int, payload: bytes) -> None:
        size = len(payload)
        if size < 126:
            head = bytes([0x80 | opcode, size])
        elif size < 1 << 16:
            head = bytes([0x80 | opcode, 126]) + size.to_bytes(2, "big")
        else:
            head = bytes([0x80 | opcode, 127]) + size.to_bytes(8, "big")
        self._connection.write(head + payload)

    # Receiving

    async def pump(self) -> None:
        """Reads until the client closes; what it types is had by `stdin`."""
        try:
            async for channel, data in self._messages():
                if channel == STDIN:
                    await self._stdin.put(data)
                elif channel == CLOSE and data[:1] == bytes([STDIN]):
                    await self._stdin.put(None)
        except WebSocketError:
            self._connection.abort()
        finally:
            await self._stdin.put(None)

    async def stdin(self) -> bytes | None:
        """What came next; None at the end."""
        return await self._stdin.get()

    async def _messages(self) -> AsyncIterator[tuple[int, bytes]]:
        message = b""
        while True:
            head = await self._take(2)
            if head is None:
                return
            final, opcode, masked, size = head[0] & 0x80, head[0] & 0x0F, head[1] & 0x80, head[1] & 0x7F
            if size >= 126:
                wide = await self._take(2 if size == 126 else 8)
                if wide is None:
                    return
                size = int.from_bytes(wide, "big")
            if size > MESSAGE_MAX or not masked:
                raise WebSocketError("a frame that is too large, or not masked")
            body = await self._take(4 + size)
            if body is None or opcode == _CLOSE:
                return
            payload = _unmasked(body[:4], body[4:])
            if opcode == _PING:
                self._frame(_PONG, payload)
            elif opcode != _PONG:
                message += payload
                if final:
                    if message:
                        yield self._decoded(message)
                    message = b""

    def _decoded(self, message: bytes) -> tuple[int, bytes]:
        if self._base64:
            return message[0] - ord("0"), base64.b64decode(message[1:])
        return message[0], message[1:]

    async def _take(self, size: int) -> bytes | None:
        while len(self._rest) < size:
            more = await self._connection.read()
            if not more:
                return None
            self._rest += more
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken


def _unmasked(mask: bytes, data: bytes) -> bytes:
    key = (mask * (len(data) // 4 + 1))[: len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(key, "big")).to_bytes(len(data), "big")
