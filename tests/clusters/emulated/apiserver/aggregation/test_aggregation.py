"""APIServices that name a Service: when they are available, and how requests reach the server behind them."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from clusters.emulated.apiserver.http import Headers, HttpRequest, HttpResponse, StreamWriter
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.control_plane import ControlPlane
from clusters.emulated.transport.https import HttpsServer
from clusters.emulated.transport.inprocess import InProcess
from clusters.emulated.transport.pki import CertificateAuthority

Object = dict[str, Any]

GROUP = "metrics.example.com"
API_SERVICE = f"/apis/apiregistration.k8s.io/v1/apiservices/v1.{GROUP}"
USER = UserInfo(
    "alice", uid="u1", groups=("system:masters", "system:authenticated"), extra={"scopes.example.com/x": ("read",)}
)
RESOURCES = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": f"{GROUP}/v1",
    "resources": [
        {"name": "nodes", "singularName": "node", "namespaced": False, "kind": "NodeMetrics", "verbs": ["get", "list"]}
    ],
}


class Backend:
    """An aggregated api-server: knows its discovery, streams watches, and remembers who asked what."""

    def __init__(self) -> None:
        self.requests: list[HttpRequest] = []
        self.status = 200

    async def __call__(self, http: HttpRequest) -> HttpResponse:
        self.requests.append(http)
        headers = [("Content-Type", "application/json"), ("X-Backend", "yes")]
        if http.path == f"/apis/{GROUP}/v1":
            return HttpResponse(self.status, headers, json.dumps(RESOURCES).encode())
        if "watch=1" in http.query:
            return HttpResponse(200, headers, stream=self._events)
        if http.path == f"/apis/{GROUP}/v1/nodes":
            return HttpResponse(self.status, headers, b'{"kind":"NodeMetricsList","items":[]}')
        return HttpResponse(404, [("Content-Type", "text/plain")], b"404 page not found\n")

    @staticmethod
    async def _events(writer: StreamWriter) -> None:
        for name in ("a", "b"):
            writer.write(json.dumps({"type": "ADDED", "object": {"metadata": {"name": name}}}).encode() + b"\n")
            await asyncio.sleep(0)

    def asked(self, path: str) -> HttpRequest:
        return next(each for each in reversed(self.requests) if each.path == path)


class Plane:
    def __init__(self, plane: ControlPlane, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self.plane = plane
        self.server = plane.replicas[0]
        self.run = run

    def __call__(self, method: str, target: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        path, _, query = target.partition("?")
        pairs = [("accept", "application/json")] if "accept" not in headers else []
        if body is not None:
            kind = "merge-patch+json" if method == "PATCH" else "json"
            pairs.append(("content-type", f"application/{kind}"))
        pairs += list(headers.items())
        data = b"" if body is None else json.dumps(body).encode()
        response = self.run(self.server(HttpRequest(method, target, path, query, Headers(pairs), data, identity=USER)))
        text = response.body.decode()
        return response.status, json.loads(text) if text.startswith("{") else text

    def condition(self) -> tuple[str, str, str]:
        """Available, as it is after everything that is under way."""
        self.run(_settled(self.server.aggregation))
        _, found = self("GET", API_SERVICE)
        (only,) = found["status"]["conditions"]
        return only["status"], only["reason"], only["message"]


async def _settled(aggregation: Any) -> None:
    for _ in range(3):
        await asyncio.sleep(0.01)
        tasks = [task for task in aggregation.remotes.checks if not task.done()]
        if tasks:
            await asyncio.wait(tasks)


@pytest.fixture
def plane() -> Iterator[Plane]:
    with asyncio.Runner() as runner:
        plane = ControlPlane()
        runner.run(plane.start())
        try:
            yield Plane(plane, runner.run)
        finally:
            runner.run(plane.stop())


@pytest.fixture
def authority(plane: Plane) -> CertificateAuthority:
    return CertificateAuthority("aggregated", plane.server.clock.now_s())


@pytest.fixture
def backend(plane: Plane, authority: CertificateAuthority) -> Iterator[Backend]:
    """A server behind the address 10.1.2.3:8443."""
    behind = Backend()
    serving = authority.server("backend", names=["backend.default.svc"])
    trusted = (plane.plane.pki.front_proxy_ca.certificate_pem,)
    listener = HttpsServer(behind, serving.server_context(trusted))
    plane.run(listener.start())
    plane.server.routes.forward("10.1.2.3", 8443, "127.0.0.1", listener.port)
    yield behind
    plane.run(listener.stop())


def register(plane: Plane, authority: CertificateAuthority, **service: Any) -> None:
    spec = {
        "group": GROUP,
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "caBundle": base64.b64encode(authority.certificate_pem).decode(),
        "service": {"namespace": "default", "name": "backend", **service},
    }
    body = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1.{GROUP}"},
        "spec": spec,
    }
    assert plane("POST", "/apis/apiregistration.k8s.io/v1/apiservices", body)[0] == 201


def serve(plane: Plane, *, port_name: str = "https") -> None:
    service = {"clusterIP": "10.96.9.9", "ports": [{"name": "https", "port": 443}]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "backend"}, "spec": service}
    assert plane("POST", "/api/v1/namespaces/default/services", body)[0] == 201
    if port_name:
        endpoints(plane, port_name)


def endpoints(plane: Plane, port_name: str) -> None:
    body = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": f"backend-{port_name}", "labels": {"kubernetes.io/service-name": "backend"}},
        "addressType": "IPv4",
        "ports": [{"name": port_name, "port": 8443}],
        "endpoints": [{"addresses": ["10.1.2.3"]}],
    }
    assert plane("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", body)[0] == 201


def test_the_way_to_a_backend_is_checked_step_by_step(plane: Plane, authority: CertificateAuthority) -> None:
    register(plane, authority, port=444)
    missing = ("False", "ServiceNotFound", 'service/backend in "default" is not present')
    assert plane.condition() == missing
    serve(plane, port_name="")
    wrong_port = ("False", "ServicePortError", 'service/backend in "default" is not listening on port 444')
    assert plane.condition() == wrong_port
    plane("PATCH", API_SERVICE, {"spec": {"service": {"port": 443}}})
    nowhere = ("False", "EndpointsNotFound", 'cannot find endpointslices for service/backend in "default"')
    assert plane.condition() == nowhere
    endpoints(plane, "other")
    text = 'endpointslices for service/backend in "default" have no addresses with port name "https"'
    assert plane.condition() == ("False", "MissingEndpoints", text)


def test_what_is_not_available_answers_503_and_is_stale_in_discovery(
    plane: Plane, authority: CertificateAuthority
) -> None:
    register(plane, authority)
    plane.condition()
    assert plane("GET", f"/apis/{GROUP}/v1/nodes") == (503, "service unavailable\n")
    assert plane("GET", f"/apis/{GROUP}/v1") == (503, "service unavailable\n")
    assert plane("GET", f"/apis/{GROUP}")[1]["preferredVersion"]["version"] == "v1"
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    _, groups = plane("GET", "/apis", accept=aggregated)
    assert groups["items"][-1] == {
        "metadata": {"name": GROUP}, "versions": [{"version": "v1", "freshness": "Stale"}]
    }  # fmt: skip


def test_an_available_backend_is_asked_with_the_users_name(
    plane: Plane, authority: CertificateAuthority, backend: Backend
) -> None:
    serve(plane)
    register(plane, authority)
    assert plane.condition() == ("True", "Passed", "all checks passed")
    code, listed = plane("GET", f"/apis/{GROUP}/v1/nodes?limit=5")
    assert (code, listed["kind"]) == (200, "NodeMetricsList")
    asked = backend.asked(f"/apis/{GROUP}/v1/nodes")
    assert asked.query == "limit=5"
    assert asked.headers.get("x-remote-user") == "alice"
    assert asked.headers.get("x-remote-uid") == "u1"
    assert asked.headers.get_all("x-remote-group") == ["system:masters", "system:authenticated"]
    assert asked.headers.get("x-remote-extra-scopes.example.com%2Fx") == "read"
    assert asked.peer_certificate is not None


def test_the_backends_resources_are_in_discovery(
    plane: Plane, authority: CertificateAuthority, backend: Backend
) -> None:
    serve(plane)
    register(plane, authority)
    plane.condition()
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    _, groups = plane("GET", "/apis", accept=aggregated)
    (version,) = groups["items"][-1]["versions"]
    assert (version["freshness"], [each["resource"] for each in version["resources"]]) == ("Current", ["nodes"])
    assert plane("GET", f"/apis/{GROUP}/v1")[1] == RESOURCES


def test_a_watch_is_passed_on_as_it_comes(plane: Plane, authority: CertificateAuthority, backend: Backend) -> None:
    serve(plane)
    register(plane, authority)
    plane.condition()

    async def watched() -> list[str]:
        target = f"/apis/{GROUP}/v1/nodes?watch=1"
        reply = await InProcess(plane.server).request("GET", target, identity=USER)
        text = b"".join([chunk async for chunk in reply.chunks()])
        return [json.loads(line)["object"]["metadata"]["name"] for line in text.splitlines()]

    assert plane.run(watched()) == ["a", "b"]


def test_a_backend_that_answers_badly(plane: Plane, authority: CertificateAuthority, backend: Backend) -> None:
    backend.status = 500
    serve(plane)
    register(plane, authority)
    url = f"https://10.96.9.9:443/apis/{GROUP}/v1"
    text = f"failing or missing response from {url}: bad status from {url}: 500"
    assert plane.condition() == ("False", "FailedDiscoveryCheck", text)


def test_a_backend_with_the_wrong_certificate(plane: Plane, authority: CertificateAuthority, backend: Backend) -> None:
    serve(plane)
    register(plane, CertificateAuthority("somebody else", plane.server.clock.now_s()))
    status, reason, message = plane.condition()
    assert (status, reason) == ("False", "FailedDiscoveryCheck")
    assert message.endswith("tls: failed to verify certificate: x509: certificate signed by unknown authority")


def test_a_backend_that_nobody_listens_behind(plane: Plane, authority: CertificateAuthority) -> None:
    serve(plane)
    plane.server.routes.forward("10.1.2.3", 8443, "127.0.0.1", 1)
    register(plane, authority)
    url = f"https://10.96.9.9:443/apis/{GROUP}/v1"
    refused = f'Get "{url}": dial tcp 10.96.9.9:443: connect: connection refused'
    assert plane.condition() == ("False", "FailedDiscoveryCheck", f"failing or missing response from {url}: {refused}")


def test_a_deleted_apiservice_is_gone_from_discovery(
    plane: Plane, authority: CertificateAuthority, backend: Backend
) -> None:
    serve(plane)
    register(plane, authority)
    plane.condition()
    assert plane("DELETE", API_SERVICE)[0] == 200
    assert plane("GET", f"/apis/{GROUP}/v1/nodes") == (404, "404 page not found\n")
    assert plane("GET", f"/apis/{GROUP}") == (404, "404 page not found\n")


def test_local_apiservices_are_there_from_the_start(plane: Plane) -> None:
    _, found = plane("GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1.apps")
    assert found["status"]["conditions"][0]["reason"] == "Local"
    assert plane.server.aggregation.remotes is None
