"""From the plaintext of a connection to whole requests, one after the other; no sockets, no clock."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusters.emulated.transport.request_body import ChunkedBody, SizedBody
from clusters.emulated.transport.request_head import (
    BadRequestError,
    HeaderBlock,
    RequestHead,
    expectation_failed,
    header_too_large,
    parse_header_block,
    parse_request_line,
)

# Go takes bare line feeds as well.
_HEAD_END = re.compile(rb"\n\r?\n")


@dataclass(slots=True)
class ReceivedRequest:
    """A request whose body is complete, or as complete as the limit lets it be."""

    head: RequestHead
    body: bytes
    truncated: bool


class RequestReader:
    """Feed it bytes, ask it for the next request.

    >>> reader = RequestReader(header_bytes_max=1 << 20, body_bytes_max=100)
    >>> reader.feed(b"POST /a HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 2\\r\\n\\r\\nh")
    >>> reader.next() is None, reader.in_body
    (True, True)
    >>> reader.feed(b"iGET /b HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    >>> reader.next().body
    b'hi'
    >>> reader.next().head.path
    '/b'
    """

    __slots__ = (
        "_after_post",
        "_block",
        "_block_text",
        "_body",
        "_body_bytes_max",
        "_head",
        "_header_bytes_max",
        "buffer",
        "continue_wanted",
    )

    def __init__(self, header_bytes_max: int, body_bytes_max: int) -> None:
        self._header_bytes_max = header_bytes_max
        self._body_bytes_max = body_bytes_max
        self._head: RequestHead
        self._body: SizedBody | ChunkedBody | None = None
        self._after_post = False
        # A client repeats its headers with almost every request of a connection; the last block is kept.
        self._block_text: str | None = None
        self._block: HeaderBlock
        self.buffer = b""
        """What has arrived and is not read yet."""
        self.continue_wanted = False
        """The client waits for `100 Continue` before it sends the body. For the caller to reset."""

    @property
    def in_body(self) -> bool:
        return self._body is not None

    def feed(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data

    def next(self) -> ReceivedRequest | None:
        """The next whole request, or None until more arrives. Raises `BadRequestError` on what Go refuses."""
        if self._body is None:
            if not self.buffer:
                return None
            head = self._take_head()
            if head is None:
                return None
            block = head.block
            if block.chunked and not head.http_1_0:
                self._body = ChunkedBody(self._body_bytes_max)
            elif block.content_length:
                self._body = SizedBody(block.content_length, self._body_bytes_max)
            else:
                return ReceivedRequest(head, b"", False)
            self._head = head
            self.continue_wanted = block.expect is not None and not self.buffer
        body = self._body
        if self.buffer:
            used = body.feed(self.buffer)
            self.buffer = self.buffer[used:]
        if not body.complete:
            return None
        self._body = None
        return ReceivedRequest(self._head, body.value(), body.truncated)

    def _take_head(self) -> RequestHead | None:
        buffer, limit = self.buffer, self._header_bytes_max
        if self._after_post and buffer[0] in b"\r\n":
            # Old clients send a line end after a body that does not count it; Go forgives that.
            buffer = self.buffer = buffer[:4].lstrip(b"\r\n") + buffer[4:]
        found = _HEAD_END.search(buffer, 0, limit + 3)
        if found is None:
            if len(buffer) > limit:
                raise header_too_large()
            return None
        end, after = found.span()
        line, _, lines = buffer[:end].decode("latin-1").rstrip("\r").partition("\n")
        method, target, path, query, http_1_0 = parse_request_line(line.rstrip("\r"))
        if lines == self._block_text:
            block = self._block
        else:
            block = parse_header_block(lines)
            self._block_text, self._block = lines, block
        if not block.host and not http_1_0 and method != "CONNECT":
            raise BadRequestError("400 Bad Request: missing required Host header")
        if block.expect is not None and block.expect != "100-continue":
            raise expectation_failed()
        self.buffer = buffer[after:]
        self._after_post = method == "POST"
        return RequestHead(method, target, path, query, http_1_0, block)
