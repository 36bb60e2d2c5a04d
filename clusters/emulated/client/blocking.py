"""A blocking client for tests, in the same process: no sockets, the same chain (see `clusters.base.Api`)."""

from __future__ import annotations

import queue
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import orjson

from clusters.base import Answer, ApiError
from clusters.emulated.apiserver.http import Handler
from clusters.emulated.apiserver.request import ANONYMOUS, UserInfo
from clusters.emulated.transport.inprocess import InProcess, InProcessResponse

T = TypeVar("T")
Object = dict[str, Any]
Run = Callable[[Coroutine[Any, Any, Any]], Any]

MERGE_PATCH = "application/merge-patch+json"
_END = object()


class BlockingApi:
    ADMIN = UserInfo("kubernetes-admin", groups=("system:masters", "system:authenticated"))

    def __init__(
        self, run: Run, handler: Handler, identity: UserInfo | None, headers: Sequence[tuple[str, str]] = ()
    ) -> None:
        self._run = run
        self._handler = handler
        self._identity = identity
        self._headers = tuple(headers)
        self._transport = InProcess(handler)

    # Identities

    def as_user(self, name: str, groups: Sequence[str] = ()) -> BlockingApi:
        user = UserInfo(name, groups=(*groups, "system:authenticated"))
        return BlockingApi(self._run, self._handler, user)

    def with_token(self, token: str) -> BlockingApi:
        return BlockingApi(self._run, self._handler, None, [("Authorization", f"Bearer {token}")])

    def anonymous(self) -> BlockingApi:
        return BlockingApi(self._run, self._handler, ANONYMOUS)

    # Requests

    def request(
        self, method: str, path: str, body: object = None, *, headers: Mapping[str, str] | None = None
    ) -> Answer:
        answer: Answer = self._run(self._answer(method, path, body, headers or {}))
        return answer

    async def _answer(self, method: str, path: str, body: object, headers: Mapping[str, str]) -> Answer:
        response = await self._ask(method, path, body, headers)
        if response.streaming:
            data = b"".join([chunk async for chunk in response.chunks()])
        else:
            data = response.body
        content_type = response.headers.get("content-type") or ""
        text = data.decode("utf-8", "replace")
        decoded = orjson.loads(data) if content_type == "application/json" and data and not response.streaming else text
        return Answer(response.status, tuple(response.headers.items()), decoded, text)

    async def _ask(self, method: str, path: str, body: object, headers: Mapping[str, str]) -> InProcessResponse:
        data = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        given = {name.lower() for name in headers}
        sent = [*self._headers, *headers.items()]
        if "user-agent" not in given:
            sent.append(("User-Agent", "kaput"))
        if body is not None and "content-type" not in given:
            sent.append(("Content-Type", "application/json"))
        return await self._transport.request(method, path, sent, data, self._identity)

    def _expect(self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None) -> Object:
        answer = self.request(method, path, body, headers=headers)
        if answer.code >= 400:
            raise ApiError(method, path, answer)
        assert isinstance(answer.body, dict), f"{method} {path} was answered with {answer.text[:200]!r}, not an object"
        return answer.body

    def get(self, path: str) -> Object:
        return self._expect("GET", path)

    def create(self, path: str, obj: Object) -> Object:
        return self._expect("POST", path, obj)

    def update(self, path: str, obj: Object) -> Object:
        return self._expect("PUT", path, obj)

    def patch(self, path: str, change: object, content_type: str = MERGE_PATCH) -> Object:
        return self._expect("PATCH", path, change, {"Content-Type": content_type})

    def apply(self, path: str, obj: Object, *, manager: str = "kaput", force: bool = False) -> Object:
        query = f"?fieldManager={manager}&force={str(force).lower()}"
        return self._expect("PATCH", path + query, obj, {"Content-Type": "application/apply-patch+yaml"})

    def delete(self, path: str, options: Object | None = None) -> Object:
        return self._expect("DELETE", path, options)

    @contextmanager
    def watch(self, path: str) -> Iterator[Iterator[Object]]:
        """Events as they come; iterating waits for the next one and ends with the stream."""
        target = path + ("&" if "?" in path else "?") + "watch=true"
        events: queue.SimpleQueue[object] = queue.SimpleQueue()
        response: InProcessResponse = self._run(self._ask("GET", target, None, {}))
        if response.status >= 400:
            body = orjson.loads(response.body)
            raise ApiError("GET", target, Answer(response.status, tuple(response.headers.items()), body, str(body)))
        following = self._run(_start(_follow(response, events)))
        try:
            yield _lines(events)
        finally:
            self._run(_stop(response, following))


async def _start(work: Coroutine[Any, Any, None]) -> Any:
    import asyncio

    return asyncio.get_running_loop().create_task(work)


async def _stop(response: InProcessResponse, following: Any) -> None:
    response.close()
    following.cancel()


async def _follow(response: InProcessResponse, events: queue.SimpleQueue[object]) -> None:
    rest = b""
    try:
        async for chunk in response.chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                events.put(orjson.loads(line))
    finally:
        events.put(_END)


def _lines(events: queue.SimpleQueue[object]) -> Iterator[Object]:
    while (event := events.get()) is not _END:
        assert isinstance(event, dict)
        yield event
