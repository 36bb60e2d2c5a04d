"""Requests that are wrong around their bodies: lines, methods, headers, queries, lengths."""

from __future__ import annotations

import socket
import ssl
from urllib.parse import quote

import pytest
from budget import FUZZ
from hypothesis import given
from hypothesis import strategies as st
from wire import PATIENCE_S, Server

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
#: Every parameter that some verb reads, and some that none does.
PARAMETERS = [
    "watch",
    "limit",
    "continue",
    "labelSelector",
    "fieldSelector",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "allowWatchBookmarks",
    "timeoutSeconds",
    "timeout",
    "pretty",
    "dryRun",
    "fieldManager",
    "fieldValidation",
    "force",
    "gracePeriodSeconds",
    "propagationPolicy",
    "orphanDependents",
    "exact",
    "export",
    "includeObject",
    "follow",
    "as",
    "x",
]
VALUES = (
    "",
    "0",
    "1",
    "-1",
    "true",
    "false",
    "maybe",
    "All",
    "a=b",
    "a in (b",
    "!",
    "metadata.name=x",
    "99999999999999999999",
    "1e9",
    "NotOlderThan",
    "Exact",
    "Foreground",
    "Strict",
    "abc",
    "1s",
    "%",
    "\x00",
    "é",
    "x" * 2000,
)
PATHS = (
    "/",
    "/api",
    "/apis",
    "/api/v1",
    "/apis/apps/v1",
    "/api/v1/namespaces",
    "/api/v1/namespaces/default",
    CONFIG_MAPS,
    f"{CONFIG_MAPS}/x",
    f"{CONFIG_MAPS}/x/status",
    "/api/v1/namespaces/default/pods/x/log",
    "/version",
    "/openapi/v3",
    "/openapi/v3/apis/apps/v1",
    "/openapi/v2",
    "/metrics",
    "/livez",
    "/readyz/ping",
    "/apis/apps/v1/deployments",
    "/api/v1/namespaces/default/pods/x/exec",
    "/api/v1/nodes/x/proxy/",
    "/apis/nope/v1/x",
    "/api/v1/namespaces/default/serviceaccounts/default/token",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/api/v1/namespaces//configmaps",
    "/api/v1/namespaces/default/configmaps/..%2f..",
    "/api/v1/namespaces/%00/pods",
    "/logs",
    "/debug/pprof",
    "/.well-known/openid-configuration",
    "/openid/v1/jwks",
)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "BREW")
ACCEPTS = (
    "*/*",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "text/html",
    ";;",
    "",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/cbor",
    "application/json;as=Bogus",
    "application/json;stream=watch",
    "a/b, c/d;q=x",
)

parameters = st.lists(st.tuples(st.sampled_from(PARAMETERS), st.sampled_from(VALUES) | st.text(max_size=8)), max_size=4)


@pytest.fixture(scope="module", autouse=True)
def _object(server: Server) -> None:
    assert server.request("POST", CONFIG_MAPS, {"metadata": {"name": "x"}}).code == 201


def names(server: Server) -> list[str]:
    return [each["metadata"]["name"] for each in server.request("GET", CONFIG_MAPS).body["items"]]


@FUZZ
@given(
    method=st.sampled_from(METHODS[:7]),
    path=st.sampled_from(PATHS) | st.text(alphabet="/abv1%2.-_", max_size=30).map("/{}".format),
    query=parameters,
    accept=st.sampled_from(ACCEPTS),
    headers=st.dictionaries(
        st.sampled_from(
            (
                "Content-Type",
                "Impersonate-User",
                "Impersonate-Group",
                "Impersonate-Extra-x",
                "Audit-ID",
                "If-None-Match",
                "Authorization",
                "User-Agent",
                "Accept-Encoding",
                "X-Forwarded-For",
                "Origin",
                "Upgrade",
                "Range",
            )
        ),
        st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
        max_size=2,
    ),
)
def test_absurd_methods_queries_and_headers(
    server: Server, method: str, path: str, query: list[tuple[str, str]], accept: str, headers: dict[str, str]
) -> None:
    # A watch goes on for as long as it is told; they have a test of their own.
    asked = [(name, value) for name, value in query if name not in ("timeoutSeconds", "follow", "watch")]
    text = "&".join(f"{name}={quote(value, safe='')}" for name, value in [*asked, ("timeoutSeconds", "1")])
    kept = set(names(server))
    answer = server.request(method, f"{path}?{text}", None, {"Accept": accept, **headers})
    server.check_calm()
    if method == "DELETE" and answer.code in (200, 202) and "x" not in names(server):
        assert server.request("POST", CONFIG_MAPS, {"metadata": {"name": "x"}}).code == 201
    assert set(names(server)) == kept


@FUZZ
@given(query=parameters, accept=st.sampled_from(ACCEPTS))
def test_absurd_watches_end(server: Server, query: list[tuple[str, str]], accept: str) -> None:
    asked = [(name, value) for name, value in query if name not in ("watch", "timeoutSeconds", "timeout")]
    text = "&".join(f"{name}={quote(value, safe='')}" for name, value in asked)
    target = f"{CONFIG_MAPS}?watch=true&timeoutSeconds=1&{text}"
    head = f"GET {target} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"
    with server.socket() as connection:
        connection.sendall(head.encode())
        began = connection.recv(1 << 16)  # And away, whether it streams or was refused.
    assert began.startswith(b"HTTP/1.1 "), began
    server.check_calm()


@FUZZ
@given(
    line=st.one_of(
        st.binary(min_size=1, max_size=60),
        st.builds(
            lambda method, target, version: b" ".join((method.encode(), target.encode(), version)),
            st.sampled_from(METHODS),
            st.sampled_from(PATHS) | st.text(max_size=20),
            st.sampled_from((b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/9", b"", b"http/1.1")),
        ),
    ),
    headers=st.lists(
        st.sampled_from(
            (
                b"Host: x",
                b"Content-Length: 5",
                b"Content-Length: -1",
                b"Content-Length: 99999999999999999999",
                b"Content-Length: 1\r\nContent-Length: 2",
                b"Transfer-Encoding: chunked",
                b"Transfer-Encoding: gzip, chunked",
                b"Transfer-Encoding: x",
                b"No colon",
                b": nameless",
                b"A: \x00\x01",
                b" folded",
                b"Expect: 100-continue",
                b"Expect: x",
                b"Connection: upgrade\r\nUpgrade: websocket",
                b"Host: y",
                b"Long: " + b"x" * 70_000,
                b"Content-Type: application/json",
                b"Cookie: " + b"a=b; " * 50,
            )
        )
        | st.binary(max_size=20),
        max_size=4,
    ),
    body=st.sampled_from((b"", b"{}", b"5\r\nhello\r\n0\r\n\r\n", b"zz\r\n", b"ffffffffffffffff\r\nx", b"0\r\n\r\n"))
    | st.binary(max_size=30),
)
def test_heads_that_are_no_http(server: Server, line: bytes, headers: list[bytes], body: bytes) -> None:
    data = b"\r\n".join((line, *headers, b"Connection: close", b"", b"")) + body
    with server.socket() as connection:
        try:
            connection.sendall(data)
            connection.settimeout(0.3)  # What is incomplete is waited for, by the server as well; then we vanish.
            received = connection.recv(1 << 16)
        except (TimeoutError, ConnectionError, ssl.SSLError):
            received = b""
    server.check_calm()
    if received:
        assert received.startswith(b"HTTP/1."), received
    assert names(server) == ["x"]


def test_pipelined_requests_are_answered_in_order(server: Server) -> None:
    requests = [
        f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n" for path in ("/version", f"{CONFIG_MAPS}/x", "/nope", "/livez")
    ]
    last = "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    received = server.raw("".join([*requests, last]).encode())
    codes = [part[1:4] for part in received.split(b"HTTP/1.1")[1:]]
    assert codes == [b"200", b"200", b"404", b"200", b"200"]
    server.check_healthy()


def test_plain_http_on_the_tls_port_is_told_so(server: Server) -> None:
    with socket.create_connection(server.address, PATIENCE_S) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"Client sent an HTTP request to an HTTPS server." in connection.recv(1 << 16)
    for data in (b"\x16\x03\x01\xff\xff", b"\x00" * 100, b"SSH-2.0-x\r\n"):
        with socket.create_connection(server.address, PATIENCE_S) as connection:
            connection.sendall(data)
    server.check_healthy()
