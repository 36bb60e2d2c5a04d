"""The servers that are measured, each in a process of its own: `kaput up`, and a real etcd + kube-apiserver.

The real one is found on PATH, in KUBEBUILDER_ASSETS or in `--assets DIR`; without it only our own figures are
printed, beside the reference figures of a machine of this size.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from clusters.emulated.clock.clock import RealClock
from clusters.emulated.transport.pki import Pki

READY_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Server:
    """A running api-server: where it is, how to get in, how long it took to be ready, its process."""

    name: str
    url: str
    tls: ssl.SSLContext
    start_s: float
    pid: int

    def rss_mb(self) -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise RuntimeError(f"no VmRSS of process {self.pid}")


def find_real(assets: str | None) -> tuple[str, str] | None:
    """(etcd, kube-apiserver), or None."""
    places = [place for place in (assets, os.environ.get("KUBEBUILDER_ASSETS")) if place]
    path = os.pathsep.join([*places, str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    etcd, apiserver = shutil.which("etcd", path=path), shutil.which("kube-apiserver", path=path)
    return (etcd, apiserver) if etcd and apiserver else None


@contextmanager
def emulated() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="kaput-bench-") as folder:
        config = Path(folder) / "kubeconfig"
        port = _free_port()
        command = [sys.executable, "-m", "harness.cli", "up", "--port", str(port), "--kubeconfig", str(config)]
        began_s = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                if not process.stdout.readline():
                    raise RuntimeError("`kaput up` ended before it was ready")
                start_s = time.perf_counter() - began_s
                yield Server("kaput", f"https://127.0.0.1:{port}", _from_kubeconfig(config), start_s, process.pid)
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=30)


@contextmanager
def real(etcd: str, apiserver: str) -> Iterator[Server]:
    """A real control plane on free loopback ports, with certificates of our own making."""
    with tempfile.TemporaryDirectory(prefix="kaput-bench-") as name:
        folder = Path(name)
        pki = Pki.create(RealClock().now_s())
        for file, content in {
            "ca.crt": pki.ca.certificate_pem,
            "server.crt": pki.serving.certificate_pem,
            "server.key": pki.serving.key_pem,
            "sa.key": pki.service_account.private_pem,
            "sa.pub": pki.service_account.public_pem,
        }.items():
            (folder / file).write_bytes(content)
        client, peer, port = _free_port(), _free_port(), _free_port()
        began_s = time.perf_counter()
        log = folder / "apiserver.log"
        with (
            _process(_etcd_command(etcd, folder, client, peer), folder / "etcd.log"),
            _process(_apiserver_command(apiserver, folder, client, port), log) as pid,
        ):
            tls = pki.client_context(pki.admin)
            _wait_ready(f"https://127.0.0.1:{port}/readyz", tls, log)
            start_s = time.perf_counter() - began_s
            yield Server("real", f"https://127.0.0.1:{port}", tls, start_s, pid)


def _etcd_command(etcd: str, folder: Path, client: int, peer: int) -> list[str]:
    client_url, peer_url = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    return [
        etcd, "--data-dir", str(folder / "etcd"), "--listen-client-urls", client_url,
        "--advertise-client-urls", client_url, "--listen-peer-urls", peer_url,
        "--initial-advertise-peer-urls", peer_url, "--initial-cluster", f"default={peer_url}",
    ]  # fmt: skip


def _apiserver_command(apiserver: str, folder: Path, etcd_port: int, port: int) -> list[str]:
    return [
        apiserver, f"--etcd-servers=http://127.0.0.1:{etcd_port}", f"--secure-port={port}",
        "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
        f"--tls-cert-file={folder}/server.crt", f"--tls-private-key-file={folder}/server.key",
        f"--client-ca-file={folder}/ca.crt", f"--service-account-key-file={folder}/sa.pub",
        f"--service-account-signing-key-file={folder}/sa.key",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        "--service-cluster-ip-range=10.96.0.0/12", "--authorization-mode=Node,RBAC",
        f"--cert-dir={folder}",
    ]  # fmt: skip


@contextmanager
def _process(command: list[str], log: Path) -> Iterator[int]:
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            yield process.pid
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_ready(url: str, tls: ssl.SSLContext, log: Path) -> None:
    give_up_s = time.perf_counter() + READY_TIMEOUT_S
    while time.perf_counter() < give_up_s:
        try:
            with urllib.request.urlopen(url, context=tls, timeout=5) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    raise RuntimeError(f"{url} was not ready after {READY_TIMEOUT_S:.0f} s; see {log.read_text()[-2000:]}")


def _from_kubeconfig(path: Path) -> ssl.SSLContext:
    import base64

    import yaml

    config = yaml.safe_load(path.read_text())
    user, cluster = config["users"][0]["user"], config["clusters"][0]["cluster"]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    with tempfile.NamedTemporaryFile() as pair:  # The ssl module loads a client certificate from files only.
        pair.write(base64.b64decode(user["client-certificate-data"]))
        pair.write(base64.b64decode(user["client-key-data"]))
        pair.flush()
        context.load_cert_chain(pair.name)
    return context


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
