"""Calls the api-server without sockets: the same handler, the same requests and responses.

    transport = InProcess(apiserver)
    reply = await transport.request("GET", "/api/v1/pods?watch=true", identity=admin)
    async for chunk in reply.chunks():
        ...
    reply.close()

Who calls is given as `identity` instead of a certificate; a bearer token goes into the headers as usual.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from clusters.emulated.apiserver.http import (
    Closed,
    Handler,
    Headers,
    HttpRequest,
    HttpResponse,
    unframe_chunk,
)
from clusters.emulated.transport.response_head import crash_response

log = logging.getLogger(__name__)

# A reader that lets more than this pile up makes `drain` wait, as a slow socket would.
_HIGH_WATER_BYTES = 64 * 1024


class StreamCutError(Exception):
    """The stream ended without its proper end, as when a connection is cut: open a new one."""


class _Pipe:
    """The `StreamWriter` of a stream that is read in the same process."""

    def __init__(self, client_gone: Closed) -> None:
        self._client_gone = client_gone
        self._chunks: deque[bytes] = deque()
        self._bytes = 0
        self._readable: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self.ended = False
        self.cut = False

    @property
    def buffered_bytes(self) -> int:
        return self._bytes

    @property
    def closed(self) -> bool:
        return self.ended or self._client_gone.is_closed

    def write(self, data: bytes) -> None:
        if data and not self.closed:
            self._chunks.append(data)
            self._bytes += len(data)
            _wake(self._readable)

    def write_framed(self, framed: bytes) -> None:
        self.write(unframe_chunk(framed))

    def on_close(self, callback: Callable[[], None]) -> None:
        self._client_gone.add_callback(callback)

    async def drain(self) -> None:
        while self._bytes > _HIGH_WATER_BYTES and not self.closed:
            self._writable = asyncio.get_running_loop().create_future()
            await self._writable

    def abort(self) -> None:
        self.cut = True
        self.end()
        self._client_gone.close()

    def end(self) -> None:
        self.ended = True
        _wake(self._readable)
        _wake(self._writable)

    async def read(self) -> bytes:
        """The next chunk; b"" at the proper end."""
        while not self._chunks:
            if self.cut:
                raise StreamCutError("the connection was cut")
            if self.closed:
                return b""
            self._readable = asyncio.get_running_loop().create_future()
            await self._readable
        chunk = self._chunks.popleft()
        self._bytes -= len(chunk)
        if self._bytes <= _HIGH_WATER_BYTES:
            _wake(self._writable)
        return chunk


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None and not waiter.done():
        waiter.set_result(None)


class InProcessResponse:
    """A response; `streaming` tells whether `chunks` has to be read instead of `body`."""

    __slots__ = ("_closed", "_pipe", "_task", "body", "headers", "status")

    def __init__(self, response: HttpResponse, closed: Closed) -> None:
        self.status = response.status
        self.headers = Headers(response.headers)
        self.body = response.body
        self._closed = closed
        self._pipe: _Pipe | None = None
        self._task: asyncio.Task[None] | None = None
        if response.stream is not None:
            self._pipe = _Pipe(closed)
            self._task = asyncio.get_running_loop().create_task(_run(response, self._pipe))

    @property
    def streaming(self) -> bool:
        return self._pipe is not None

    async def chunks(self) -> AsyncIterator[bytes]:
        """What the server writes, a chunk at a time, until it ends. `StreamCutError` if it did not end properly."""
        if self._pipe is None:
            if self.body:
                yield self.body
            return
        while chunk := await self._pipe.read():
            yield chunk

    def close(self) -> None:
        """The client goes away: the server's stream is cancelled."""
        self._closed.close()
        if self._pipe is not None:
            self._pipe.end()
        if self._task is not None:
            self._task.cancel()


async def _run(response: HttpResponse, pipe: _Pipe) -> None:
    assert response.stream is not None
    try:
        await response.stream(pipe)
    except asyncio.CancelledError:
        pipe.cut = True
        raise
    except Exception:
        log.exception("stream failed")
        pipe.cut = True
    finally:
        pipe.end()


class InProcess:
    """A client's way to the handler in the same loop. Each instance is one connection."""

    def __init__(self, handler: Handler, remote_address: str = "127.0.0.1:0") -> None:
        self._handler = handler
        self._remote_address = remote_address
        self._connection: dict[str, Any] = {}

    async def request(
        self,
        method: str,
        target: str,
        headers: Headers | Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        identity: object | None = None,
    ) -> InProcessResponse:
        """Asks and waits for the response head. Cancelling this is a client that hangs up."""
        path, _, query = target.partition("?")
        closed = Closed()
        request = HttpRequest(
            method,
            target,
            path,
            query,
            headers if isinstance(headers, Headers) else Headers(headers),
            body,
            remote_address=self._remote_address,
            connection=self._connection,
            closed=closed,
            identity=identity,
        )
        try:
            response = await self._handler(request)
        except asyncio.CancelledError:
            closed.close()
            raise
        except Exception:
            log.exception("handler failed on %s %s", method, target)
            response = crash_response()
        return InProcessResponse(response, closed)
