"""A small HTTP/1.1 load generator: N keep-alive TLS connections, one request at a time on each.

Speaks to anything that serves HTTPS (the emulated api-server, a real kube-apiserver), so that both are asked
the same way. Run it in a process of its own, or the client's work counts as the server's.

    python -m benchmarks.load https://127.0.0.1:6443/version --ca ca.crt --cert a.crt --key a.key -c 16 -n 20000
"""

from __future__ import annotations

import argparse
import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Call:
    """One request of the load; `i` counts from 0 over all connections."""

    method: str
    path: str
    body: bytes = b""
    content_type: str = "application/json"


@dataclass(slots=True)
class Result:
    """What came of it."""

    seconds: float
    latencies_s: list[float]
    statuses: Counter[int]
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def rps(self) -> float:
        return len(self.latencies_s) / self.seconds if self.seconds else 0.0

    def percentile_ms(self, percent: float) -> float:
        ordered = sorted(self.latencies_s)
        if not ordered:
            return 0.0
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] * 1000

    def __str__(self) -> str:
        text = (
            f"{self.rps:,.0f} rps, p50 {self.percentile_ms(50):.2f} ms, p99 {self.percentile_ms(99):.2f} ms, "
            f"statuses {dict(self.statuses)}"
        )
        return f"{text}, errors {dict(self.errors)}" if self.errors else text


class _Load:
    """What all connections share: the next call, the time until which to go on, the results."""

    def __init__(self, call: Callable[[int], Call], requests: int, host: str, token: str | None) -> None:
        self._call = call
        self._requests = requests
        self._sent = 0
        self._common = f"Host: {host}\r\nAccept: application/json\r\nUser-Agent: load\r\n"
        if token:
            self._common += f"Authorization: Bearer {token}\r\n"
        self.latencies_s: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.errors: Counter[str] = Counter()

    def next(self) -> bytes | None:
        if self._sent >= self._requests:
            return None
        call = self._call(self._sent)
        self._sent += 1
        head = f"{call.method} {call.path} HTTP/1.1\r\n{self._common}"
        if call.body:
            head += f"Content-Type: {call.content_type}\r\nContent-Length: {len(call.body)}\r\n"
        return f"{head}\r\n".encode() + call.body


class _Client(asyncio.Protocol):
    def __init__(self, load: _Load, done: asyncio.Future[None]) -> None:
        self._load = load
        self._done = done
        self._transport: asyncio.Transport
        self._buffer = b""
        self._needed = 0
        self._status = 0
        self._chunked = False
        self._sent_s = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def send(self) -> None:
        data = self._load.next()
        if data is None:
            self._finish()
            return
        self._sent_s = time.perf_counter()
        self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer = self._buffer + data if self._buffer else data
        if not self._needed:
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = buffer[:end].lower()
            self._status = int(head[9:12])
            at = head.find(b"\r\ncontent-length:")
            self._chunked = at < 0
            if at >= 0:
                line_end = head.find(b"\r\n", at + 2)
                length = head[at + 17 :] if line_end < 0 else head[at + 17 : line_end]
                self._needed = end + 4 + int(length)
            else:
                self._needed = end + 4
        if self._chunked:
            if not buffer.endswith(b"0\r\n\r\n"):
                return
        elif len(buffer) < self._needed:
            return
        self._buffer = b""
        self._needed = 0
        self._load.latencies_s.append(time.perf_counter() - self._sent_s)
        self._load.statuses[self._status] += 1
        self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._load.errors[str(exc or "connection closed")] += 1
            self._finish()

    def _finish(self) -> None:
        if not self._done.done():
            self._done.set_result(None)
        self._transport.close()


def _itself(client: _Client) -> _Client:
    return client


async def run(
    url: str,
    call: Callable[[int], Call],
    *,
    connections: int = 16,
    requests: int = 10_000,
    tls: ssl.SSLContext | None = None,
    token: str | None = None,
) -> Result:
    """Sends `requests` calls to the host of `url` over `connections` connections and waits for all answers."""
    parts = urlsplit(url)
    host = parts.hostname or "127.0.0.1"
    loop = asyncio.get_running_loop()
    load = _Load(call, requests, parts.netloc, token)
    clients: list[_Client] = []
    ends: list[asyncio.Future[None]] = []
    for _ in range(connections):
        done: asyncio.Future[None] = loop.create_future()
        client = _Client(load, done)
        await loop.create_connection(partial(_itself, client), host, parts.port or 443, ssl=tls)
        clients.append(client)
        ends.append(done)
    started_s = time.perf_counter()
    for client in clients:
        client.send()
    await asyncio.gather(*ends)
    return Result(time.perf_counter() - started_s, load.latencies_s, load.statuses, load.errors)


def tls_context(ca: str | None, cert: str | None = None, key: str | None = None) -> ssl.SSLContext:
    """TLS that trusts the CA file `ca` (nothing is verified without it) and shows the client certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca:
        context.load_verify_locations(ca)
    else:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if cert:
        context.load_cert_chain(cert, key)
    return context


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("url")
    parser.add_argument("-c", "--connections", type=int, default=16)
    parser.add_argument("-n", "--requests", type=int, default=10_000)
    parser.add_argument("-m", "--method", default="GET")
    parser.add_argument("--body", help="request body; {i} is replaced by the number of the request")
    parser.add_argument("--ca")
    parser.add_argument("--cert")
    parser.add_argument("--key")
    parser.add_argument("--token-file")
    options = parser.parse_args()
    parts = urlsplit(options.url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    body: str = options.body or ""

    def call(i: int) -> Call:
        return Call(options.method, target.replace("{i}", str(i)), body.replace("{i}", str(i)).encode())

    token = Path(options.token_file).read_text().strip() if options.token_file else None
    tls = tls_context(options.ca, options.cert, options.key) if parts.scheme == "https" else None
    work = run(options.url, call, connections=options.connections, requests=options.requests, tls=tls, token=token)
    try:
        import uvloop
    except ImportError:
        print(asyncio.run(work))
    else:
        print(uvloop.run(work))


if __name__ == "__main__":
    main()
