"""An api-server of a fresh control plane, asked in-process without a client in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from clusters.emulated.apiserver.http import Headers, HttpRequest, HttpResponse
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.apiserver.server import ApiServer
from clusters.emulated.control_plane import ControlPlane, ControlPlaneOptions

T = TypeVar("T")
ADMIN = UserInfo("admin", groups=("system:masters", "system:authenticated"))


class Asked:
    """`await asked("GET", "/api/v1/pods", accept="application/yaml")`."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server

    async def __call__(
        self, method: str, target: str, body: Any = None, *, user: UserInfo = ADMIN, **headers: str
    ) -> HttpResponse:
        path, _, query = target.partition("?")
        pairs = [("accept", "application/json")] if "accept" not in headers else []
        if body is not None and "content_type" not in headers:
            pairs.append(("content-type", "application/json"))
        pairs += [(name.replace("_", "-"), value) for name, value in headers.items()]
        content = b"" if body is None else json.dumps(body).encode()
        return await self.server(HttpRequest(method, target, path, query, Headers(pairs), content, identity=user))

    async def document(self, target: str, **headers: str) -> Any:
        response = await self("GET", target, **headers)
        assert response.status == 200, response.body
        return json.loads(response.body)


Scenario = Callable[[Asked], Coroutine[Any, Any, T]]


@pytest.fixture
def on_server() -> Callable[..., Any]:
    """Runs a scenario on a server of its own, and returns what the scenario returns."""

    def run(scenario: Scenario[T], options: ControlPlaneOptions | None = None) -> T:
        async def whole() -> T:
            plane = ControlPlane(options)
            await plane.start()
            try:
                return await scenario(Asked(plane.replicas[0]))
            finally:
                await plane.stop()

        return asyncio.run(whole())

    return run
