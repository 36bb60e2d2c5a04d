"""One client connection of the HTTPS listener: requests are taken in order, each answered before the next."""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import TYPE_CHECKING, Any, cast

from clusters.emulated.apiserver.http import LAST_CHUNK, Closed, HttpRequest, HttpResponse
from clusters.emulated.transport.request_body import ChunkedBody, SizedBody
from clusters.emulated.transport.request_head import (
    BadRequest,
    HeaderBlock,
    RequestHead,
    header_too_large,
    parse_header_block,
    parse_request_line,
)
from clusters.emulated.transport.response_head import bodyless, crash_response, response_head
from clusters.emulated.transport.streams import ChunkWriter, UpgradedConnection
from clusters.emulated.transport.tls_channel import TlsChannel

if TYPE_CHECKING:
    from clusters.emulated.transport.https import HttpsServer

log = logging.getLogger(__name__)

_NEVER = float("inf")
# Pipelined bytes that wait behind a request in hand; beyond this the client is not read from.
_PIPELINE_BYTES_MAX = 256 * 1024
# The methods whose five first bytes Go takes for plain HTTP on a TLS port.
_PLAIN_HTTP = (b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO")
_PLAIN_HTTP_REPLY = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"


class Connection(asyncio.Protocol):
    """Bytes of one client to requests, and responses back. Made by `HttpsServer`, which also keeps its time."""

    __slots__ = (
        "_block",
        "_block_text",
        "_body",
        "_buffer",
        "_cache",
        "_chain",
        "_closed",
        "_drained",
        "_head",
        "_head_begun",
        "_leaf",
        "_linger",
        "_loop",
        "_paused",
        "_remote",
        "_server",
        "_stream",
        "_task",
        "_tls",
        "_transport",
        "_upgraded",
        "busy",
        "deadline_s",
    )

    def __init__(self, server: HttpsServer) -> None:
        self._server = server
        self._loop = server.loop
        self._tls = TlsChannel(server.tls)
        self._transport: asyncio.Transport
        self._buffer = b""
        self._head: RequestHead | None = None
        self._body: SizedBody | ChunkedBody | None = None
        self._block_text = "\0"
        self._block: HeaderBlock
        self._cache: dict[str, Any] = {}
        self._closed = Closed()
        self._leaf: bytes | None = None
        self._chain: tuple[bytes, ...] = ()
        self._remote = ""
        self._task: asyncio.Task[Any] | None = None
        self._stream: ChunkWriter | None = None
        self._upgraded: UpgradedConnection | None = None
        self._paused = False
        self._drained: asyncio.Future[None] | None = None
        self._linger = False
        self._head_begun = True
        self.busy = False
        self.deadline_s = self._loop.time() + server.limits.header_timeout_s

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, because uvloop's transports only look like asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        host, port = transport.get_extra_info("peername")[:2]
        self._remote = f"{host}:{port}"
        self._server.opened(self)

    def data_received(self, data: bytes) -> None:
        if self._linger:
            return
        tls = self._tls
        try:
            if not tls.established:
                if not self._shake_hands(data):
                    return
                data = b""
            plain, ended = tls.receive(data)
            reply = tls.outgoing()
        except ssl.SSLError as error:
            log.debug("TLS with %s: %s", self._remote, error)
            self._transport.write(tls.outgoing())
            self._transport.close()
            return
        if reply:
            self._transport.write(reply)
        if plain:
            self.plaintext_received(plain)
        if ended:
            self._transport.close()

    def eof_received(self) -> bool:
        # Go takes a half-closed client for one that went away; so does returning False.
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed.close()
        if self._upgraded is not None:
            self._upgraded.ended()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        if self._task is not None:
            self._task.cancel()
        self._server.lost(self)

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        self._paused = False
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    # From bytes to requests.

    def _shake_hands(self, data: bytes) -> bool:
        tls = self._tls
        if data.startswith(_PLAIN_HTTP):
            # Only the first bytes of a handshake can look like this: TLS records begin with a small number.
            self._transport.write(_PLAIN_HTTP_REPLY)
            self._transport.close()
            return False
        done = tls.handshake(data)
        reply = tls.outgoing()
        if reply:
            self._transport.write(reply)
        if done:
            self._leaf, self._chain = tls.peer_certificates()
        return done

    def plaintext_received(self, plain: bytes) -> None:
        if self._upgraded is not None:
            self._upgraded.received(plain)
            return
        self._buffer = self._buffer + plain if self._buffer else plain
        if not self.busy:
            self._advance()
        elif len(self._buffer) > _PIPELINE_BYTES_MAX:
            self._transport.pause_reading()

    def _advance(self) -> None:
        """Takes as many requests as are there, until one has to wait."""
        try:
            while self._buffer and not self.busy and not self._linger:
                if self._body is None:
                    if not self._take_head():
                        return
                elif not self._take_body(self._body):
                    return
        except BadRequest as refusal:
            self._write(refusal.reply)
            self._close_after_reply()

    def _take_head(self) -> bool:
        buffer = self._buffer
        limit = self._server.limits.header_bytes_max
        end = buffer.find(b"\r\n\r\n", 0, limit + 4)
        after = end + 4
        if end < 0:
            end = buffer.find(b"\n\n", 0, limit + 2)
            after = end + 2
            if end < 0:
                if len(buffer) > limit:
                    raise header_too_large()
                if buffer[:2] == b"\r\n":
                    # Go forgives an empty line before a request.
                    self._buffer = buffer[2:]
                if not self._head_begun:
                    self._head_begun = True
                    self.deadline_s = self._loop.time() + self._server.limits.header_timeout_s
                return False
        text = buffer[:end].decode("latin-1")
        line, _, lines = text.partition("\n")
        method, target, path, query, http_1_0 = parse_request_line(line.rstrip("\r"))
        if lines == self._block_text:
            block = self._block
        else:
            block = parse_header_block(lines)
            self._block_text, self._block = lines, block
        if not block.host and not http_1_0 and method != "CONNECT":
            raise BadRequest("400 Bad Request: missing required Host header")
        self._buffer = buffer[after:]
        self._head = head = RequestHead(method, target, path, query, http_1_0, block)
        if block.content_length or (block.chunked and not http_1_0):
            self._expect_body(head)
        else:
            self._dispatch(head, b"", False)
        return True

    def _expect_body(self, head: RequestHead) -> None:
        block, limits = head.block, self._server.limits
        self.deadline_s = self._loop.time() + limits.body_timeout_s
        if block.chunked:
            self._body = ChunkedBody(limits.body_bytes_max)
        else:
            self._body = SizedBody(block.content_length, limits.body_bytes_max)
        if block.expect is None:
            return
        if block.expect != "100-continue":
            self._body = None
            self._write(
                response_head(
                    417, [("Connection", "close")], self._server.date(), framing="Content-Length: 0\r\n"
                )
            )
            self._close_after_reply()
        elif not self._buffer:
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _take_body(self, body: SizedBody | ChunkedBody) -> bool:
        used = body.feed(self._buffer)
        self._buffer = self._buffer[used:]
        if not body.complete:
            return False
        self._body = None
        assert self._head is not None
        self._dispatch(self._head, body.value(), body.truncated)
        return True

    # From requests to responses.

    def _dispatch(self, head: RequestHead, body: bytes, truncated: bool) -> None:
        self.busy = True
        self._head_begun = False
        self.deadline_s = _NEVER
        server = self._server
        server.requests_total += 1
        request = HttpRequest(
            head.method,
            head.target,
            head.path,
            head.query,
            head.block.headers,
            body,
            truncated,
            self._leaf,
            self._chain,
            self._remote,
            self._cache,
            self._closed,
        )
        if truncated:
            # The rest of the body cannot be told from a next request.
            head.block.close = True
            self._block_text = "\0"
        # A task for each request: running the handler here until it first suspends was tried, and the gain
        # (0 to 4 of 40 us) did not stand out of the noise, while timeouts in handlers need a task.
        self._task = self._loop.create_task(server.serve(request))
        self._task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[HttpResponse]) -> None:
        if task.cancelled():
            # The client is gone, or the server stops: there is nobody to answer.
            self._transport.abort()
            return
        error = task.exception()
        if error is None:
            self._respond(task.result())
            return
        assert self._head is not None
        log.error("handler failed on %s %s", self._head.method, self._head.target, exc_info=error)
        self._respond(crash_response())

    def _respond(self, response: HttpResponse) -> None:
        head = self._head
        assert head is not None
        if response.upgrade is not None:
            self._upgrade(response)
            return
        closes = head.closes or self._server.stopping
        body = response.body
        framing = "Connection: close\r\n" if closes else ""
        if head.http_1_0 and not closes:
            framing = "Connection: keep-alive\r\n"
        silent = bodyless(response.status)
        if response.stream is not None:
            self._start_stream(response, head, framing)
            return
        if not silent and not any(name == "Content-Length" for name, _ in response.headers):
            framing = f"Content-Length: {len(body)}\r\n{framing}"
        data = response_head(
            response.status, response.headers, self._server.date(), framing=framing, http_1_0=head.http_1_0
        )
        if body and not silent and head.method != "HEAD":
            data += body
        self._write(data)
        self._finished(closes)

    def _finished(self, closes: bool) -> None:
        """The response is written: go on with the next request, or end the connection."""
        self._task = None
        self._head = None
        self._stream = None
        self._closed.forget_callbacks()
        if closes:
            self._close_after_reply()
            return
        self.busy = False
        self.deadline_s = self._loop.time() + self._server.limits.idle_timeout_s
        if self._buffer:
            self._transport.resume_reading()
            self._advance()

    def _start_stream(self, response: HttpResponse, head: RequestHead, framing: str) -> None:
        assert response.stream is not None
        chunked = not head.http_1_0
        if chunked:
            framing = f"{framing}Transfer-Encoding: chunked\r\n"
        self._write(
            response_head(
                response.status,
                response.headers,
                self._server.date(),
                framing=framing,
                http_1_0=head.http_1_0,
            )
        )
        closes = head.closes or head.http_1_0
        if head.method == "HEAD" or bodyless(response.status):
            self._finished(closes)
            return
        writer = self._stream = ChunkWriter(self, chunked)
        self._task = self._loop.create_task(_run_stream(response, writer))

        def ended(task: asyncio.Task[None]) -> None:
            if task.cancelled() or writer.closed:
                self._transport.abort()
            elif (error := task.exception()) is not None:
                log.error("stream of %s %s failed", head.method, head.target, exc_info=error)
                self._transport.abort()
            else:
                if chunked:
                    self._write(LAST_CHUNK)
                writer.finished = True
                self._finished(closes or self._server.stopping)

        self._task.add_done_callback(ended)

    def _upgrade(self, response: HttpResponse) -> None:
        assert response.upgrade is not None
        head = response_head(response.status, response.headers, "")
        self._write(head)
        connection = self._upgraded = UpgradedConnection(self)
        if self._buffer:
            connection.received(self._buffer)
            self._buffer = b""
            self._transport.resume_reading()
        self._task = self._loop.create_task(_run_upgrade(response, connection))

        def ended(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and (error := task.exception()) is not None:
                log.error("upgraded connection of %s failed", self._remote, exc_info=error)
                self._transport.abort()
            elif not self._transport.is_closing():
                self.close()

        self._task.add_done_callback(ended)

    # What streams, upgraded connections and the server use.

    def _write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(self._tls.encrypt(data))

    write = _write

    @property
    def buffered_bytes(self) -> int:
        return self._transport.get_write_buffer_size()

    @property
    def is_closing(self) -> bool:
        return self._transport.is_closing()

    @property
    def client_gone(self) -> Closed:
        return self._closed

    async def drain(self) -> None:
        if self._paused and not self._transport.is_closing():
            if self._drained is None or self._drained.done():
                self._drained = self._loop.create_future()
            await asyncio.shield(self._drained)

    def abort(self) -> None:
        """Cuts the connection: the client sees a reset or an end without a closing alert."""
        self._transport.abort()

    def close(self) -> None:
        """Ends the connection properly after what is written."""
        if self._tls.established and not self._transport.is_closing():
            self._transport.write(self._tls.close_notify())
        self._transport.close()

    def pause(self) -> None:
        self._transport.pause_reading()

    def resume(self) -> None:
        if not self._transport.is_closing():
            self._transport.resume_reading()

    def _close_after_reply(self) -> None:
        """Says goodbye, then reads on for a moment: a reset while the client still sends would make it
        lose the answer. Go waits as long."""
        if self._transport.is_closing():
            return
        self._linger = True
        self._buffer = b""
        self.busy = True
        self.deadline_s = _NEVER
        self._transport.write(self._tls.close_notify())
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._loop.call_later(self._server.limits.linger_s, self._transport.close)


async def _run_stream(response: HttpResponse, writer: ChunkWriter) -> None:
    assert response.stream is not None
    await response.stream(writer)


async def _run_upgrade(response: HttpResponse, connection: UpgradedConnection) -> None:
    assert response.upgrade is not None
    await response.upgrade(connection)
