"""The listener as a client sees it: framing, keep-alive, refusals, streams, upgrades, levers."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from typing import Any

import pytest

from clusters.emulated.apiserver.http import (
    HttpRequest,
    HttpResponse,
    RawConnection,
    StreamWriter,
    frame_chunk,
)
from clusters.emulated.transport.https import Limits
from clusters.emulated.transport.pki import Pki, Validity
from clusters.emulated.transport.response_head import DateLine

GET = b"GET /a?x=1 HTTP/1.1\r\nHost: h\r\n\r\n"
ERROR_HEADERS = b"\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"


async def echo(request: HttpRequest) -> HttpResponse:
    text = f"{request.method} {request.path} {request.query} {len(request.body)} {request.body_truncated}"
    return HttpResponse(200, [("Content-Type", "text/plain")], text.encode())


def test_an_answer_has_the_given_headers_then_date_and_length(rig: Any) -> None:
    client = rig.connect(rig.serve(echo))
    head, body = client.ask(GET)
    lines = head.split(b"\r\n")
    assert lines[0] == b"HTTP/1.1 200 OK"
    assert lines[1] == b"Content-Type: text/plain"
    assert lines[2].startswith(b"Date: ")
    assert lines[2].endswith(b" GMT")
    assert lines[3] == b"Content-Length: 18"
    assert body == b"GET /a x=1 0 False"


def test_the_date_is_cluster_time() -> None:
    now_s = 1_794_992_143.9
    date = DateLine(lambda: now_s)
    assert date() == "Date: Wed, 18 Nov 2026 08:55:43 GMT\r\n"
    now_s += 1
    assert date() == "Date: Wed, 18 Nov 2026 08:55:44 GMT\r\n"


def test_a_connection_serves_many_requests(rig: Any) -> None:
    server = rig.serve(echo)
    client = rig.connect(server)
    for _ in range(3):
        client.ask(GET)
    assert (server.connections, server.connections_total, server.requests_total) == (1, 1, 3)


def test_pipelined_requests_are_answered_in_order(rig: Any) -> None:
    async def slower_first(request: HttpRequest) -> HttpResponse:
        if request.path == "/slow":
            await asyncio.sleep(0.05)
        return HttpResponse(200, [], request.path.encode())

    client = rig.connect(rig.serve(slower_first))
    client.send(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /fast HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    received = client.to_end()
    assert received.index(b"/slow") < received.index(b"/fast")


def test_a_body_may_come_in_pieces_and_in_chunks(rig: Any) -> None:
    bodies = []

    async def keep(request: HttpRequest) -> HttpResponse:
        bodies.append(request.body)
        return HttpResponse(201)

    client = rig.connect(rig.serve(keep))
    client.send(b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nab")
    time.sleep(0.02)
    client.ask(b"cdef")
    client.ask(
        b"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3;note=x\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n"
    )
    assert bodies == [b"abcdef", b"abcde"]


def test_expect_100_continue_is_answered_before_the_body(rig: Any) -> None:
    client = rig.connect(rig.serve(echo))
    client.send(b"POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    assert client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert client.ask(b"abc")[1] == b"POST /a  3 False"


def test_head_has_a_length_but_no_body(rig: Any) -> None:
    client = rig.connect(rig.serve(echo))
    client.send(b"HEAD /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    head, _, body = client.to_end().partition(b"\r\n\r\n")
    assert b"Content-Length: 16" in head
    assert body == b""


@pytest.mark.parametrize(
    ("request_bytes", "closes", "header"),
    [
        (b"GET /a HTTP/1.0\r\n\r\n", True, b""),
        (b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", False, b"Connection: keep-alive"),
        (b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", True, b"Connection: close"),
    ],
)
def test_who_closes_the_connection(rig: Any, request_bytes: bytes, closes: bool, header: bytes) -> None:
    client = rig.connect(rig.serve(echo))
    head, _ = client.ask(request_bytes)
    assert head.startswith(request_bytes[7:15])
    assert header in head
    if closes:
        assert client.is_closed()
    else:
        assert client.ask(GET)


@pytest.mark.parametrize(
    ("request_bytes", "public"),
    [
        (b"hello\r\n\r\n", b"400 Bad Request"),
        (b"GET /a HTTP/1.x\r\n\r\n", b"400 Bad Request"),
        (b"GET /a%zz HTTP/1.1\r\nHost: h\r\n\r\n", b"400 Bad Request"),
        (b"GET foo HTTP/1.1\r\nHost: h\r\n\r\n", b"400 Bad Request"),
        (b"GET /a HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", b"400 Bad Request"),
        (b"GET /a HTTP/1.1\r\nHost: h\r\nfoo : x\r\n\r\n", b"400 Bad Request: invalid header name"),
        (b"GET /a HTTP/1.1\r\n\r\n", b"400 Bad Request: missing required Host header"),
        (b"GET /a HTTP/1.1\r\nHost: a b\r\n\r\n", b"400 Bad Request: malformed Host header"),
        (b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n", b"400 Bad Request"),
        (
            b"GET /a HTTP/3.0\r\nHost: h\r\n\r\n",
            b"505 HTTP Version Not Supported: unsupported protocol version",
        ),
        (
            b"GET /a HTTP/1.1\r\nHost: h\r\nX: " + b"a" * ((1 << 20) + 5000) + b"\r\n\r\n",
            b"431 Request Header Fields Too Large",
        ),
    ],
    ids=lambda value: value[:40].decode() if isinstance(value, bytes) else None,
)
def test_what_is_no_request_is_refused_in_text_and_closed(rig: Any, request_bytes: bytes, public: bytes) -> None:
    client = rig.connect(rig.serve(echo))
    client.send(request_bytes)
    assert client.to_end() == b"HTTP/1.1 " + public + ERROR_HEADERS + public


def test_any_method_reaches_the_handler(rig: Any) -> None:
    client = rig.connect(rig.serve(echo))
    assert client.ask(b"FOO-BAR /a HTTP/1.1\r\nHost: h\r\n\r\n")[1].startswith(b"FOO-BAR /a")


def test_plain_http_is_told_so_in_plain(rig: Any) -> None:
    client = rig.connect_plain(rig.serve(echo))
    client.send(GET)
    assert client.to_end() == (b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")


def test_a_body_above_the_limit_reaches_the_handler_cut_and_ends_the_connection(rig: Any) -> None:
    async def handler(request: HttpRequest) -> HttpResponse:
        assert request.body_truncated
        return HttpResponse(413, [], str(len(request.body)).encode())

    client = rig.connect(rig.serve(handler))
    size = 5 * 1024 * 1024
    head, body = client.ask(b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size)
    assert head.startswith(b"HTTP/1.1 413 Request Entity Too Large")
    assert b"Connection: close" in head
    assert body == b"3145728"
    assert client.is_closed()


def test_a_body_of_exactly_the_limit_is_whole(rig: Any) -> None:
    client = rig.connect(rig.serve(echo))
    size = 3 * 1024 * 1024
    _, body = client.ask(b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size)
    assert body == b"POST /a  3145728 False"


def test_a_failing_handler_gives_500_and_the_connection_lives(rig: Any, caplog: Any) -> None:
    async def fail(request: HttpRequest) -> HttpResponse:
        if request.path == "/fail":
            raise RuntimeError("a bug")
        return HttpResponse(200)

    client = rig.connect(rig.serve(fail))
    head, body = client.ask(b"GET /fail HTTP/1.1\r\nHost: h\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 500 Internal Server Error")
    assert b'"reason":"InternalError"' in body
    assert "a bug" in caplog.text
    assert client.ask(GET)[0].startswith(b"HTTP/1.1 200")


def test_a_header_value_cannot_forge_a_header(rig: Any) -> None:
    async def forge(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, [("Warning", 'a\r\nSet-Cookie: "x"')])

    head, _ = rig.connect(rig.serve(forge)).ask(GET)
    assert b'Warning: a  Set-Cookie: "x"\r\n' in head


# Client certificates.


def test_any_client_certificate_reaches_the_handler_unverified(rig: Any) -> None:
    seen: list[bytes | None] = []

    async def keep(request: HttpRequest) -> HttpResponse:
        seen.append(request.peer_certificate)
        return HttpResponse(200)

    server, ca, now_s = rig.serve(keep), rig.pki.ca, time.time()
    credentials = [
        rig.pki.admin,
        ca.client("alice", validity=Validity.expired(now_s)),
        ca.client("alice", validity=Validity.not_yet(now_s)),
        Pki.create(now_s).ca.client("alice"),
        rig.pki.serving,
    ]
    for credential in credentials:
        rig.connect(server, credential).ask(GET)
    rig.connect(server).ask(GET)
    assert seen == [*(credential.certificate_der for credential in credentials), None]


def test_intermediates_come_along(rig: Any) -> None:
    seen: list[tuple[bytes, ...]] = []

    async def keep(request: HttpRequest) -> HttpResponse:
        seen.append(request.peer_chain)
        return HttpResponse(200)

    rig.connect(rig.serve(keep), rig.pki.admin).ask(GET)
    # OpenSSL's client adds the issuer that it trusts.
    assert seen == [(rig.pki.ca.certificate_der,)]


def test_the_certificate_request_names_the_client_cas_and_alpn_is_http_1_1(rig: Any) -> None:
    server = rig.serve(echo)
    context = rig.pki.client_context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    plain = socket.create_connection((server.host, server.port))
    with context.wrap_socket(plain, server_hostname="localhost") as client:
        assert client.selected_alpn_protocol() == "http/1.1"
        assert client.version() == "TLSv1.3"
    import subprocess

    shown = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}"],
        input=b"", capture_output=True, timeout=10, check=False,
    ).stdout  # fmt: skip
    names = shown.partition(b"Acceptable client certificate CA names\n")[2].splitlines()[:2]
    assert [name.replace(b" ", b"") for name in names] == [b"CN=kubernetes", b"CN=front-proxy-ca"]


def test_the_connection_cache_lives_as_long_as_the_connection(rig: Any) -> None:
    async def count(request: HttpRequest) -> HttpResponse:
        request.connection["n"] = request.connection.get("n", 0) + 1
        return HttpResponse(200, [], str(request.connection["n"]).encode())

    server = rig.serve(count)
    client = rig.connect(server)
    assert [client.ask(GET)[1] for _ in range(2)] == [b"1", b"2"]
    assert rig.connect(server).ask(GET)[1] == b"1"


# Clients that vanish or dawdle.


def test_a_client_that_vanishes_cancels_the_handler(rig: Any) -> None:
    cancelled, closed = threading.Event(), threading.Event()

    async def wait(request: HttpRequest) -> HttpResponse:
        request.closed.add_callback(closed.set)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return HttpResponse(200)

    server = rig.serve(wait)
    client = rig.connect(server)
    client.send(GET)
    rig.eventually(lambda: server.in_flight == 1)
    client.sock.close()
    assert cancelled.wait(5)
    assert closed.wait(5)
    rig.eventually(lambda: server.connections == 0)


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /a HT", b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab", GET],
    ids=["nothing", "half a head", "half a body", "idle afterwards"],
)
def test_dawdling_clients_are_closed_without_a_word(rig: Any, small_limits: Limits, sent: bytes) -> None:
    client = rig.connect(rig.serve(echo, limits=small_limits))
    client.send(sent)
    received = client.to_end()
    assert received == b"" or received.startswith(b"HTTP/1.1 200 OK")


def test_a_request_in_hand_is_not_timed_out(rig: Any, small_limits: Limits) -> None:
    async def slow(request: HttpRequest) -> HttpResponse:
        await asyncio.sleep(1.5)
        return HttpResponse(200)

    assert rig.connect(rig.serve(slow, limits=small_limits)).ask(GET)[0].startswith(b"HTTP/1.1 200")


# Streams and upgrades.


def streaming(stream: Any) -> Any:
    async def handler(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, [], stream=stream)

    return handler


def test_a_stream_is_chunked_and_ends_properly(rig: Any) -> None:
    async def stream(writer: StreamWriter) -> None:
        writer.write(b"one\n")
        writer.write(b"")
        await asyncio.sleep(0.01)
        writer.write_framed(frame_chunk(b"two\n"))

    client = rig.connect(rig.serve(streaming(stream)))
    client.send(GET)
    received = client.until(b"0\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in received
    assert received.endswith(b"\r\n\r\n4\r\none\n\r\n4\r\ntwo\n\r\n0\r\n\r\n")
    client.send(GET)
    assert client.until(b"0\r\n\r\n")


def test_http_1_0_streams_have_no_chunks(rig: Any) -> None:
    async def stream(writer: StreamWriter) -> None:
        writer.write(b"one\n")
        writer.write_framed(frame_chunk(b"two\n"))

    client = rig.connect(rig.serve(streaming(stream)))
    client.send(b"GET /a HTTP/1.0\r\n\r\n")
    assert client.to_end() == b"HTTP/1.0 200 OK\r\n\r\none\ntwo\n"


@pytest.mark.parametrize("how", ["abort", "raise"])
def test_a_cut_stream_has_no_final_chunk(rig: Any, how: str) -> None:
    async def stream(writer: StreamWriter) -> None:
        writer.write(b"one\n")
        await asyncio.sleep(0.05)
        if how == "raise":
            raise RuntimeError("a bug")
        writer.abort()

    client = rig.connect(rig.serve(streaming(stream)))
    client.send(GET)
    client.until(b"one\n")
    rest = b""
    try:
        while data := client.sock.recv(1000):
            rest += data
    except OSError:
        pass
    assert b"0\r\n\r\n" not in rest


def test_a_watcher_that_leaves_is_noticed(rig: Any) -> None:
    left = threading.Event()

    async def stream(writer: StreamWriter) -> None:
        writer.on_close(left.set)
        writer.write(b"hello")
        await asyncio.sleep(60)

    client = rig.connect(rig.serve(streaming(stream)))
    client.send(GET)
    client.until(b"hello")
    client.sock.close()
    assert left.wait(5)


def test_drain_waits_for_a_slow_reader(rig: Any) -> None:
    progress: list[int] = []

    async def stream(writer: StreamWriter) -> None:
        for _ in range(200):
            writer.write(b"x" * 100_000)
            await writer.drain()
            progress.append(writer.buffered_bytes)

    client = rig.connect(rig.serve(streaming(stream)))
    client.send(b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    client.until(b"x")
    time.sleep(0.2)
    assert 0 < len(progress) < 200
    while client.sock.recv(1 << 20):
        pass
    assert len(progress) == 200


def test_an_upgrade_hands_over_the_bytes(rig: Any) -> None:
    async def talk(connection: RawConnection) -> None:
        while data := await connection.read():
            connection.write(data.upper())
            if data == b"bye":
                return

    async def handler(request: HttpRequest) -> HttpResponse:
        return HttpResponse(101, [("Connection", "Upgrade"), ("Upgrade", "websocket")], upgrade=talk)

    client = rig.connect(rig.serve(handler))
    client.send(b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly")
    received = client.until(b"EARLY")
    assert received == (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nEARLY")
    client.send(b"more")
    client.until(b"MORE")
    client.send(b"bye")
    client.until(b"BYE")
    assert client.is_closed()


# Life and levers.


def test_stop_lets_requests_in_hand_finish_and_closes_idle_ones(rig: Any) -> None:
    async def slow(request: HttpRequest) -> HttpResponse:
        await asyncio.sleep(0.2)
        return HttpResponse(200, [], b"done")

    server = rig.serve(slow)
    idle, busy = rig.connect(server), rig.connect(server)
    busy.send(GET)
    rig.eventually(lambda: server.in_flight == 1)
    rig.loop.run(server.stop(grace_s=5))
    assert busy.to_end().endswith(b"Connection: close\r\n\r\ndone")
    assert idle.is_closed()
    with pytest.raises(ConnectionRefusedError):
        rig.connect(server)


def test_stop_cuts_what_outlives_its_grace(rig: Any) -> None:
    async def stream(writer: StreamWriter) -> None:
        writer.write(b"hello")
        await asyncio.sleep(60)

    server = rig.serve(streaming(stream))
    client = rig.connect(server)
    client.send(GET)
    client.until(b"hello")
    started_s = time.monotonic()
    rig.loop.run(server.stop(grace_s=0.1))
    assert time.monotonic() - started_s < 2
    assert client.is_closed()


def test_refuse_refuses_new_connections_and_heals(rig: Any) -> None:
    server = rig.serve(echo)
    before = rig.connect(server)
    lever = server.refuse()
    rig.loop.call(lever.__enter__)
    with pytest.raises(ConnectionRefusedError):
        rig.connect(server)
    assert before.ask(GET)
    rig.loop.call(lever.__exit__, None, None, None)
    assert rig.connect(server).ask(GET)


def test_stall_answers_nothing_until_healed(rig: Any) -> None:
    server = rig.serve(echo)
    client = rig.connect(server)
    client.ask(GET)
    lever = server.stall()
    rig.loop.call(lever.__enter__)
    client.send(GET)
    client.sock.settimeout(0.1)
    with pytest.raises(TimeoutError):
        client.sock.recv(1)
    client.sock.settimeout(5)
    rig.loop.call(lever.__exit__, None, None, None)
    assert client.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200")


def test_slow_delays_each_request(rig: Any) -> None:
    server = rig.serve(echo)
    client = rig.connect(server)
    lever = server.slow(0.2)
    rig.loop.call(lever.__enter__)
    started_s = time.monotonic()
    client.ask(GET)
    assert time.monotonic() - started_s >= 0.2
    rig.loop.call(lever.__exit__, None, None, None)
    started_s = time.monotonic()
    client.ask(GET)
    assert time.monotonic() - started_s < 0.2


def test_cut_connections_cuts_all(rig: Any) -> None:
    server = rig.serve(echo)
    clients = [rig.connect(server) for _ in range(3)]
    for client in clients:
        client.ask(GET)
    assert rig.loop.call(server.cut_connections) == 3
    assert all(client.is_closed() for client in clients)


def test_another_certificate_is_shown_while_the_lever_is_pulled(rig: Any) -> None:
    server = rig.serve(echo)
    expired = rig.pki.ca.server("x", ("localhost",), ("127.0.0.1",), validity=Validity.expired(time.time()))
    open_before = rig.connect(server)
    lever = server.use_certificate(rig.pki.server_context(expired))
    rig.loop.call(lever.__enter__)
    with pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"):
        rig.connect(server)
    assert open_before.ask(GET)
    rig.loop.call(lever.__exit__, None, None, None)
    assert rig.connect(server).ask(GET)
