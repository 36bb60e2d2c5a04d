"""Reading an HTTP/1.1 response off a wire."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from clusters.emulated.outbound.errors import BodyError, ConnectionBrokenError, MalformedResponseError, OutboundError
from clusters.kube.gostring import quote

_HEAD_BYTES_MAX = 10 << 20
_INFORMATIONAL_MAX = 5
_VERSION = re.compile(r"HTTP/\d\.\d\Z")
_BROKEN = "net/http: HTTP/1.x transport connection broken: "


class Readable(Protocol):
    async def read(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class OutboundResponse:
    """A complete response. Header names are lower-case."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    url: str = ""
    """Where it came from, after redirects."""
    reused: bool = False
    """Whether it came over a connection that had served a request before."""

    def header(self, name: str) -> str:
        """The first value of the header, empty when it is missing."""
        lower = name.lower()
        return next((value for key, value in self.headers if key == lower), "")


@dataclass(slots=True)
class ResponseHead:
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    http_1_0: bool

    def header(self, name: str) -> str:
        return next((value for key, value in self.headers if key == name), "")

    @property
    def keeps_alive(self) -> bool:
        options = self.header("connection").lower()
        return "keep-alive" in options if self.http_1_0 else "close" not in options


class ResponseReader:
    """Reads one response. `keeps_alive` afterwards says whether the wire may carry another."""

    def __init__(self, wire: Readable, body_bytes_max: int) -> None:
        self._wire = wire
        self._body_bytes_max = body_bytes_max
        self._buffer = b""
        self.keeps_alive = False

    async def head(self) -> ResponseHead:
        for _ in range(_INFORMATIONAL_MAX):
            head = await self._one_head()
            if head.status >= 200 or head.status == 101:
                return head
        raise MalformedResponseError("net/http: too many 1xx informational responses")

    async def _one_head(self) -> ResponseHead:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            line, newline, _ = self._buffer.partition(b"\n")
            if newline:
                # Complain of a wrong status line without waiting for a head that may never end.
                _status_line(line)
            if len(self._buffer) > _HEAD_BYTES_MAX:
                raise MalformedResponseError(
                    f"net/http: server response headers exceeded {_HEAD_BYTES_MAX} bytes; aborted"
                )
            data = await self._wire.read()
            if not data:
                raise _ended_early(self._buffer)
            self._buffer += data
        lines, self._buffer = self._buffer[:end].split(b"\r\n"), self._buffer[end + 4 :]
        status, reason, http_1_0 = _status_line(lines[0])
        headers = tuple(_header(line) for line in lines[1:])
        return ResponseHead(status, reason, headers, http_1_0)

    async def body(self, head: ResponseHead, method: str) -> bytes:
        self.keeps_alive = head.keeps_alive
        if method == "HEAD" or head.status in (204, 304):
            return b""
        if "chunked" in head.header("transfer-encoding").lower():
            body = await self._chunked()
        elif length := head.header("content-length"):
            if not length.isdigit():
                raise MalformedResponseError(f"{_BROKEN}bad Content-Length {quote(length)}")
            body = await self._exactly(int(length))
        else:
            self.keeps_alive = False
            body = await self._until_close()
        if self._buffer:
            # Bytes that belong to no response: nothing sensible can follow on this wire.
            self.keeps_alive = False
        return _decompressed(body) if head.header("content-encoding").lower() == "gzip" else body

    async def _more(self) -> bool:
        try:
            data = await self._wire.read()
        except ConnectionBrokenError as error:
            raise BodyError(str(error)) from error
        self._buffer += data
        return bool(data)

    def _check_size(self, size: int) -> None:
        if size > self._body_bytes_max:
            raise BodyError(f"the response is larger than {self._body_bytes_max} bytes")

    async def _exactly(self, length: int) -> bytes:
        self._check_size(length)
        while len(self._buffer) < length:
            if not await self._more():
                raise BodyError("unexpected EOF")
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return body

    async def _line(self) -> bytes:
        while (end := self._buffer.find(b"\n")) < 0:
            if not await self._more():
                raise BodyError("unexpected EOF")
        line, self._buffer = self._buffer[:end].rstrip(b"\r"), self._buffer[end + 1 :]
        return line

    async def chunks(self, head: ResponseHead) -> AsyncIterator[bytes]:
        """The body as it comes, for as long as it lasts; `BodyError` if it does not end properly."""
        if "chunked" not in head.header("transfer-encoding").lower():
            yield await self.body(head, "GET")
            return
        while chunk := await self._chunk():
            yield chunk
        self.keeps_alive = head.keeps_alive and not self._buffer

    async def _chunk(self) -> bytes:
        """The next chunk; b"" after the last one."""
        line = (await self._line()).partition(b";")[0].strip()
        if not line or line.strip(b"0123456789abcdefABCDEF"):
            raise BodyError("invalid byte in chunk length")
        length = int(line, 16)
        if not length:
            while await self._line():
                pass  # Trailers: nothing that is called here sends any of meaning.
            return b""
        chunk = await self._exactly(length)
        if await self._line():
            raise BodyError("malformed chunked encoding")
        return chunk

    async def _chunked(self) -> bytes:
        parts: list[bytes] = []
        size = 0
        while chunk := await self._chunk():
            size += len(chunk)
            self._check_size(size)
            parts.append(chunk)
        return b"".join(parts)

    async def _until_close(self) -> bytes:
        while await self._more():
            self._check_size(len(self._buffer))
        body, self._buffer = self._buffer, b""
        return body


def _status_line(line: bytes) -> tuple[int, str, bool]:
    text = line.rstrip(b"\r").decode("utf-8", "surrogateescape")
    version, space, rest = text.partition(" ")
    if not space:
        raise MalformedResponseError(f"{_BROKEN}malformed HTTP response {quote(text)}")
    code, _, reason = rest.lstrip(" ").partition(" ")
    if len(code) != 3 or not (code.isascii() and code.isdigit()):
        raise MalformedResponseError(f"{_BROKEN}malformed HTTP status code {quote(code)}")
    if _VERSION.match(version) is None:
        raise MalformedResponseError(f"{_BROKEN}malformed HTTP version {quote(version)}")
    return int(code), reason, version == "HTTP/1.0"


def _header(line: bytes) -> tuple[str, str]:
    text = line.decode("utf-8", "surrogateescape")
    name, colon, value = text.partition(":")
    if not colon:
        raise MalformedResponseError(f"{_BROKEN}malformed MIME header: missing colon: {quote(text)}")
    if not name or " " in name:
        raise MalformedResponseError(f"{_BROKEN}malformed MIME header line: {text}")
    return name.lower(), value.strip()


def _ended_early(received: bytes) -> OutboundError:
    """Why a head that stops in its middle is wrong; Go reads the cut line as if it were whole."""
    if not received:
        return ConnectionBrokenError("EOF")
    status_line, *lines = received.split(b"\n")
    try:
        _status_line(status_line)
        for line in lines:
            if line.strip():
                _header(line.rstrip(b"\r"))
    except MalformedResponseError as error:
        return error
    return ConnectionBrokenError(f"{_BROKEN}unexpected EOF")


def _decompressed(body: bytes) -> bytes:
    import gzip
    import zlib

    try:
        return gzip.decompress(body)
    except EOFError as error:
        raise BodyError("unexpected EOF") from error
    except (OSError, zlib.error) as error:
        # A gzip header has ten bytes; with fewer Go waits for the rest of it.
        raise BodyError("unexpected EOF" if len(body) < 10 else "gzip: invalid header") from error
