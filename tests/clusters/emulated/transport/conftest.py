"""A loop in a thread of its own, and raw clients that speak to servers on it from the test's thread."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from clusters.emulated.apiserver.http import Handler
from clusters.emulated.transport.https import HttpsServer, Limits, new_event_loop
from clusters.emulated.transport.pki import Credential, Pki


class LoopThread:
    """Runs coroutines and functions on a loop that another thread turns."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._thread = threading.Thread(target=loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any], timeout_s: float = 10.0) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout_s)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        async def there() -> Any:
            return function(*args)

        return self.run(there())

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        self.loop.close()


@pytest.fixture(params=["uvloop", "asyncio"])
def loop(request: pytest.FixtureRequest) -> Iterator[LoopThread]:
    thread = LoopThread(new_event_loop() if request.param == "uvloop" else asyncio.new_event_loop())
    yield thread
    thread.close()


@pytest.fixture(scope="session")
def pki() -> Pki:
    return Pki.create(time.time())


@dataclass
class Client:
    """A raw TLS client: sends bytes, gives back bytes."""

    sock: socket.socket

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def until(self, marker: bytes) -> bytes:
        """What arrives up to `marker`; fails when the server closes before."""
        received = b""
        while marker not in received:
            data = self.sock.recv(65536)
            assert data, f"closed after {received!r}"
            received += data
        return received

    def to_end(self) -> bytes:
        """What arrives until the server closes."""
        received = b""
        while data := self.sock.recv(65536):
            received += data
        return re.sub(rb"Date: [^\r]*\r\n", b"", received)

    def ask(self, data: bytes) -> tuple[bytes, bytes]:
        """Head and body of the answer, which must have a Content-Length."""
        self.send(data)
        head, _, body = self.until(b"\r\n\r\n").partition(b"\r\n\r\n")
        found = re.search(rb"Content-Length: (\d+)", head)
        length = int(found[1]) if found else 0
        while len(body) < length:
            body += self.sock.recv(65536)
        return head, body

    def is_closed(self) -> bool:
        try:
            return self.sock.recv(1) == b""
        except OSError:
            return True


class Rig:
    """Starts servers and clients for one test, and ends them with it."""

    def __init__(self, loop: LoopThread, pki: Pki) -> None:
        self.loop = loop
        self.pki = pki
        self._servers: list[HttpsServer] = []
        self._clients: list[Client] = []

    def serve(self, handler: Handler, **options: Any) -> HttpsServer:
        server = HttpsServer(handler, self.pki.server_context(), **options)
        self.loop.run(server.start())
        self._servers.append(server)
        return server

    def connect(self, server: HttpsServer, credential: Credential | None = None) -> Client:
        plain = socket.create_connection((server.host, server.port), timeout=5)
        context = self.pki.client_context(credential)
        client = Client(context.wrap_socket(plain, server_hostname="127.0.0.1"))
        self._clients.append(client)
        return client

    def connect_plain(self, server: HttpsServer) -> Client:
        client = Client(socket.create_connection((server.host, server.port), timeout=5))
        self._clients.append(client)
        return client

    def eventually(self, truth: Callable[[], bool], timeout_s: float = 5.0) -> None:
        """Waits for the loop's thread to have noticed something."""
        end_s = time.monotonic() + timeout_s
        while not truth():
            assert time.monotonic() < end_s, "did not come true in time"
            time.sleep(0.005)

    def close(self) -> None:
        for client in self._clients:
            client.sock.close()
        for server in self._servers:
            self.loop.run(server.stop())


@pytest.fixture
def rig(loop: LoopThread, pki: Pki) -> Iterator[Rig]:
    rig = Rig(loop, pki)
    yield rig
    rig.close()


@pytest.fixture
def small_limits() -> Limits:
    return Limits(header_timeout_s=0.2, body_timeout_s=0.2, idle_timeout_s=0.2, linger_s=0.05)
