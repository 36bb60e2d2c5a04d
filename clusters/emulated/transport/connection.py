"""One client connection of the HTTPS listener: requests are taken in order, each answered before the next."""

from __future__ import annotations

import asyncio
import logging
import ssl
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, cast

from clusters.emulated.apiserver.http import LAST_CHUNK, Closed, HttpRequest, HttpResponse
from clusters.emulated.transport.request_head import BadRequestError, RequestHead
from clusters.emulated.transport.request_reader import ReceivedRequest, RequestReader
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
        "_cache",
        "_chain",
        "_closed",
        "_drained",
        "_head",
        "_head_begun",
        "_io",
        "_leaf",
        "_linger",
        "_loop",
        "_paused",
        "_reader",
        "_remote",
        "_server",
        "_stream",
        "_task",
        "_tls",
        "_transport",
        "_truncated",
        "_upgraded",
        "busy",
        "deadline_s",
    )

    def __init__(self, server: HttpsServer) -> None:
        self._server = server
        self._loop = server.loop
        self._tls = TlsChannel(server.tls)
        self._transport: asyncio.Transport
        self._reader = RequestReader(server.limits.header_bytes_max, server.limits.body_bytes_max)
        self._head: RequestHead | None = None
        self._truncated = False
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
        self._io: AbstractContextManager[None] | None = None
        self.busy = False
        self.deadline_s = self._loop.time() + server.limits.header_timeout_s

    # What the loop calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, because uvloop's transports only look like asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        host, port = transport.get_extra_info("peername")[:2]
        self._remote = f"{host}:{port}"
        self._incoming(True)
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
        self._incoming(False)
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
        reader = self._reader
        reader.feed(plain)
        if not self.busy:
            self._advance()
        elif len(reader.buffer) > _PIPELINE_BYTES_MAX:
            self._transport.pause_reading()

    def _advance(self) -> None:
        """Takes the next request if it is there, or sets the time by which the rest must come."""
        reader = self._reader
        in_body = reader.in_body
        try:
            request = reader.next()
        except BadRequestError as refusal:
            self._write(refusal.reply)
            self._close_after_reply()
            return
        if request is not None:
            self._dispatch(request)
            return
        self._incoming(True)
        limits = self._server.limits
        if reader.in_body:
            if not in_body:
                self.deadline_s = self._loop.time() + limits.body_timeout_s
            if reader.continue_wanted:
                reader.continue_wanted = False
                self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        elif not self._head_begun:
            self._head_begun = True
            self.deadline_s = self._loop.time() + limits.header_timeout_s

    def _incoming(self, expected: bool) -> None:
        """Tells the clock whether a request is on its way in: a virtual one stands still meanwhile.

        It is from connecting on, through the handshake, until the first request is there, and whenever a part
        of a further one has come. A client that stays silent afterwards is idle.
        """
        if expected:
            if self._io is None and self._server.io is not None:
                self._io = self._server.io()
                self._io.__enter__()
        elif self._io is not None:
            io, self._io = self._io, None
            io.__exit__(None, None, None)

    # From requests to responses.

    def _dispatch(self, received: ReceivedRequest) -> None:
        head = self._head = received.head
        self.busy = True
        self._head_begun = False
        self.deadline_s = _NEVER
        if self._io is not None:
            self._incoming(False)
        server = self._server
        server.requests_total += 1
        # The rest of a body that was too large cannot be told from a next request.
        self._truncated = received.truncated
        request = HttpRequest(
            head.method,
            head.target,
            head.path,
            head.query,
            head.block.headers,
            received.body,
            received.truncated,
            self._leaf,
            self._chain,
            self._remote,
            self._cache,
            self._closed,
        )
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
        closes = head.closes or self._truncated or self._server.stopping
        body = response.body
        # What a version does anyway needs no header.
        if head.http_1_0:
            framing = "" if closes else "Connection: keep-alive\r\n"
        else:
            framing = "Connection: close\r\n" if closes else ""
        silent = bodyless(response.status)
        if response.stream is not None:
            self._start_stream(response, head, "" if head.http_1_0 else framing)
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
        if self._reader.buffer:
            self._transport.resume_reading()
            self._advance()

    def _start_stream(self, response: HttpResponse, head: RequestHead, framing: str) -> None:
        assert response.stream is not None
        chunked = not head.http_1_0
        if chunked and head.method != "HEAD":
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
        closes = head.closes or head.http_1_0 or self._truncated
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
        reader = self._reader
        if reader.buffer:
            connection.received(reader.buffer)
            reader.buffer = b""
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
        self._incoming(False)
        self._reader.buffer = b""
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
