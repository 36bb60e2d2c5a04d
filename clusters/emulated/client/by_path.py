"""A client in the same process and loop as the api-server: no sockets, the same chain.

Resources are named by their URL. Components use `client.api.Api` instead; this one is below `blocking`:

    api = PathApi(plane.handler, UserInfo("system:node:node-1", groups=("system:nodes", "system:authenticated")))
    node = await api.get("/api/v1/nodes/node-1")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import orjson

from clusters.base import Answer, ApiError
from clusters.emulated.apiserver.http import Handler
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.transport.inprocess import InProcess, InProcessResponse

Object = dict[str, Any]

MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class PathApi:
    """One identity's way to the api-server. `identity` None lets the request's own credentials decide."""

    def __init__(
        self,
        handler: Handler,
        identity: UserInfo | None,
        *,
        headers: Sequence[tuple[str, str]] = (),
        user_agent: str = "kaput",
    ) -> None:
        self.handler = handler
        self._identity = identity
        self._headers = tuple(headers)
        self._user_agent = user_agent
        self._transport = InProcess(handler)

    async def request(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Whatever the api-server answers, also when it refuses."""
        response = await self.open(method, path, body, headers)
        data = b"".join([chunk async for chunk in response.chunks()])
        return answer_of(response, data)

    async def open(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> InProcessResponse:
        """The response as it begins; for streams. Whoever opens one closes it."""
        given = {name.lower() for name in headers or ()}
        sent = [*self._headers, *(headers or {}).items()]
        if "user-agent" not in given:
            sent.append(("User-Agent", self._user_agent))
        if body is not None and "content-type" not in given:
            sent.append(("Content-Type", "application/json"))
        data = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        return await self._transport.request(method, path, sent, data, self._identity)

    async def get(self, path: str) -> Object:
        return await self._object("GET", path)

    async def create(self, path: str, obj: Object) -> Object:
        return await self._object("POST", path, obj)

    async def update(self, path: str, obj: Object) -> Object:
        return await self._object("PUT", path, obj)

    async def patch(self, path: str, change: object, content_type: str = MERGE_PATCH) -> Object:
        return await self._object("PATCH", path, change, {"Content-Type": content_type})

    async def apply(self, path: str, obj: Object, *, manager: str = "kaput", force: bool = False) -> Object:
        query = f"?fieldManager={quote(manager, safe='')}&force={str(force).lower()}"
        return await self._object("PATCH", path + query, obj, {"Content-Type": APPLY_PATCH})

    async def delete(self, path: str, options: Object | None = None) -> Object:
        return await self._object("DELETE", path, options)

    async def _object(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Object:
        answer = await self.request(method, path, body, headers)
        if answer.code >= 400:
            raise ApiError(method, path, answer)
        assert isinstance(answer.body, dict), f"{method} {path} was answered with {answer.text[:200]!r}, not an object"
        return answer.body


def answer_of(response: InProcessResponse, data: bytes) -> Answer:
    """JSON is decoded; everything else, and the lines of a stream, stay text."""
    text = data.decode("utf-8", "replace")
    is_json = response.headers.get("content-type") == "application/json"
    decoded = orjson.loads(data) if is_json and data and not response.streaming else text
    return Answer(response.status, tuple(response.headers.items()), decoded, text)
