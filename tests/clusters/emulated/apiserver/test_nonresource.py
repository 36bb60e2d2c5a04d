"""What is no resource, asked as load balancers, browsers and curious people ask it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from clusters.emulated.apiserver.request import UserInfo

JANE = UserInfo("jane", groups=("system:authenticated",))


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/index.html", 200),
        ("GET", "/livez/", 404),
        ("GET", "/readyz/", 404),
        ("GET", "/openapi/v2/", 404),
        ("HEAD", "/api", 405),
        ("HEAD", "/apis", 200),
        ("HEAD", "/apis/apps/v1", 405),
        ("POST", "/openid/v1/jwks", 405),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x", 404),
        ("GET", "/version/", 200),
    ],
)
def test_paths_and_methods(on_server: Callable[..., Any], method: str, path: str, code: int) -> None:
    async def scenario(ask: Any) -> Any:
        return await ask(method, path, {} if method == "POST" else None)

    assert on_server(scenario).status == code


@pytest.mark.parametrize(
    ("path", "accept", "message"),
    [
        (
            "/openid/v1/jwks",
            "application/json",
            "406: Not Acceptable\n\nAvailable representations: application/jwk-set+json",
        ),
        ("/version", "text/plain", "406: Not Acceptable\n\nAvailable representations: application/json"),
        (
            "/api/v1",
            "text/plain",
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf",
        ),
        (
            "/apis",
            "application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList",
            "only the following media types are accepted: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf",
        ),
    ],
)
def test_forms_that_there_are_not(on_server: Callable[..., Any], path: str, accept: str, message: str) -> None:
    async def scenario(ask: Any) -> Any:
        return await ask("GET", path, accept=accept)

    answer = on_server(scenario)
    assert (answer.status, json.loads(answer.body)["message"]) == (406, message)


def test_the_order_of_the_checks(on_server: Callable[..., Any]) -> None:
    async def scenario(ask: Any) -> list[str]:
        return [(await ask("GET", f"/{name}?verbose")).body.decode() for name in ("livez", "healthz", "readyz")]

    livez, healthz, readyz = on_server(scenario)
    assert livez.startswith("[+]ping ok\n[+]log ok\n[+]loopback-serving-certificate ok\n[+]etcd ok\n[+]poststarthook/")
    assert healthz.splitlines()[:-1] == livez.splitlines()[:-1]
    assert readyz.startswith("[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]etcd-readiness ok\n[+]informer-sync ok\n")


def test_a_refusal_is_never_taken_for_a_page(on_server: Callable[..., Any]) -> None:
    async def scenario(ask: Any) -> list[Any]:
        return [
            await ask("GET", "/api/v1/pods", user=JANE),
            await ask("GET", "/api/v1/pods", user=JANE, impersonate_user="bob"),
        ]

    for answer in on_server(scenario):
        assert answer.status == 403
        assert ("X-Content-Type-Options", "nosniff") in answer.headers


@pytest.mark.parametrize(("query", "indented"), [("pretty=x", False), ("pretty=1", True), ("pretty", False)])
def test_indented_only_where_it_is_asked_for(on_server: Callable[..., Any], query: str, indented: bool) -> None:
    async def scenario(ask: Any) -> Any:
        return await ask("GET", f"/api/v1/namespaces/default?{query}")

    assert (b"\n  " in on_server(scenario).body) is indented


def test_a_semicolon_separates_nothing(on_server: Callable[..., Any]) -> None:
    async def scenario(ask: Any) -> Any:
        return json.loads((await ask("GET", "/api/v1/namespaces?limit=1;b=2")).body)

    assert len(on_server(scenario)["items"]) == 4
