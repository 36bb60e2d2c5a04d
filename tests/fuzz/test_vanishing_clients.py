"""Clients that vanish: before their request is whole, before its answer, and in the middle of a watch."""

from __future__ import annotations

import socket
import struct
import time

import orjson
import pytest
from wire import PATIENCE_S, Server

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture(scope="module", autouse=True)
def _object(server: Server) -> None:
    assert server.request("POST", CONFIG_MAPS, {"metadata": {"name": "x"}}).code == 201


def names(server: Server) -> list[str]:
    return [each["metadata"]["name"] for each in server.request("GET", CONFIG_MAPS).body["items"]]


def post(body: bytes) -> bytes:
    lines = (
        f"POST {CONFIG_MAPS} HTTP/1.1",
        "Host: x",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join((*lines, "", "")).encode() + body


@pytest.mark.parametrize("sent", [0, 1, 20, 80, 130, 160])
@pytest.mark.parametrize("end", ["close", "reset"])
def test_half_sent_requests_make_nothing(server: Server, sent: int, end: str) -> None:
    body = orjson.dumps({"metadata": {"name": "half"}, "data": {"a": "b"}})
    data = post(body)
    with server.socket() as connection:
        connection.sendall(data[: min(sent, len(data) - 1)])
        if end == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    server.check_healthy()
    assert names(server) == ["x"]


def test_a_client_that_vanishes_after_its_request_leaves_a_whole_object_or_none(server: Server) -> None:
    for number in range(20):
        body = orjson.dumps({"metadata": {"name": f"gone-{number}"}, "data": {"a": "b"}})
        with server.socket() as connection:
            connection.sendall(post(body))
    server.check_healthy()
    for item in server.request("GET", f"{CONFIG_MAPS}?fieldSelector=metadata.name!=x").body["items"]:
        assert item["data"] == {"a": "b"}
        assert item["metadata"]["uid"]
        assert server.request("DELETE", f"{CONFIG_MAPS}/{item['metadata']['name']}").code == 200


def test_watchers_that_vanish_are_forgotten(server: Server) -> None:
    for _ in range(50):
        with server.socket() as connection:
            connection.sendall(f"GET {CONFIG_MAPS}?watch=true HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert connection.recv(200).startswith(b"HTTP/1.1 200")
    for number in range(5):
        answer = server.request(
            "PATCH", f"{CONFIG_MAPS}/x", {"data": {"n": str(number)}}, {"Content-Type": "application/merge-patch+json"}
        )
        server.check(answer)
    deadline_s = time.monotonic() + PATIENCE_S
    while watchers(server) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert watchers(server) == 0
    server.check_healthy()


def watchers(server: Server) -> int:
    """How many watches the server says it serves."""
    metrics = str(server.request("GET", "/metrics").body)
    lines = [line for line in metrics.splitlines() if line.startswith("apiserver_longrunning_requests{")]
    return int(sum(float(line.rpartition(" ")[2]) for line in lines if 'verb="WATCH"' in line and "configmaps" in line))
