"""Collecting the body of a request, by Content-Length or in chunks, up to a limit.

Feed it what arrives; it says how much belonged to the body. Beyond the limit nothing is kept: the body is
`truncated` and complete as far as the handler is concerned.
"""

from __future__ import annotations

from clusters.emulated.transport.request_head import malformed

_CHUNK_LINE_BYTES_MAX = 4096


class SizedBody:
    """A body of `length` bytes."""

    __slots__ = ("_kept", "_limit", "_missing", "_parts", "complete", "truncated")

    def __init__(self, length: int, limit: int) -> None:
        self._missing = length
        self._limit = limit
        self._parts: list[bytes] = []
        self._kept = 0
        self.complete = length == 0
        self.truncated = False

    def feed(self, data: bytes) -> int:
        """Takes its share of `data` and returns how many bytes that was."""
        share = data if len(data) <= self._missing else data[: self._missing]
        self._missing -= len(share)
        self._kept += len(share)
        self._parts.append(share)
        if self._kept > self._limit:
            self.truncated = self.complete = True
        elif not self._missing:
            self.complete = True
        return len(share)

    def value(self) -> bytes:
        parts = self._parts
        whole = parts[0] if len(parts) == 1 else b"".join(parts)
        return whole[: self._limit] if self.truncated else whole


class ChunkedBody:
    """A body in chunks, with trailers that are read and dropped.

    `5\\r\\nhello\\r\\n0\\r\\n\\r\\n` is `hello`; the bytes may arrive cut at any place.
    """

    __slots__ = ("_in_trailers", "_kept", "_limit", "_missing", "_parts", "_rest", "complete", "truncated")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._kept = 0
        self._missing = 0
        self._rest = b""
        self._in_trailers = False
        self.complete = False
        self.truncated = False

    def feed(self, data: bytes) -> int:
        """Takes its share of `data` and returns how many bytes that was."""
        carried = len(self._rest)
        buffer = self._rest + data if carried else data
        position = 0
        while not self.complete:
            if self._missing > 2:
                piece = buffer[position : position + self._missing - 2]
                if not piece:
                    break
                position += len(piece)
                self._missing -= len(piece)
                self._keep(piece)
                continue
            end = buffer.find(b"\n", position)
            if end < 0:
                if len(buffer) - position > _CHUNK_LINE_BYTES_MAX:
                    raise malformed()
                break
            line = buffer[position:end].rstrip(b"\r")
            position = end + 1
            self._take_line(line)
        self._rest = b"" if self.complete else buffer[position:]
        return position - carried if self.complete else len(data)

    def _keep(self, piece: bytes) -> None:
        self._parts.append(piece)
        self._kept += len(piece)
        if self._kept > self._limit:
            self.truncated = self.complete = True

    def _take_line(self, line: bytes) -> None:
        if self._in_trailers:
            self.complete = not line
        elif self._missing:
            if line:
                raise malformed()
            self._missing = 0
        else:
            size = line.partition(b";")[0].strip()
            if not size or len(size) > 15 or size.strip(b"0123456789abcdefABCDEF"):
                raise malformed()
            length = int(size, 16)
            # The two bytes of the line end after the data count as missing, too.
            self._missing = length + 2 if length else 0
            self._in_trailers = not length

    def value(self) -> bytes:
        whole = b"".join(self._parts)
        return whole[: self._limit] if self.truncated else whole
