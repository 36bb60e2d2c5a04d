"""The HTTP client of the api-server: webhooks, token issuers, aggregated api-servers.

    client = OutboundClient(clock)
    reply = await client.request("POST", "https://127.0.0.1:8443/mutate?timeout=10s", body=review,
                                 trust=Trust(ca_pem=bundle), timeout_s=10)

What fails before the response head is a `UrlError`, worded as Go's `*url.Error`; what fails in the body is a
`BodyError`. Connections are kept and used again, as Go keeps them.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from clusters.emulated.clock import Clock
from clusters.emulated.outbound.credential import load_credential
from clusters.emulated.outbound.deadline import Deadline
from clusters.emulated.outbound.dial import Address, Resolve, dial
from clusters.emulated.outbound.errors import (
    BodyError,
    ConnectionBrokenError,
    DeadlineExceededError,
    DialError,
    HandshakeError,
    OutboundError,
    UrlError,
)
from clusters.emulated.outbound.response import OutboundResponse, ResponseHead, ResponseReader
from clusters.emulated.outbound.verify import CertificateRefusedError, load_roots, verify_server_certificate
from clusters.emulated.outbound.wire import TlsWire, Wire

_DIAL_TIMEOUT_S = 30.0
_TLS_HANDSHAKE_TIMEOUT_S = 10.0
_IDLE_TIMEOUT_S = 90.0
_IDLE_PER_TARGET_MAX = 25
_REDIRECTS_MAX = 10
_BODY_BYTES_MAX = 64 << 20
_STREAM_CHUNK_BYTES_MAX = 64 << 20
# Methods that Go sends again by itself when a kept connection turns out to be dead.
_REPLAYABLE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


@dataclass(frozen=True, slots=True)
class Trust:
    """How the server is verified, and how we show ourselves to it."""

    ca_pem: bytes | None = None
    """The bundle to trust; None is the machine's own."""
    server_name: str = ""
    """The name to verify instead of the URL's host, e.g. `svc.ns.svc`."""
    insecure: bool = False
    certificate_pem: bytes = b""
    key_pem: bytes = b""


@dataclass(frozen=True, slots=True)
class _Target:
    """Requests to equal targets may share a connection."""

    scheme: str
    host: str
    port: int
    trust: Trust
    resolve: Resolve | None


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """A response whose body is still coming. Header names are lower-case."""

    status: int
    headers: tuple[tuple[str, str], ...]
    chunks: AsyncIterator[bytes]


@dataclass(slots=True)
class _Idle:
    wire: Wire
    since_s: float


class OutboundClient:
    """Calls servers over HTTP/1.1. Belongs to one loop; `close` when done."""

    def __init__(self, clock: Clock, user_agent: str = "kube-apiserver-admission") -> None:
        self._clock = clock
        self.io = clock.io
        self._user_agent = user_agent
        self._idle: dict[_Target, list[_Idle]] = {}
        self._contexts: dict[tuple[bytes, bytes], ssl.SSLContext] = {}

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        trust: Trust = Trust(),
        resolve: Resolve | None = None,
        timeout_s: float | None = None,
        client_timeout: bool = False,
        follow_redirects: bool = True,
        body_bytes_max: int = _BODY_BYTES_MAX,
    ) -> OutboundResponse:
        """Sends a request and reads its whole response; redirects are followed as Go follows them.

        `timeout_s` is cluster time. With `client_timeout` an overrun reads as that of Go's `Client.Timeout`
        instead of a context's.
        """
        call = _Call(self, method, url, list(headers), body, trust, resolve, body_bytes_max, follow_redirects)

        def overrun() -> OutboundError:
            text = "context deadline exceeded"
            if call.in_body:
                if client_timeout:
                    text += " (Client.Timeout or context cancellation while reading body)"
                return BodyError(text)
            if client_timeout:
                text += " (Client.Timeout exceeded while awaiting headers)"
            return UrlError(method, call.url, DeadlineExceededError(text))

        async with Deadline(self._clock, timeout_s, overrun):
            return await call.run()

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        trust: Trust = Trust(),
        resolve: Resolve | None = None,
        timeout_s: float | None = None,
    ) -> AsyncIterator[StreamedResponse]:
        """A response whose body is read as it comes, e.g. a watch; leaving the block closes its connection.

        `timeout_s` is for the head alone. Redirects are not followed.
        """
        call = _Call(self, method, url, list(headers), body, trust, resolve, _STREAM_CHUNK_BYTES_MAX, False)

        def overrun() -> OutboundError:
            return UrlError(method, url, DeadlineExceededError("context deadline exceeded"))

        try:
            async with Deadline(self._clock, timeout_s, overrun):
                wire, reader, head = await call.open()
        except UrlError:
            raise
        except OutboundError as error:
            raise UrlError(method, url, error) from error
        try:
            yield StreamedResponse(head.status, head.headers, reader.chunks(head))
        finally:
            wire.close()

    def close(self) -> None:
        """Closes the kept connections."""
        for kept in self._idle.values():
            for idle in kept:
                idle.wire.close()
        self._idle.clear()

    # Connections.

    async def connect(self, target: _Target) -> tuple[Wire, bool]:
        """A connection to the target, and whether it has been used before."""
        kept = self._idle.get(target, [])
        oldest_s = self._clock.monotonic_s() - _IDLE_TIMEOUT_S
        while kept:
            idle = kept.pop()
            if idle.wire.usable and idle.since_s >= oldest_s:
                return idle.wire, True
            idle.wire.close()
        return await self._open(target), False

    def keep(self, target: _Target, wire: Wire) -> None:
        kept = self._idle.setdefault(target, [])
        if len(kept) < _IDLE_PER_TARGET_MAX:
            kept.append(_Idle(wire, self._clock.monotonic_s()))
        else:
            wire.close()

    async def _open(self, target: _Target) -> Wire:
        if target.resolve is not None:
            address = await target.resolve(target.host, target.port)
        else:
            address = Address(target.host, target.port)
        async with Deadline(self._clock, _DIAL_TIMEOUT_S, lambda: DialError(f"dial tcp {address}: i/o timeout")):
            stream = await dial(address, self.io)
        if target.scheme != "https":
            return Wire(stream)
        trust = target.trust
        server_name = trust.server_name or target.host
        wire = TlsWire(stream, self._context(trust), server_name)
        try:
            async with Deadline(
                self._clock,
                _TLS_HANDSHAKE_TIMEOUT_S,
                lambda: HandshakeError("net/http: TLS handshake timeout"),
            ):
                with self.io():
                    await wire.handshake()
            if not trust.insecure:
                self._verify(wire, trust, server_name)
            # In TLS 1.3 the server refuses our certificate after the handshake. Two turns of the loop (one to
            # poll, one to read) take in an alert that has arrived, before a failing write would hide it.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        except BaseException:
            wire.close()
            raise
        return wire

    def _verify(self, wire: TlsWire, trust: Trust, server_name: str) -> None:
        roots = load_roots(_system_roots_pem() if trust.ca_pem is None else trust.ca_pem)
        try:
            verify_server_certificate(wire.peer_chain(), roots, server_name, self._clock.now_s())
        except CertificateRefusedError as refusal:
            raise HandshakeError(f"tls: failed to verify certificate: {refusal}") from refusal

    def _context(self, trust: Trust) -> ssl.SSLContext:
        key = (trust.certificate_pem, trust.key_pem)
        context = self._contexts.get(key)
        if context is None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            # Verified afterwards by `verify`, in Go's order.
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            context.set_alpn_protocols(["http/1.1"])
            if trust.certificate_pem:
                load_credential(context, trust.certificate_pem, trust.key_pem)
            self._contexts[key] = context
        return context

    def head(self, method: str, url: str, headers: list[tuple[str, str]], body: bytes) -> bytes:
        """The request head with its lines in the order in which Go writes them."""
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        given = {name.lower() for name, _ in headers}
        lines = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc.rpartition('@')[2]}"]
        if "user-agent" not in given:
            lines.append(f"User-Agent: {self._user_agent}")
        if body or method in ("POST", "PUT", "PATCH"):
            lines.append(f"Content-Length: {len(body)}")
        lines += [f"{name}: {value}" for name, value in sorted(headers, key=lambda pair: pair[0])]
        if "accept-encoding" not in given:
            lines.append("Accept-Encoding: gzip")
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


@dataclass(slots=True)
class _Call:
    """One `request` on its way, through its redirects; remembers where it is for the error's wording."""

    client: OutboundClient
    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes
    trust: Trust
    resolve: Resolve | None
    body_bytes_max: int
    follow_redirects: bool
    in_body: bool = False

    async def run(self) -> OutboundResponse:
        # Go names the method of the first request even when a redirect has turned it into a GET.
        method = self.method
        for _ in range(_REDIRECTS_MAX):
            try:
                response = await self._round_trip()
            except (BodyError, UrlError):
                raise
            except OutboundError as error:
                raise UrlError(method, self.url, error) from error
            location = response.header("location")
            if not (self.follow_redirects and response.status in (301, 302, 303, 307, 308) and location):
                return response
            self._redirect(response.status, location)
        raise UrlError(method, location, OutboundError(f"stopped after {_REDIRECTS_MAX} redirects"))

    def _redirect(self, status: int, location: str) -> None:
        """301, 302 and 303 turn everything but HEAD into a GET without a body; 307 and 308 repeat it."""
        before = urlsplit(self.url)
        self.url = urljoin(self.url, location)
        if status not in (307, 308):
            if self.method != "HEAD":
                self.method = "GET"
            self.body = b""
            self.headers = [(name, value) for name, value in self.headers if not name.lower().startswith("content-")]
        if urlsplit(self.url).hostname != before.hostname:
            secret = ("authorization", "cookie", "www-authenticate")
            self.headers = [(name, value) for name, value in self.headers if name.lower() not in secret]

    async def _round_trip(self) -> OutboundResponse:
        target = self._target()
        while True:
            wire, reused = await self.client.connect(target)
            try:
                return await self._exchange(target, wire, reused)
            except ConnectionBrokenError:
                wire.close()
                if not (reused and self.method in _REPLAYABLE):
                    raise
            except BaseException:
                wire.close()
                raise

    async def open(self) -> tuple[Wire, ResponseReader, ResponseHead]:
        """Sends the request and reads the head of its response; the body is the caller's to read."""
        target = self._target()
        while True:
            wire, reused = await self.client.connect(target)
            try:
                wire.write(self.client.head(self.method, self.url, self.headers, self.body) + self.body)
                reader = ResponseReader(wire, self.body_bytes_max)
                with self.client.io():
                    return wire, reader, await reader.head()
            except ConnectionBrokenError:
                wire.close()
                if not (reused and self.method in _REPLAYABLE):
                    raise
            except BaseException:
                wire.close()
                raise

    async def _exchange(self, target: _Target, wire: Wire, reused: bool) -> OutboundResponse:
        self.in_body = False
        wire.write(self.client.head(self.method, self.url, self.headers, self.body) + self.body)
        reader = ResponseReader(wire, self.body_bytes_max)
        with self.client.io():
            head = await reader.head()
            self.in_body = True
            body = await reader.body(head, self.method)
        if reader.keeps_alive:
            self.client.keep(target, wire)
        else:
            wire.close()
        return OutboundResponse(head.status, head.reason, head.headers, body, self.url, reused)

    def _target(self) -> _Target:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https"):
            raise OutboundError(f'unsupported protocol scheme "{parts.scheme}"')
        if not parts.hostname:
            raise OutboundError("http: no Host in request URL")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return _Target(parts.scheme, parts.hostname, port, self.trust, self.resolve)


def _system_roots_pem() -> bytes:
    """The machine's CA bundle; empty where there is none, so that every authority is unknown."""
    path = ssl.get_default_verify_paths().cafile
    if path is None:
        return b""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
