"""The verbs of `client.api.Api` as requests and answers; what carries them is for the subclass to say.

A transport has to be able to do two things: exchange a request for a whole answer, and follow a stream.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson

from clusters.emulated.client.api import Object, ObjectList, PatchType, WatchEvent
from clusters.emulated.client.errors import ApiFailure, failure
from clusters.emulated.client.resources import Resource

_JSON: Final = "application/json"
_PATCH_MEDIA: Final[dict[PatchType, str]] = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class RestApi:
    """Implements `Api` over `exchange` and `stream`."""

    async def exchange(self, method: str, target: str, body: bytes, content_type: str) -> tuple[int, bytes]:
        """Sends a request; the status and the whole body of its answer. Raises `Unreachable` if there is none."""
        raise NotImplementedError

    def stream(self, target: str) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """The chunks of a GET; raises what `failure` makes of an error, `Unreachable` when the stream is cut."""
        raise NotImplementedError

    # Reading

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        return await self._object("GET", _path(resource, namespace, name))

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> ObjectList:
        query = {
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "resourceVersion": resource_version,
            "limit": str(limit) if limit else "",
            "continue": continue_token,
        }
        found = await self._object("GET", _path(resource, namespace) + _query(query))
        items: list[Object] = found.get("items") or []
        api_version, kind = resource.api_version, resource.kind
        for item in items:
            # Items of a list carry no type; informers and references need one, as a watch event has it.
            item.setdefault("apiVersion", api_version)
            item.setdefault("kind", kind)
        metadata = found.get("metadata") or {}
        return ObjectList(items, metadata.get("resourceVersion", ""), metadata.get("continue", ""))

    @asynccontextmanager
    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timeout_s: int | None = None,
        bookmarks: bool = True,
    ) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        query = {
            "watch": "true",
            "resourceVersion": resource_version,
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "timeoutSeconds": "" if timeout_s is None else str(timeout_s),
            "allowWatchBookmarks": "true" if bookmarks else "",
        }
        async with self.stream(_path(resource, namespace) + _query(query)) as chunks:
            yield _events(chunks)

    # Writing

    async def create(
        self, resource: Resource, obj: Object, namespace: str = "", *, name: str = "", subresource: str = ""
    ) -> Object:
        namespace = namespace or obj.get("metadata", {}).get("namespace", "")
        return await self._object("POST", _path(resource, namespace, name, subresource), obj)

    async def update(self, resource: Resource, obj: Object, *, subresource: str = "") -> Object:
        metadata = obj["metadata"]
        path = _path(resource, metadata.get("namespace", ""), metadata["name"], subresource)
        return await self._object("PUT", path, obj)

    async def patch(
        self,
        resource: Resource,
        name: str,
        change: object,
        namespace: str = "",
        *,
        type: PatchType = "merge",
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
    ) -> Object:
        query = {"fieldManager": field_manager, "force": "true" if force else ""}
        target = _path(resource, namespace, name, subresource) + _query(query)
        return await self._object("PATCH", target, change, _PATCH_MEDIA[type])

    async def delete(self, resource: Resource, name: str, namespace: str = "", options: Object | None = None) -> Object:
        return await self._object("DELETE", _path(resource, namespace, name), options)

    async def delete_collection(self, resource: Resource, namespace: str = "", options: Object | None = None) -> None:
        await self._object("DELETE", _path(resource, namespace), options)

    async def document(self, path: str) -> Object:
        return await self._object("GET", path)

    async def _object(self, method: str, target: str, body: object = None, content_type: str = _JSON) -> dict[str, Any]:
        data = b"" if body is None else orjson.dumps(body)
        status, answer = await self.exchange(method, target, data, content_type if data else "")
        if status >= 400:
            raise failure_of(status, answer)
        decoded = orjson.loads(answer)
        assert isinstance(decoded, dict), f"{method} {target} was answered with {answer[:200]!r}, not an object"
        return decoded


def failure_of(status: int, body: bytes) -> ApiFailure:
    """The typed failure for an answer of 400 or more, whether its body is a Status or plain text."""
    try:
        decoded = orjson.loads(body)
    except orjson.JSONDecodeError:
        decoded = None
    if isinstance(decoded, dict):
        return failure(status, decoded)
    return failure(status, {}, body.decode("utf-8", "replace").strip())


async def _events(chunks: AsyncIterator[bytes]) -> AsyncIterator[WatchEvent]:
    """Events are lines, which may come in pieces."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk if rest else chunk).split(b"\n")
        for line in lines:
            event = orjson.loads(line)
            if event["type"] == "ERROR":
                status = event["object"]
                raise failure(int(status.get("code") or 500), status)
            yield WatchEvent(event["type"], event["object"])


def _path(resource: Resource, namespace: str = "", name: str = "", subresource: str = "") -> str:
    return resource.path(namespace, name if name.isalnum() else quote(name, safe=":"), subresource)


def _query(parameters: dict[str, str]) -> str:
    given = {name: value for name, value in parameters.items() if value}
    return f"?{urlencode(given)}" if given else ""
