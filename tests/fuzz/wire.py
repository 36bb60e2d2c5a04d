"""The server as a socket: requests that http.client would refuse to send, and what comes back within a bounded time."""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml

#: No answer takes longer than this; a server that needs more hangs.
PATIENCE_S = 15.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One response. `body` is decoded where it is JSON, else the text."""

    code: int
    media_type: str
    body: Any


class Server:
    """Where it is, who we are to it, and what it complained about."""

    def __init__(self, kubeconfig: Path, directory: Path, complaints: list[str]) -> None:
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        host, _, port = cluster["server"].removeprefix("https://").partition(":")
        self.address = (host, int(port))
        self.tls = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        pem = directory / "client.pem"
        pem.write_bytes(b"".join(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")))
        self.tls.load_cert_chain(pem)
        self.complaints = complaints
        self._connection: http.client.HTTPSConnection | None = None

    @contextmanager
    def socket(self) -> Iterator[ssl.SSLSocket]:
        with (
            socket.create_connection(self.address, PATIENCE_S) as plain,
            self.tls.wrap_socket(plain, server_hostname=self.address[0]) as secure,
        ):
            yield secure

    def raw(self, data: bytes) -> bytes:
        """Sends these bytes and nothing more; returns all that comes until the server closes or our side is heard."""
        received = b""
        with self.socket() as connection:
            try:
                connection.sendall(data)
                while chunk := connection.recv(65536):
                    received += chunk
            except (ConnectionError, ssl.SSLError):
                return received  # Closed in our face, which is an answer.
        return received

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(*self.address, context=self.tls, timeout=PATIENCE_S)

    def request(self, method: str, target: str, body: object = None, headers: dict[str, str] | None = None) -> Answer:
        """One request on a connection that is kept. Bytes are sent as they are, anything else as JSON."""
        data = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
        given = {"Content-Type": "application/json"} | (headers or {})
        for last in (False, True):
            if self._connection is None:
                self._connection = self.connect()
            try:
                self._connection.request(method, target, data, given)
                response = self._connection.getresponse()
                content = response.read()
            except TimeoutError as error:
                self._close()
                raise AssertionError(f"no answer within {PATIENCE_S:g} s to {method} {target} {data!r}") from error
            except (http.client.RemoteDisconnected, ConnectionError, ssl.SSLError):
                self._close()
                if last:
                    raise
                continue
            media_type = response.headers.get_content_type()
            return Answer(response.status, media_type, _decoded(content, media_type))
        raise AssertionError("unreachable")

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def check(self, answer: Answer) -> None:
        """What every answer must be: a success, or a Status that says the same as the code, and nobody was surprised.

        Kubernetes answers 500 to a few wrong requests itself; what it did not foresee is in the log.
        """
        self.check_calm()
        if answer.code >= 400 and answer.media_type == "application/json":
            assert answer.body["kind"] == "Status", answer
            assert answer.body["status"] == "Failure", answer
            assert answer.body["code"] == answer.code, answer
            assert "unexpected error" not in answer.body.get("message", ""), answer
        assert answer.code < 500 or answer.code == 504 or answer.media_type == "application/json", answer

    def check_healthy(self) -> None:
        assert self.request("GET", "/readyz") == Answer(200, "text/plain", "ok")
        self.check_calm()

    def check_calm(self) -> None:
        """Each surprise is told once, by the example that caused it."""
        complaints = list(self.complaints)
        self.complaints.clear()
        assert not complaints, "\n".join(complaints)


def _decoded(content: bytes, media_type: str) -> Any:
    return orjson.loads(content) if media_type == "application/json" and content else content.decode(errors="replace")
