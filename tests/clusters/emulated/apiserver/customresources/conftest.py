"""Definitions of custom resources, and instances of them, on an api-server of their own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

import pytest

from clusters.emulated.apiserver.http import Headers, HttpRequest, HttpResponse
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.apiserver.server import ApiServer
from clusters.emulated.control_plane import ControlPlane

Object = dict[str, Any]
T = TypeVar("T")

GROUP = "shop.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ADMIN = UserInfo("admin", groups=("system:masters", "system:authenticated"))
_CONTENT_TYPES = {"merge": "application/merge-patch+json", "apply": "application/apply-patch+yaml"}


def definition(plural: str, kind: str, *versions: Object, **spec: Any) -> Object:
    """A definition; without versions it has a v1 that keeps everything."""
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    found = list(versions) or [version("v1", free)]
    names = {"plural": plural, "kind": kind, **spec.pop("names", {})}
    whole = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": found, **spec}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": whole,
    }


def version(name: str, schema: Object, *, storage: bool = True, **more: Any) -> Object:
    return {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}, **more}


def spec_schema(**properties: Object) -> Object:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


class Shop:
    """The api-server as a plain function: `shop("GET", path)` gives (code, document)."""

    def __init__(self, plane: ControlPlane, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self.plane = plane
        self.server: ApiServer = plane.replicas[0]
        self.run = run
        self.warnings: list[str] = []

    def __call__(self, method: str, target: str, body: Any = None, content: str = "", **headers: str) -> Any:
        path, _, query = target.partition("?")
        pairs = [("accept", "application/json"), ("user-agent", "tests")]
        if body is not None:
            pairs.append(("content-type", _CONTENT_TYPES.get(content, "application/json")))
        pairs = [pair for pair in pairs if pair[0] not in headers] + list(headers.items())
        data = b"" if body is None else json.dumps(body).encode()
        request = HttpRequest(method, target, path, query, Headers(pairs), data, identity=ADMIN)
        response: HttpResponse = self.run(self.server(request))
        self.warnings = [value for name, value in response.headers if name == "Warning"]
        text = response.body.decode()
        return response.status, json.loads(text) if text.startswith(("{", "[")) else text

    def define(self, crd: Object) -> Object:
        """Creates a definition and waits until it has settled."""
        code, answer = self("POST", DEFINITIONS, crd)
        assert code == 201, answer
        self.settle()
        return self.definition(crd["spec"]["names"]["plural"])

    def definition(self, plural: str) -> Object:
        _, found = self("GET", f"{DEFINITIONS}/{plural}.{GROUP}")
        return found  # type: ignore[no-any-return]

    def conditions(self, plural: str) -> dict[str, tuple[str, str, str]]:
        found = self.definition(plural)["status"]["conditions"]
        return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}

    def settle(self) -> None:
        async def a_while() -> None:
            for _ in range(50):
                await asyncio.sleep(0)
            await self.server.custom_resources.settle()

        self.run(a_while())

    def path(self, plural: str, api_version: str = "v1") -> str:
        return f"/apis/{GROUP}/{api_version}/namespaces/default/{plural}"

    def make(self, plural: str, kind: str, name: str, api_version: str = "v1", **content: Any) -> Any:
        body = {"apiVersion": f"{GROUP}/{api_version}", "kind": kind, "metadata": {"name": name}, **content}
        return self("POST", self.path(plural, api_version), body)


@pytest.fixture
def shop() -> Iterator[Shop]:
    with asyncio.Runner() as runner:
        plane = ControlPlane()
        runner.run(plane.start())
        try:
            yield Shop(plane, runner.run)
        finally:
            runner.run(plane.stop())
