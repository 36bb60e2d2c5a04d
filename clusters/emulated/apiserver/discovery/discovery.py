"""Answers to `/api`, `/apis` and below. Documents are rebuilt when the set of resources changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import orjson

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.discovery import documents
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.negotiation import MediaType, negotiate_discovery
from clusters.emulated.apiserver.registry.registry import Registry
from clusters.emulated.apiserver.registry.resources import Resource
from clusters.emulated.apiserver.request import Request

Object = dict[str, Any]
_AGGREGATED = "as=APIGroupDiscoveryList"


class Discovery:
    def __init__(self, registry: Registry, address: Callable[[], str]) -> None:
        self._registry = registry
        self._address = address
        self._built_for = -1
        self._groups: dict[str, dict[str, list[Resource]]] = {}
        self._encoded: dict[str, tuple[bytes, str]] = {}

    def answer(self, request: Request) -> HttpResponse | None:
        """The document for this path, or None when the path is none of discovery's."""
        parts = request.info.path.strip("/").split("/")
        if parts[0] not in ("api", "apis") or len(parts) > 3:
            return None
        self._refresh()
        if len(parts) == 1:
            return self._root(request, parts[0])
        if parts[0] == "api":
            group, version = "", parts[1]
            if len(parts) > 2:
                return None
        else:
            group = parts[1]
            versions = self._groups.get(group)
            if versions is None or not group:
                return None
            if len(parts) == 2:
                return respond.obj(request, 200, documents.group(group, list(versions), whole=True), _media(request))
            version = parts[2]
        resources = self._groups.get(group, {}).get(version)
        if resources is None:
            return None
        group_version = f"{group}/{version}" if group else version
        return respond.obj(request, 200, documents.resource_list(group_version, resources), _media(request))

    def paths(self) -> list[str]:
        """Every discovery path, for the index at `/`."""
        self._refresh()
        found = ["/api", "/api/v1", "/apis", "/apis/"]
        for group, versions in self._groups.items():
            if group:
                found.append(f"/apis/{group}")
                found += [f"/apis/{group}/{version}" for version in versions]
        return found

    def _refresh(self) -> None:
        if self._built_for != self._registry.generation:
            self._built_for = self._registry.generation
            self._groups = documents.by_version(self._registry.resources())
            for (group, version), resources in self._registry.aggregated.items():
                self._groups.setdefault(group, {})[version] = list(resources)
            self._encoded.clear()

    def _root(self, request: Request, prefix: str) -> HttpResponse:
        accept = request.http.headers.get("accept") or ""
        first = accept.partition(",")[0]
        if _AGGREGATED in first and "apidiscovery.k8s.io" in first and ("v=v2;" in first or first.endswith("v=v2")):
            return self._aggregated(request, prefix)
        media = _media(request)
        if prefix == "api":
            return respond.obj(request, 200, documents.api_versions(self._address()), media)
        return respond.obj(request, 200, documents.group_list(self._groups), media)

    def _aggregated(self, request: Request, prefix: str) -> HttpResponse:
        known = self._encoded.get(prefix)
        if known is None:
            body = (
                orjson.dumps(documents.aggregated(self._groups, core=prefix == "api", stale=self._registry.stale))
                + b"\n"
            )
            known = self._encoded[prefix] = (body, f'"{hashlib.sha512(body).hexdigest().upper()}"')
        body, etag = known
        headers = [(name, "public" if name == "Cache-Control" else value) for name, value in request.response_headers]
        headers += [("ETag", etag), ("Vary", "Accept")]
        if request.http.headers.get("if-none-match") == etag:
            return HttpResponse(304, headers)
        content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        return HttpResponse(200, [*headers, ("Content-Type", content_type)], body)


def _media(request: Request) -> MediaType:
    parts = request.info.path.strip("/").split("/")
    # The aggregator answers for the groups itself; everything else is a route of its own.
    routed = parts[0] == "api" or len(parts) == 3
    return negotiate_discovery(request.http.headers.get("accept") or "", routed=routed)
