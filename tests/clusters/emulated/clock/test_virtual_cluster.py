"""A cluster in virtual time, seen from inside and from outside."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from clusters.emulated.clock import VirtualClock
from clusters.emulated.cluster import EmulatedCluster
from clusters.emulated.control_plane import ControlPlaneOptions


def test_objects_carry_virtual_times() -> None:
    with EmulatedCluster(clock="virtual") as cluster:
        assert isinstance(cluster.clock, VirtualClock)
        cluster.clock.advance(90)
        created = cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
        assert created["metadata"]["creationTimestamp"] == "2026-01-01T00:01:30Z"
        default = cluster.api.get("/api/v1/namespaces/default")
        assert default["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"


def test_a_request_that_hangs_times_out_in_no_time() -> None:
    with EmulatedCluster(clock="virtual") as cluster:
        began_s = time.monotonic()
        with cluster.levers.store.freeze():
            answer = cluster.api.request("GET", "/api/v1/namespaces/default")
        assert answer.code in (500, 504)
        assert cluster.clock.monotonic_s() > 5
        assert time.monotonic() - began_s < 5


def test_waiting_for_something_stored() -> None:
    with EmulatedCluster(clock="virtual") as cluster:

        async def later() -> None:
            cluster.clock.call_later(42, store)

        def store() -> None:
            from clusters.emulated.client.blocking import ADMIN
            from clusters.emulated.client.inprocess_api import InProcessApi
            from clusters.emulated.client.resources import NAMESPACES

            api = InProcessApi(cluster.plane.handler, ADMIN, "test")
            tasks.append(cluster.plane.clock.loop.create_task(api.create(NAMESPACES, {"metadata": {"name": "late"}})))  # type: ignore[attr-defined]

        tasks: list[object] = []
        cluster.run(later())
        names = lambda: [item["metadata"]["name"] for item in cluster.api.get("/api/v1/namespaces")["items"]]  # noqa: E731
        cluster.wait_until(lambda: "late" in names(), within_s=60)
        assert cluster.clock.monotonic_s() == 42


def test_requests_over_https_see_frozen_time() -> None:
    with EmulatedCluster(clock="virtual") as cluster:
        get = https_getter(cluster)
        cluster.clock.advance(3600)  # type: ignore[attr-defined]
        answer, date = get("/api/v1/namespaces/default")
        assert answer["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
        assert date == "Thu, 01 Jan 2026 01:00:00 GMT"
        assert get("/version")[1] == date


def test_requests_over_https_are_answered_while_time_flies() -> None:
    with EmulatedCluster(clock="virtual") as cluster:
        get = https_getter(cluster)
        answered = threading.Event()

        def ask() -> None:
            for _ in range(5):
                get("/version")
            answered.set()

        asking = threading.Thread(target=ask)
        asking.start()
        while not answered.is_set():
            cluster.clock.advance(3600)  # type: ignore[attr-defined]
        asking.join()


def test_a_client_in_the_middle_of_a_request_holds_time(tmp_path: Path) -> None:
    clock = VirtualClock(io_patience_s=30)
    with EmulatedCluster(clock=clock) as cluster:
        _ = cluster.kubeconfig
        tls = ssl.create_default_context(cadata=cluster.plane.pki.ca.certificate_pem.decode())
        raw = socket.create_connection(("127.0.0.1", cluster.plane.listeners[0].port))
        with tls.wrap_socket(raw, server_hostname="127.0.0.1") as client:
            client.sendall(b"GET /version HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            timer = threading.Timer(0.2, client.sendall, (b"\r\n",))
            timer.start()
            clock.advance(1000)
            assert b"Date: Thu, 01 Jan 2026 00:00:00 GMT" in client.recv(65536)
            timer.join()


def test_writes_to_a_real_disk_hold_time(tmp_path: Path) -> None:
    options = ControlPlaneOptions(data_dir=tmp_path / "cluster")
    with EmulatedCluster(options, clock="virtual") as cluster:
        for number in range(5):
            cluster.api.create("/api/v1/namespaces", {"metadata": {"name": f"n{number}"}})
        assert cluster.clock.monotonic_s() == 0


def test_a_real_etcd_does_not_go_with_virtual_time() -> None:
    with pytest.raises(ValueError, match="real etcd lives in real time"):
        EmulatedCluster(ControlPlaneOptions(store="etcd"), clock="virtual")


def https_getter(cluster: EmulatedCluster):  # type: ignore[no-untyped-def]
    """GET with the admin's certificate, from another thread and in real time."""
    directory = cluster.kubeconfig.parent
    admin = cluster.plane.pki.admin
    (directory / "admin.pem").write_bytes(admin.certificate_pem + admin.key_pem)
    tls = ssl.create_default_context(cadata=cluster.plane.pki.ca.certificate_pem.decode())
    tls.load_cert_chain(directory / "admin.pem")

    def get(path: str) -> tuple[dict[str, object], str]:
        with urllib.request.urlopen(cluster.plane.server_url + path, context=tls) as answer:
            return json.load(answer), answer.headers["Date"]

    return get
