"""`kaput up` as a process, for tests: started, waited for, and never left behind."""

from __future__ import annotations

import http.client
import os
import shlex
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import yaml

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from harness.cli import main; main()", "up")


def run_up(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """For runs that are expected to end by themselves."""
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


class Up:
    """A running `kaput up`; `kubeconfig` is where its ready line points."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.ready_line = process.stdout.readline()
        if not self.ready_line:
            _, errors = process.communicate(timeout=30)
            raise AssertionError(f"kaput up ended with {process.returncode}: {errors}")
        name, _, value = self.ready_line.strip().removeprefix("export ").partition("=")
        assert name == "KUBECONFIG"
        self.kubeconfig = Path(shlex.split(value)[0])
        self.config = yaml.safe_load(self.kubeconfig.read_text())

    @property
    def server(self) -> str:
        url: str = self.config["clusters"][0]["cluster"]["server"]
        return url

    def end(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
        """Exit code, and what else was printed to stdout and stderr."""
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=30)
        return self.process.returncode, output, errors


@contextmanager
def up(*arguments: str) -> Iterator[Up]:
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with process:
        try:
            yield Up(process)
        finally:
            process.kill()


class Client:
    """One keep-alive HTTPS connection with the kubeconfig's certificate, or with a token instead."""

    def __init__(self, config: dict[str, Any], directory: Path, token: str = "") -> None:
        import base64

        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        if not token:
            pem = directory / "client.pem"
            parts = (user["client-certificate-data"], user["client-key-data"])
            pem.write_bytes(b"".join(map(base64.b64decode, parts)))
            tls.load_cert_chain(pem)
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        address = cluster["server"].removeprefix("https://")
        self._connection = http.client.HTTPSConnection(address, context=tls, timeout=30)

    def request(self, method: str, path: str, body: object = None) -> tuple[int, dict[str, Any]]:
        data = None if body is None else orjson.dumps(body)
        self._connection.request(method, path, data, self._headers)
        response = self._connection.getresponse()
        return response.status, orjson.loads(response.read())

    def close(self) -> None:
        self._connection.close()
