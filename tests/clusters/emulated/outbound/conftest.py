"""Servers on loopback that misbehave in one chosen way, with real certificates."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from clusters.emulated.outbound.credential import load_credential
from clusters.emulated.transport.pki import CertificateAuthority, Credential

Behaviour = Callable[[Any], object]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Servers:
    """Each `start` is a server in a thread; all end with the test."""

    def __init__(self) -> None:
        self._listeners: list[socket.socket] = []
        self._peers: list[Any] = []
        self.closing = threading.Event()
        self.requests: list[bytes] = []

    def start(
        self, behave: Behaviour, credential: Credential | None = None, context: ssl.SSLContext | None = None
    ) -> int:
        """The port of a server that does `behave` with each connection; with a credential, over TLS."""
        listener = socket.create_server(("127.0.0.1", 0))
        self._listeners.append(listener)
        if credential is not None:
            context = context or ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            load_credential(context, credential.certificate_pem, credential.key_pem)
        threading.Thread(target=self._accept, args=(listener, behave, context), daemon=True).start()
        return int(listener.getsockname()[1])

    def _accept(self, listener: socket.socket, behave: Behaviour, context: ssl.SSLContext | None) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            self._peers.append(peer)
            threading.Thread(target=self._serve, args=(peer, behave, context), daemon=True).start()

    def _serve(self, peer: socket.socket, behave: Behaviour, context: ssl.SSLContext | None) -> None:
        try:
            wrapped = peer if context is None else context.wrap_socket(peer, server_side=True)
            self._peers.append(wrapped)
            behave(wrapped)
            wrapped.close()
        except OSError:
            peer.close()

    def hangs(self, data: bytes = b"") -> Behaviour:
        """Reads, sends `data`, and says nothing more until the test ends."""

        def behave(peer: Any) -> None:
            peer.recv(65536)
            if data:
                peer.sendall(data)
            self.closing.wait(10)

        return behave

    def keeps_alive(self, reply: bytes = OK) -> Behaviour:
        """Answers one request after the other on a connection, and notes them in `requests`."""

        def behave(peer: Any) -> None:
            while request := peer.recv(65536):
                self.requests.append(request)
                peer.sendall(reply)

        return behave

    def unused_port(self) -> int:
        """A port that is bound, so that nobody else gets it, but refuses connections."""
        bound = socket.socket()
        bound.bind(("127.0.0.1", 0))
        self._listeners.append(bound)
        return int(bound.getsockname()[1])

    def close(self) -> None:
        self.closing.set()
        for sock in [*self._listeners, *self._peers]:
            sock.close()


@pytest.fixture
def servers() -> Iterator[Servers]:
    servers = Servers()
    yield servers
    servers.close()


@dataclass(frozen=True)
class Authorities:
    """Ours, one of the same name with another key, and one of another name."""

    ours: CertificateAuthority
    namesake: CertificateAuthority
    other: CertificateAuthority
    good: Credential
    now_s: float


@pytest.fixture(scope="session")
def authorities() -> Authorities:
    now_s = time.time()
    ours = CertificateAuthority("webhook-ca", now_s)
    return Authorities(
        ours,
        CertificateAuthority("webhook-ca", now_s),
        CertificateAuthority("other-ca", now_s),
        ours.server("webhook", ("localhost", "wh.ns.svc"), ("127.0.0.1",)),
        now_s,
    )
