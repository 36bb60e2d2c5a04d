"""Answers to `/openapi/v2`, `/openapi/v3` and below.

A document is built when it is first asked for. Its hash is over what it is built from, so that the index, which
kubectl asks for before every command, costs no document.
"""

from __future__ import annotations

import hashlib
import zlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.openapi import custom
from clusters.emulated.apiserver.openapi.definitions import Definitions, published
from clusters.emulated.apiserver.openapi.fixed import fixed_documents, fixed_paths
from clusters.emulated.apiserver.openapi.operations import paths_of
from clusters.emulated.apiserver.openapi.schemas import Schemas
from clusters.emulated.apiserver.openapi.swagger import v2_path_item
from clusters.emulated.apiserver.registry.resources import Resource
from clusters.emulated.apiserver.request import Request

if TYPE_CHECKING:
    from clusters.emulated.apiserver.server import ApiServer

Object = dict[str, Any]

_YEAR_S = 365 * 24 * 3600
_JSON = "application/json"
_V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_JSON_FORMS = frozenset(("application/json", "application/*", "*/*", "application/vnd.kubernetes.json"))
_SECURITY = {
    "type": "apiKey", "description": "Bearer Token authentication", "name": "authorization", "in": "header",
}  # fmt: skip


class OpenApi:
    """The documents of one api-server, kept until the set of resources changes."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._version: str = server.options.version
        self._definitions = Definitions(self._version, server.catalogue)
        self._parameters: dict[str, list[str]] = published(self._version)["parameters"]
        self._built_for = -1
        self._built_at_s = 0.0
        self._by_version: dict[tuple[str, str], list[Resource]] = {}
        self._custom: dict[str, Object] = {}
        self._custom_names: dict[tuple[str, str, str], str] = {}
        self._hashes: dict[str, str] = {}
        self._documents: dict[str, bytes] = {}
        self._returns_deleted: frozenset[tuple[str, str]] = frozenset()

    @staticmethod
    def of(server: ApiServer) -> OpenApi:
        """The documents of this server; built on first use, because most clusters are never asked."""
        found = server.nonresource.openapi
        if found is None:
            found = server.nonresource.openapi = OpenApi(server)
        return found

    def answer(self, request: Request) -> HttpResponse:
        self._refresh()
        path = request.info.path
        if path == "/openapi/v2":
            return self._v2(request)
        if not path.startswith("/openapi/v3"):
            return respond.page_not_found(request)
        if path == "/openapi/v3":
            return self._index(request)
        return self._v3(request, path.removeprefix("/openapi/v3/"))

    # Answers

    def _index(self, request: Request) -> HttpResponse:
        paths = {name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={self._hashes[name]}"} for name in self._hashes}
        headers = self._headers(request, "text/plain; charset=utf-8")
        headers.append(("Last-Modified", self._last_modified()))
        return HttpResponse(200, headers, orjson.dumps({"paths": paths}))

    def _v3(self, request: Request, name: str) -> HttpResponse:
        known = self._hashes.get(name)
        if known is None:
            return HttpResponse(404, request.response_headers)
        if not _accepts_json(request):
            return HttpResponse(406, [*request.response_headers, ("Vary", "Accept")])
        headers = [*self._headers(request, "application/json"), ("Etag", f'"{known}"'), ("Vary", "Accept")]
        wanted = request.parameter("hash")
        if wanted and wanted != known:
            location = ("Location", f"/openapi/v3/{name}?hash={known}")
            return HttpResponse(301, [*headers[1:], location])
        if wanted:
            expires = datetime.fromtimestamp(self._server.clock.now_s() + _YEAR_S, UTC)
            headers = [each for each in headers if each[0] != "Cache-Control"]
            headers += [
                ("Cache-Control", "public, immutable"),
                ("Expires", expires.strftime("%a, %d %b %Y %H:%M:%S UTC")),
            ]
        return self._content(request, headers, f'"{known}"', self._document(name))

    def _v2(self, request: Request) -> HttpResponse:
        vary = [("Vary", "Accept-Encoding"), ("Vary", "Accept")]
        form = _v2_form(request)
        if not form:
            return HttpResponse(406, [*request.response_headers, *vary])
        etag = f'"{self._hashes_of_all()}"'
        headers = [*self._headers(request, form), ("Etag", etag), *vary]
        body = self._v2_body(form)
        if "gzip" in (request.http.headers.get("accept-encoding") or ""):
            packed = self._documents.get(f"{form}+gzip")
            if packed is None:
                compressor = zlib.compressobj(6, zlib.DEFLATED, 31)
                packed = self._documents[f"{form}+gzip"] = compressor.compress(body) + compressor.flush()
            headers.append(("Content-Encoding", "gzip"))
            body = packed
        return self._content(request, headers, etag, body)

    def _v2_body(self, form: str) -> bytes:
        body = self._documents.get(form)
        if body is None:
            if form == _JSON:
                body = orjson.dumps(self._swagger())
            else:
                from clusters.emulated.apiserver.openapi import swagger_protobuf

                body = swagger_protobuf.encode(self._swagger())
            self._documents[form] = body
        return body

    def _content(self, request: Request, headers: list[tuple[str, str]], etag: str, body: bytes) -> HttpResponse:
        if request.http.headers.get("if-none-match") == etag:
            kept = [each for each in headers if each[0] not in ("Content-Type", "Accept-Ranges", "Content-Encoding")]
            return HttpResponse(304, kept)
        return HttpResponse(200, [*headers, ("Last-Modified", self._last_modified())], body)

    @staticmethod
    def _headers(request: Request, content_type: str) -> list[tuple[str, str]]:
        return [("Accept-Ranges", "bytes"), *request.response_headers, ("Content-Type", content_type)]

    def _last_modified(self) -> str:
        return datetime.fromtimestamp(self._built_at_s, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")

    # Building

    def _refresh(self) -> None:
        registry = self._server.registry
        if self._built_for == registry.generation:
            return
        self._built_for = registry.generation
        self._built_at_s = self._server.clock.now_s()
        self._documents.clear()
        self._custom.clear()
        self._custom_names.clear()
        self._by_version = {}
        for resource in registry.resources():
            self._by_version.setdefault((resource.group, resource.version), []).append(resource)
        for served in registry:
            schema_of = getattr(served, "openapi_schema", None)
            if schema_of is not None:
                self._add_custom(served.resource, schema_of())
        self._returns_deleted = frozenset(
            (each.resource.group, each.resource.plural) for each in registry if each.returns_deleted_object
        )
        groups = sorted({resource.group for resource in registry.built_in})
        names = fixed_documents(groups)
        names += [f"apis/{group}/{version}" if group else f"api/{version}" for group, version in self._by_version]
        self._hashes = {name: self._hash(name) for name in sorted(names)}

    def _add_custom(self, resource: Resource, schema: Object | None) -> None:
        self._custom |= custom.schemas_of(resource, schema)
        for kind in (resource.kind, resource.list_kind):
            key = (resource.group, resource.version, kind)
            self._custom_names[key] = custom.schema_name(resource, kind)

    def _hash(self, name: str) -> str:
        digest = hashlib.sha512(f"{self._version}/{name}".encode())
        for resource in self._by_version.get(_group_version(name), ()):
            digest.update(repr(resource).encode())
            schema = self._custom.get(custom.schema_name(resource, resource.kind))
            if schema is not None:
                digest.update(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS))
        return digest.hexdigest().upper()

    def _hashes_of_all(self) -> str:
        return hashlib.sha512("".join(self._hashes.values()).encode()).hexdigest().upper()

    def _schemas(self, name: str, *, v2: bool = False) -> Schemas:
        return Schemas(
            self._definitions,
            self._parameters,
            group_version=_group_version(name),
            returns_deleted=self._returns_deleted,
            custom=self._custom,
            custom_names=self._custom_names,
            v2=v2,
        )

    def _paths(self, name: str, schemas: Schemas) -> dict[str, Object]:
        resources = self._by_version.get(_group_version(name))
        return fixed_paths(name, schemas) if resources is None else paths_of(resources, schemas)

    def _document(self, name: str) -> bytes:
        body = self._documents.get(name)
        if body is None:
            schemas = self._schemas(name)
            paths = self._paths(name, schemas)
            used = schemas.used()
            components: Object = {"schemas": used} if used else {}
            info = {"title": "Kubernetes", "version": self._version}
            if any(key[:2] == _group_version(name) for key in self._custom_names):
                info = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
            else:
                components["securitySchemes"] = {"BearerToken": _SECURITY}
            document = {"openapi": "3.0.0", "info": info, "paths": paths, "components": components}
            body = self._documents[name] = orjson.dumps(document)
        return body

    def _swagger(self) -> Object:
        schemas = self._schemas("", v2=True)
        paths: dict[str, Object] = {}
        for name in self._hashes:
            paths |= self._paths(name, schemas)
        return {
            "swagger": "2.0",
            "info": {"title": "Kubernetes", "version": self._version},
            "paths": {path: v2_path_item(paths[path]) for path in sorted(paths)},
            "definitions": schemas.used(),
            "securityDefinitions": {"BearerToken": _SECURITY},
            "security": [{"BearerToken": []}],
        }


def _group_version(name: str) -> tuple[str, str]:
    """`apis/apps/v1` is ("apps", "v1"), `api/v1` is ("", "v1"); other documents are of no group version."""
    parts = name.split("/")
    if parts[0] == "api" and len(parts) == 2:
        return "", parts[1]
    return (parts[1], parts[2]) if parts[0] == "apis" and len(parts) == 3 else ("", "")


def _accepts_json(request: Request) -> bool:
    return any(each in _JSON_FORMS for each in _accepted(request))


def _v2_form(request: Request) -> str:
    """What client-go asks for is protobuf, under a name with an `@`; everybody else wants JSON."""
    for each in _accepted(request):
        if each in _JSON_FORMS:
            return _JSON
        if each.replace("@", ".") == _V2_PROTOBUF:
            return _V2_PROTOBUF
    return ""


def _accepted(request: Request) -> list[str]:
    accept = request.http.headers.get("accept") or "*/*"
    return [clause.partition(";")[0].strip() for clause in accept.split(",")]
