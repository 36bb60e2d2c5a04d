"""The HTTPS listener: HTTP/1.1 over TLS on loopback, behaving like Go's net/http under kube-apiserver.

    server = HttpsServer(handler, pki.server_context(), clock=clock)
    await server.start()
    ... server.port ...
    await server.stop(grace_s=1.0)

Works on any asyncio loop; `new_event_loop` gives the fastest there is. The timeouts here run on the loop's
time and not on the cluster's: the clients are real, and a scaled clock must not hurry them.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from clusters.emulated.apiserver.http import Handler, HttpRequest, HttpResponse
from clusters.emulated.clock import Clock, RealClock, ScaledClock
from clusters.emulated.transport.connection import Connection
from clusters.emulated.transport.response_head import DateLine

log = logging.getLogger(__name__)

_BACKLOG = 1024
_SWEEP_S = 1.0
_ACCEPTS_PER_TURN = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """What the listener tolerates; the defaults are those of kube-apiserver."""

    header_bytes_max: int = (1 << 20) + 4096
    """Go allows its MaxHeaderBytes and 4 KiB on top."""
    body_bytes_max: int = 3 * 1024 * 1024
    """A larger body reaches the handler as `body_truncated`."""
    header_timeout_s: float = 32.0
    body_timeout_s: float = 60.0
    idle_timeout_s: float = 90.0
    linger_s: float = 0.5


def new_event_loop() -> asyncio.AbstractEventLoop:
    """uvloop where it is installed, asyncio's own otherwise."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class HttpsServer:
    """Serves `handler` on host:port with TLS. All methods belong to the loop's thread."""

    def __init__(
        self,
        handler: Handler,
        tls: ssl.SSLContext,
        host: str = "127.0.0.1",
        port: int = 0,
        limits: Limits = Limits(),
        clock: Clock | None = None,
    ) -> None:
        self.tls = tls
        self.host = host
        self.port = port
        self.limits = limits
        self.date = DateLine((clock or RealClock()).now_s)
        self.stopping = False
        self.requests_total = 0
        self.connections_total = 0
        self.serve: Handler = handler
        self.loop: asyncio.AbstractEventLoop
        self._clock = clock or RealClock()
        #: Entered by connections while a request is on its way in; None where nobody asks.
        self.io = None if isinstance(self._clock, RealClock | ScaledClock) else self._clock.io
        self._connections: set[Connection] = set()
        self._listener: socket.socket | None = None
        self._accepting: set[asyncio.Task[object]] = set()
        self._sweep: asyncio.TimerHandle | None = None

    # Life.

    async def start(self) -> None:
        """Listens; `port` is known afterwards."""
        self.loop = asyncio.get_running_loop()
        self.stopping = False
        self._listen(self._bound())
        self._sweep = self.loop.call_later(_SWEEP_S, self._sweep_deadlines)

    async def stop(self, grace_s: float = 0.0) -> None:
        """Stops accepting, lets requests in hand finish for up to `grace_s`, then cuts what is left."""
        self.stopping = True
        self._close_listener()
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in list(self._connections):
            if not connection.busy:
                connection.close()
        deadline_s = self.loop.time() + grace_s
        while self.in_flight and (left_s := deadline_s - self.loop.time()) > 0:
            await asyncio.sleep(min(0.01, left_s))
        self.cut_connections()
        while self._connections:
            # Aborted transports report their end in the loop's next turns.
            await asyncio.sleep(0)

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._connections)

    @property
    def in_flight(self) -> int:
        """How many requests are being answered, watches included."""
        return sum(connection.busy for connection in self._connections)

    # Levers; each is healed by leaving its block.

    @contextmanager
    def refuse(self) -> Iterator[None]:
        """New connections are refused; open ones go on. The port stays ours meanwhile."""
        self._close_listener()
        placeholder = self._bound()
        try:
            yield
        finally:
            if self.stopping:
                placeholder.close()
            else:
                self._listen(placeholder)

    @contextmanager
    def stall(self) -> Iterator[None]:
        """Nothing is read any more: new connections hang in the handshake, open ones get no answer."""
        if self._listener is not None:
            self.loop.remove_reader(self._listener)
        for connection in self._connections:
            connection.pause()
        try:
            yield
        finally:
            for connection in self._connections:
                connection.resume()
            if self._listener is not None:
                self.loop.add_reader(self._listener, self._accept)

    @contextmanager
    def slow(self, delay_s: float) -> Iterator[None]:
        """Each request waits `delay_s` of cluster time before the handler sees it."""
        serve, sleep = self.serve, self._clock.sleep

        async def delayed(request: HttpRequest) -> HttpResponse:
            await sleep(delay_s)
            return await serve(request)

        self.serve = delayed
        try:
            yield
        finally:
            self.serve = serve

    @contextmanager
    def use_certificate(self, tls: ssl.SSLContext) -> Iterator[None]:
        """New connections are served with another certificate (expired, foreign, for other names)."""
        before, self.tls = self.tls, tls
        try:
            yield
        finally:
            self.tls = before

    def replace_certificate(self, tls: ssl.SSLContext) -> None:
        """Rotates the serving certificate for good; open connections keep theirs."""
        self.tls = tls

    def cut_connections(self) -> int:
        """Cuts every open connection without a goodbye; returns how many there were."""
        connections = list(self._connections)
        for connection in connections:
            connection.abort()
        return len(connections)

    # Called by connections.

    def opened(self, connection: Connection) -> None:
        self._connections.add(connection)
        self.connections_total += 1
        if self.stopping:
            connection.abort()

    def lost(self, connection: Connection) -> None:
        self._connections.discard(connection)

    # Accepting.

    def _bound(self) -> socket.socket:
        """A socket bound to our address. Without `listen`, connecting to it is refused by the kernel."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setblocking(False)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((self.host, self.port))
        except OSError:
            bound.close()
            raise
        self.port = bound.getsockname()[1]
        return bound

    def _listen(self, bound: socket.socket) -> None:
        bound.listen(_BACKLOG)
        self._listener = bound
        self.loop.add_reader(bound, self._accept)

    def _close_listener(self) -> None:
        if self._listener is not None:
            self.loop.remove_reader(self._listener)
            self._listener.close()
            self._listener = None

    def _accept(self) -> None:
        listener = self._listener
        if listener is None:
            return
        for _ in range(_ACCEPTS_PER_TURN):
            try:
                accepted, _address = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                # Out of file descriptors, most likely: the backlog keeps the client until the next turn.
                log.error("cannot accept a connection on port %d: %s", self.port, error)
                return
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = self.loop.create_task(self.loop.connect_accepted_socket(lambda: Connection(self), accepted))
            self._accepting.add(task)
            task.add_done_callback(self._accepted)

    def _accepted(self, task: asyncio.Task[object]) -> None:
        self._accepting.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("cannot serve a connection: %s", error)

    def _sweep_deadlines(self) -> None:
        """One timer for all connections: half-sent requests and idle clients are closed without a word."""
        now_s = self.loop.time()
        for connection in list(self._connections):
            if connection.deadline_s < now_s:
                connection.close()
        self._sweep = self.loop.call_later(_SWEEP_S, self._sweep_deadlines)
