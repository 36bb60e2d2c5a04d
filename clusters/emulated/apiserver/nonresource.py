"""Everything that is no resource: discovery, OpenAPI, health, version, metrics, token issuer documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.discovery import Discovery
from clusters.emulated.apiserver.health import Health
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.negotiation import produced
from clusters.emulated.apiserver.request import Request
from clusters.kube import errors

if TYPE_CHECKING:
    from clusters.emulated.apiserver.openapi import OpenApi
    from clusters.emulated.apiserver.server import ApiServer

Object = dict[str, Any]
_ISSUER, _KEYS = "/.well-known/openid-configuration", "/openid/v1/jwks"


class NonResource:
    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.discovery = Discovery(server.registry, lambda: server.address)
        #: Built by `OpenApi.of` when first asked for.
        self.openapi: OpenApi | None = None
        self.health = Health(server.store, server.clock, lambda: server.started)

    async def answer(self, request: Request) -> HttpResponse:
        path = request.info.path
        method = request.http.method
        response: HttpResponse | None
        if path.rstrip("/") == "/version":
            if method != "GET":
                raise errors.generic(405)
            produced(request.http.headers.get("accept") or "", "application/json")
            return self._indented(request, version_info(self.server.options.version))
        if path in ("/", "/index.html"):
            return self._indented(request, {"paths": sorted(self._paths())})
        if path.startswith("/api"):
            response = self.discovery.answer(request)
            if response is not None:
                # The aggregator answers for the groups, and does not look at the method.
                groups = path.startswith("/apis") and path.rstrip("/").count("/") < 3
                if method != "GET" and not groups:
                    raise errors.generic(405)
                return response
            known = path.split("/")[1:3]
            if known[0] == "api" or (len(known) > 1 and self.server.registry.is_built_in(known[1])):
                raise errors.generic(404)
            return respond.page_not_found(request)
        response = await self.health.answer(request)
        if response is None:
            response = self._issuer(request, path) or await self._documents(request, path)
        return response or respond.page_not_found(request)

    async def _documents(self, request: Request, path: str) -> HttpResponse | None:
        if path.startswith("/openapi/"):
            from clusters.emulated.apiserver.openapi import OpenApi  # Most clusters are never asked.

            return OpenApi.of(self.server).answer(request)
        if path in ("/metrics", "/metrics/slis"):
            return await self.server.metrics.answer(self.server, request)
        return None

    def _issuer(self, request: Request, path: str) -> HttpResponse | None:
        """How others verify ServiceAccount tokens."""
        if path not in (_ISSUER, _KEYS):
            return None
        if request.http.method != "GET":
            raise errors.generic(405)
        content_type = "application/json" if path == _ISSUER else "application/jwk-set+json"
        produced(request.http.headers.get("accept") or "", content_type)
        document: Object = self.server.token_keys.jwks()
        if path == _ISSUER:
            issuer = self.server.options.service_account_issuer
            document = {
                "issuer": issuer,
                "jwks_uri": f"https://{self.server.address}/openid/v1/jwks",
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": [self.server.signing_key.algorithm],
            }
        return self._public(request, content_type, document)

    @staticmethod
    def _public(request: Request, content_type: str, document: Object) -> HttpResponse:
        audit = request.response_headers[0]
        headers = [audit, ("Cache-Control", "public, max-age=3600"), ("Content-Type", content_type)]
        return HttpResponse(200, headers, orjson.dumps(document))

    @staticmethod
    def _indented(request: Request, document: Object) -> HttpResponse:
        headers = [*request.response_headers, ("Content-Type", "application/json")]
        return HttpResponse(200, headers, respond.indented(document))

    def _paths(self) -> list[str]:
        fixed = [
            "/.well-known/openid-configuration", "/flagz", "/metrics", "/metrics/slis", "/openapi/v2",
            "/openapi/v3", "/openapi/v3/", "/openid/v1/jwks", "/statusz", "/version",
        ]  # fmt: skip
        return [*fixed, *self.discovery.paths(), *self.health.paths()]


_PATCH_RELEASES = {"1.36": "v1.36.4"}


def version_info(version: str) -> Object:
    major, minor = version.split(".")[:2]
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": _PATCH_RELEASES.get(version, f"v{version}.0"),
        "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "go1.26.8",
        "compiler": "gc",
        "platform": "linux/amd64",
    }
