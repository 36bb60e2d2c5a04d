"""A webhook server: real HTTPS on loopback, answers by path."""

from __future__ import annotations

import base64
import contextlib
import datetime
import ipaddress
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Reply = tuple[int, str, bytes]
Answer = Callable[[dict[str, Any]], dict[str, Any] | Reply]


def allow(review: dict[str, Any], **fields: Any) -> dict[str, Any]:
    response = {"uid": review["request"]["uid"], "allowed": True, **fields}
    return {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}


def patch(*operations: dict[str, Any]) -> Answer:
    """An answer that allows and patches."""
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return lambda review: allow(review, patchType="JSONPatch", patch=encoded)


def deny(**status: Any) -> Answer:
    return lambda review: allow(review, allowed=False, **({"status": status} if status else {}))


class WebhookServer:
    """`server.answers["/path"] = function of the review`; `server.reviews` is what was asked."""

    def __init__(self, directory: Path) -> None:
        self.answers: dict[str, Answer] = {}
        self.reviews: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.bodies: list[bytes] = []
        self.headers: list[tuple[str, str]] = []
        self.ca_bundle = base64.b64encode(_certificate(directory)).decode()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                review = json.loads(body)
                server.bodies.append(body)
                server.reviews.append(review)
                server.paths.append(self.path)
                answer = server.answers[self.path.partition("?")[0]](review)
                if isinstance(answer, dict):
                    answer = (200, "application/json", json.dumps(answer).encode())
                status, content_type, content = answer
                self.send_response(status)
                for header in server.headers:
                    self.send_header(*header)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                with contextlib.suppress(OSError):  # Whoever asked may be gone: its time was up.
                    self.wfile.write(content)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(directory / "server.pem", directory / "server.key")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def url(self, path: str) -> str:
        return f"https://127.0.0.1:{self.port}{path}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def slowly(self, seconds: float) -> Answer:
        def answer(review: dict[str, Any]) -> dict[str, Any]:
            time.sleep(seconds)
            return allow(review)

        return answer


def _certificate(directory: Path) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webhook")])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName(
        [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("wh.default.svc")]
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    (directory / "server.pem").write_bytes(pem)
    (directory / "server.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return pem


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WebhookServer]:
    server = WebhookServer(tmp_path)
    yield server
    server.close()


class Registrar:
    """Registers webhooks of a configuration with the defaults the api-server gives them."""

    def __init__(self, house: Any, server: WebhookServer) -> None:
        self._house = house
        self._server = server

    def __call__(self, kind: str, *webhooks: dict[str, Any], configuration: str = "config") -> None:
        entries = []
        for webhook in webhooks:
            path = webhook.pop("path", "/ok")
            url = webhook.pop("url", self._server.url(path))
            client = {"url": url, "caBundle": self._server.ca_bundle}
            rule = {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["*"],
                "resources": ["configmaps"],
            }
            entries.append(
                {
                    "name": "w.example.com",
                    "clientConfig": client,
                    "rules": [rule],
                    "failurePolicy": "Fail",
                    "matchPolicy": "Equivalent",
                    "namespaceSelector": {},
                    "objectSelector": {},
                    "sideEffects": "None",
                    "timeoutSeconds": 10,
                    "admissionReviewVersions": ["v1"],
                    **webhook,
                }
            )
        resource = f"{kind}webhookconfigurations.admissionregistration.k8s.io"
        self._house.objects.put(resource, {"metadata": {"name": configuration}, "webhooks": entries})


@pytest.fixture
def register(house: Any, server: WebhookServer) -> Registrar:
    return Registrar(house, server)


@pytest.fixture
def answer() -> Any:
    """The ways to answer: `answer.allow`, `answer.patch(...)`, `answer.deny(...)`."""

    class Ways:
        pass

    ways: Any = Ways()
    ways.allow, ways.patch, ways.deny = allow, patch, deny
    return ways


@pytest.fixture
def config() -> Callable[..., dict[str, Any]]:
    def make(name: str = "cm", **data: str) -> dict[str, Any]:
        metadata = {"name": name, "namespace": "default"}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}

    return make
