"""Calls that fail in each phase; the texts are those of Go's client in the same situation."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest

from clusters.emulated.clock import RealClock, ScaledClock
from clusters.emulated.outbound import client as client_module
from clusters.emulated.outbound.client import OutboundClient, Trust
from clusters.emulated.outbound.dial import Address, resolver_address
from clusters.emulated.outbound.errors import BodyError, DialError, UrlError
from clusters.emulated.outbound.response import OutboundResponse
from clusters.emulated.transport.pki import CertificateAuthority, Credential, Validity

HEAD = b"HTTP/1.1 200 OK\r\n"
OK = HEAD + b"Content-Length: 2\r\n\r\nhi"
BROKEN = "net/http: HTTP/1.x transport connection broken: "


def replies(data: bytes) -> Callable[[Any], None]:
    """Reads a request, sends `data`, and closes properly."""

    def behave(peer: Any) -> None:
        peer.recv(65536)
        peer.sendall(data)
        if isinstance(peer, ssl.SSLSocket):
            peer.unwrap()

    return behave


def resets(data: bytes = b"") -> Callable[[Any], None]:
    """Reads, sends `data`, and resets the connection."""

    def behave(peer: Any) -> None:
        peer.recv(65536)
        if data:
            peer.sendall(data)
            time.sleep(0.1)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return behave


def post(url: str, authority: CertificateAuthority | None = None, **options: Any) -> OutboundResponse:
    """One POST with a client of its own."""

    async def call() -> OutboundResponse:
        client = OutboundClient(options.pop("clock", RealClock()))
        options.setdefault("trust", Trust(ca_pem=authority.certificate_pem if authority else b""))
        options.setdefault("timeout_s", 5.0)
        try:
            return await client.request(options.pop("method", "POST"), url, body=b"{}", **options)
        finally:
            client.close()

    return asyncio.run(call())


def failure(url: str, authority: CertificateAuthority | None = None, **options: Any) -> str:
    """The text after `Post "<url>": `."""
    with pytest.raises(UrlError) as caught:
        post(url, authority, **options)
    prefix = f'Post "{url}": '
    assert str(caught.value).startswith(prefix)
    return str(caught.value).removeprefix(prefix)


# Dialling.


def test_connection_refused(servers: Any) -> None:
    port = servers.unused_port()
    text = failure(f"https://127.0.0.1:{port}/x?timeout=10s")
    assert text == f"dial tcp 127.0.0.1:{port}: connect: connection refused"


def test_no_such_host() -> None:
    text = failure("https://no-such-host.invalid/ok?timeout=10s")
    assert text == f"dial tcp: lookup no-such-host.invalid on {resolver_address()}: no such host"


def test_the_resolver_is_the_first_of_resolv_conf(tmp_path: Any) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text("search x\nnameserver 10.255.255.53\nnameserver 10.0.0.1\n")
    assert resolver_address(str(path)) == "10.255.255.53:53"
    path.write_text("nameserver fd00::1\n")
    assert resolver_address(str(path)) == "[fd00::1]:53"
    assert resolver_address(str(tmp_path / "missing")) == "127.0.0.1:53"


def test_a_service_is_dialled_elsewhere_but_verified_and_named_as_itself(servers: Any, authorities: Any) -> None:
    port = servers.start(replies(OK), authorities.good)

    async def to_endpoint(host: str, port_: int) -> Address:
        assert (host, port_) == ("wh.ns.svc", 443)
        return Address("127.0.0.1", port, shown="10.96.0.7:443")

    url = "https://wh.ns.svc:443/ok"
    assert post(url, authorities.ours, resolve=to_endpoint).body == b"hi"

    refused = servers.unused_port()

    async def to_nothing(host: str, port_: int) -> Address:
        return Address("127.0.0.1", refused, shown="10.96.0.7:443")

    assert failure(url, resolve=to_nothing) == "dial tcp 10.96.0.7:443: connect: connection refused"

    async def missing(host: str, port_: int) -> Address:
        raise DialError('service "wh" not found')

    assert failure(url, resolve=missing) == 'service "wh" not found'


# Certificates.


def refusal(servers: Any, credential: Credential, authority: CertificateAuthority | None, name: str = "") -> str:
    port = servers.start(replies(OK), credential)
    trust = Trust(ca_pem=authority.certificate_pem if authority else b"", server_name=name)
    text = failure(f"https://127.0.0.1:{port}/x", trust=trust)
    assert text.startswith("tls: failed to verify certificate: x509: ")
    return text.removeprefix("tls: failed to verify certificate: x509: ")


def test_unknown_authority(servers: Any, authorities: Any) -> None:
    text = "certificate signed by unknown authority"
    assert refusal(servers, authorities.good, None) == text
    assert refusal(servers, authorities.good, authorities.other) == text


def test_an_authority_of_the_same_name_with_another_key(servers: Any, authorities: Any) -> None:
    assert refusal(servers, authorities.good, authorities.namesake) == (
        'certificate signed by unknown authority (possibly because of "x509: ECDSA verification failure" '
        'while trying to verify candidate authority certificate "webhook-ca")'
    )


NO_IP_SANS = "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
NO_NAMES = "certificate is not valid for any names, but wanted to match c.ns.svc"
LEGACY = "certificate relies on legacy Common Name field, use SANs instead"


@pytest.mark.parametrize(
    ("common_name", "names", "addresses", "server_name", "text"),
    [
        ("wh", ("localhost",), (), "", NO_IP_SANS),
        ("wh", (), ("10.0.0.1", "fd00::12"), "", "certificate is valid for 10.0.0.1, fd00::12, not 127.0.0.1"),
        ("wh", ("a", "b.example"), (), "c.ns.svc", "certificate is valid for a, b.example, not c.ns.svc"),
        ("wh", ("*.svc",), (), "c.ns.svc", "certificate is valid for *.svc, not c.ns.svc"),
        ("wh", (), ("127.0.0.1",), "c.ns.svc", NO_NAMES),
        ("c.ns.svc", (), (), "c.ns.svc", LEGACY),
        ("127.0.0.1", (), (), "", LEGACY),
        ("zzz", (), (), "c.ns.svc", NO_NAMES),
    ],
)
def test_names(
    servers: Any, authorities: Any, common_name: str, names: Any, addresses: Any, server_name: str, text: str
) -> None:
    credential = authorities.ours.server(common_name, names, addresses)
    assert refusal(servers, credential, authorities.ours, server_name) == text


def test_a_wildcard_stands_for_one_label(servers: Any, authorities: Any) -> None:
    port = servers.start(replies(OK), authorities.ours.server("wh", ("*.ns.svc",)))
    trust = Trust(ca_pem=authorities.ours.certificate_pem, server_name="c.ns.svc")
    assert post(f"https://127.0.0.1:{port}/x", trust=trust).status == 200


def test_dates_come_before_names(servers: Any, authorities: Any) -> None:
    now_s = authorities.now_s
    expired = authorities.ours.server("wh", ("elsewhere",), validity=Validity.expired(now_s))
    text = refusal(servers, expired, authorities.ours)
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    assert re.fullmatch(rf"certificate has expired or is not yet valid: current time {stamp} is after {stamp}", text)
    early = authorities.ours.server("wh", (), ("127.0.0.1",), validity=Validity.not_yet(now_s))
    assert re.search(rf"current time {stamp} is before {stamp}$", refusal(servers, early, authorities.ours))


def test_an_expired_authority(servers: Any, authorities: Any) -> None:
    now_s = authorities.now_s
    old = CertificateAuthority("old-ca", now_s, Validity.expired(now_s))
    text = refusal(servers, old.server("wh", (), ("127.0.0.1",)), old)
    assert text.startswith("certificate has expired or is not yet valid: current time ")


def test_a_client_certificate_cannot_serve(servers: Any, authorities: Any) -> None:
    credential = authorities.ours._issue("wh", (), None, client=True, addresses=("127.0.0.1",))
    assert refusal(servers, credential, authorities.ours) == "certificate specifies an incompatible key usage"


def test_insecure_skips_all_that(servers: Any, authorities: Any) -> None:
    port = servers.start(replies(OK), authorities.good)
    assert post(f"https://127.0.0.1:{port}/x", trust=Trust(insecure=True)).status == 200


def test_a_client_certificate_is_shown_when_asked_for(servers: Any, authorities: Any) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=authorities.ours.certificate_pem.decode())
    port = servers.start(replies(OK), authorities.good, context)
    url = f"https://127.0.0.1:{port}/x"
    assert failure(url, authorities.ours) == "remote error: tls: certificate required"
    me = authorities.ours.client("system:apiserver")
    trust = Trust(authorities.ours.certificate_pem, certificate_pem=me.certificate_pem, key_pem=me.key_pem)
    assert post(url, trust=trust).status == 200


# Handshakes and heads.


@pytest.mark.parametrize(
    ("behave", "text"),
    [
        (lambda peer: peer.recv(65536), "EOF"),
        (replies(b"ab"), "unexpected EOF"),
        (replies(OK), "http: server gave HTTP response to HTTPS client"),
        (replies(b"garbage in here\n"), "tls: first record does not look like a TLS handshake"),
    ],
)
def test_no_handshake(servers: Any, behave: Any, text: str) -> None:
    assert failure(f"https://127.0.0.1:{servers.start(behave)}/x") == text


def test_a_reset_names_both_ends(servers: Any, authorities: Any) -> None:
    port = servers.start(resets(), authorities.good)
    text = failure(f"https://127.0.0.1:{port}/x", authorities.ours)
    assert re.fullmatch(rf"read tcp 127\.0\.0\.1:\d+->127\.0\.0\.1:{port}: read: connection reset by peer", text)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (b"", "EOF"),
        (b"hello\r\n\r\n", BROKEN + 'malformed HTTP response "hello"'),
        (b"hello", BROKEN + 'malformed HTTP response "hello"'),
        (b"hello world\r\n\r\n", BROKEN + 'malformed HTTP status code "world"'),
        (b"HTTP/x.1 200 OK\r\n\r\n", BROKEN + 'malformed HTTP version "HTTP/x.1"'),
        (HEAD + b"no colon\r\n\r\n", BROKEN + 'malformed MIME header: missing colon: "no colon"'),
        (HEAD + b"A: b\r\n", BROKEN + "unexpected EOF"),
    ],
)
def test_no_response(servers: Any, authorities: Any, reply: bytes, text: str) -> None:
    port = servers.start(replies(reply), authorities.good)
    assert failure(f"https://127.0.0.1:{port}/x", authorities.ours) == text


def test_an_unsupported_scheme() -> None:
    assert failure("ftp://127.0.0.1/x") == 'unsupported protocol scheme "ftp"'


# Bodies.


@pytest.mark.parametrize(
    ("reply", "body"),
    [
        (HEAD + b"Content-Length: 5\r\n\r\nhello", b"hello"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x\r\nllo\r\n0\r\nT: 1\r\n\r\n", b"hello"),
        (HEAD + b"\r\nhello", b"hello"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"Content-Length: 5\r\n\r\nhello", b"hello"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
)
def test_bodies(servers: Any, authorities: Any, reply: bytes, body: bytes) -> None:
    port = servers.start(replies(reply), authorities.good)
    assert post(f"https://127.0.0.1:{port}/x", authorities.ours).body == body


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (HEAD + b"Content-Length: 10\r\n\r\nabc", "unexpected EOF"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", "unexpected EOF"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "invalid byte in chunk length"),
        (HEAD + b"Content-Length: 3000\r\n\r\n", "the response is larger than 2000 bytes"),
    ],
)
def test_broken_bodies_come_without_the_url(servers: Any, authorities: Any, reply: bytes, text: str) -> None:
    port = servers.start(replies(reply), authorities.good)
    with pytest.raises(BodyError, match=rf"^{text}$"):
        post(f"https://127.0.0.1:{port}/x", authorities.ours, body_bytes_max=2000)


# Deadlines.


@pytest.mark.parametrize("handshake", [False, True])
@pytest.mark.parametrize(
    ("client_timeout", "text"),
    [
        (False, "context deadline exceeded"),
        (True, "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"),
    ],
)
def test_deadlines(servers: Any, authorities: Any, handshake: bool, client_timeout: bool, text: str) -> None:
    port = servers.start(servers.hangs(), authorities.good if handshake else None)
    url = f"https://127.0.0.1:{port}/x?timeout=1s"
    assert failure(url, authorities.ours, timeout_s=0.2, client_timeout=client_timeout) == text


def test_a_deadline_in_the_body(servers: Any, authorities: Any) -> None:
    port = servers.start(servers.hangs(HEAD + b"Content-Length: 10\r\n\r\nabc"), authorities.good)
    url = f"https://127.0.0.1:{port}/x"
    with pytest.raises(BodyError, match=r"^context deadline exceeded$"):
        post(url, authorities.ours, timeout_s=0.2)


def test_deadlines_are_cluster_time(servers: Any, authorities: Any) -> None:
    port = servers.start(servers.hangs(), authorities.good)
    url = f"https://127.0.0.1:{port}/x"
    text = failure(url, authorities.ours, timeout_s=10, clock=ScaledClock(100))
    assert text == "context deadline exceeded"


def test_the_handshake_has_its_own_deadline(servers: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(client_module, "_TLS_HANDSHAKE_TIMEOUT_S", 0.1)
    port = servers.start(servers.hangs())
    assert failure(f"https://127.0.0.1:{port}/x") == "net/http: TLS handshake timeout"


def test_a_cancelled_call_stays_cancelled(servers: Any, authorities: Any) -> None:
    port = servers.start(servers.hangs(), authorities.good)

    async def scenario() -> None:
        client = OutboundClient(RealClock())
        trust = Trust(authorities.ours.certificate_pem)
        call = asyncio.create_task(client.request("GET", f"https://127.0.0.1:{port}/", trust=trust, timeout_s=60))
        await asyncio.sleep(0.1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(scenario())


# Requests, reuse, redirects.


def test_the_request_looks_like_the_api_servers(servers: Any, authorities: Any) -> None:
    port = servers.start(servers.keeps_alive(), authorities.good)
    headers = [("Content-Type", "application/json"), ("Accept", "application/json, */*")]
    post(f"https://127.0.0.1:{port}/mutate?timeout=10s", authorities.ours, headers=headers)
    assert servers.requests == [
        b"POST /mutate?timeout=10s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
        b"User-Agent: kube-apiserver-admission\r\nContent-Length: 2\r\nAccept: application/json, */*\r\n"
        b"Content-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n{}" % port
    ]


def test_connections_are_used_again_but_not_across_trust(servers: Any, authorities: Any) -> None:
    port = servers.start(servers.keeps_alive(), authorities.good)

    async def scenario() -> list[bool]:
        client = OutboundClient(RealClock())
        trusts = [Trust(authorities.ours.certificate_pem)] * 3 + [Trust(insecure=True)]
        replies_ = [await client.request("GET", f"https://127.0.0.1:{port}/", trust=trust) for trust in trusts]
        client.close()
        return [reply.reused for reply in replies_]

    assert asyncio.run(scenario()) == [False, True, True, False]


def test_a_connection_that_the_server_closed_is_not_used_again(servers: Any, authorities: Any) -> None:
    port = servers.start(replies(OK), authorities.good)

    async def scenario() -> list[bool]:
        client = OutboundClient(RealClock())
        found = []
        for _ in range(3):
            trust = Trust(authorities.ours.certificate_pem)
            found.append((await client.request("POST", f"https://127.0.0.1:{port}/", trust=trust)).reused)
            await asyncio.sleep(0.05)
        return found

    assert asyncio.run(scenario()) == [False, False, False]


def test_a_302_becomes_a_get_and_a_307_repeats_the_post(servers: Any, authorities: Any) -> None:
    end = servers.start(servers.keeps_alive(), authorities.good)
    for status, expected in ((302, b"GET /end HTTP/1.1"), (307, b"POST /end HTTP/1.1")):
        servers.requests.clear()
        reply = b"HTTP/1.1 %d Moved\r\nLocation: https://127.0.0.1:%d/end\r\nContent-Length: 0\r\n\r\n"
        port = servers.start(replies(reply % (status, end)), authorities.good)
        response = post(f"https://127.0.0.1:{port}/x", authorities.ours, headers=[("Content-Type", "application/json")])
        assert response.url == f"https://127.0.0.1:{end}/end"
        [request] = servers.requests
        assert request.startswith(expected)
        assert (b"Content-Type" in request) is (status == 307)
        assert request.endswith(b"{}") is (status == 307)


def test_redirects_end_after_ten(servers: Any, authorities: Any) -> None:
    reply = b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"
    port = servers.start(servers.keeps_alive(reply), authorities.good)
    with pytest.raises(UrlError, match=r'^Post "/x": stopped after 10 redirects$'):
        post(f"https://127.0.0.1:{port}/x", authorities.ours)
    assert len(servers.requests) == 10
