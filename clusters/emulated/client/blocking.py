"""A blocking client for tests, in the same process: no sockets, the same chain (see `clusters.base.Api`)."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import orjson

from clusters.base import Answer, ApiError
from clusters.emulated.apiserver.http import Handler
from clusters.emulated.apiserver.request import ANONYMOUS, UserInfo
from clusters.emulated.client.by_path import MERGE_PATCH, PathApi, answer_of
from clusters.emulated.transport.inprocess import InProcessResponse, StreamCutError

Object = dict[str, Any]
Run = Callable[[Coroutine[Any, Any, Any]], Any]

ADMIN: Final = UserInfo("kubernetes-admin", groups=("system:masters", "system:authenticated"))


class BlockingApi:
    """`run` carries out a coroutine in the cluster's loop and waits for its result."""

    def __init__(
        self,
        run: Run,
        handler: Handler,
        identity: UserInfo | None = ADMIN,
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._run = run
        self._api = PathApi(handler, identity, headers=headers)

    # Identities

    def as_user(self, name: str, groups: Sequence[str] = ()) -> BlockingApi:
        user = UserInfo(name, groups=(*groups, "system:authenticated"))
        return BlockingApi(self._run, self._api.handler, user)

    def with_token(self, token: str) -> BlockingApi:
        return BlockingApi(self._run, self._api.handler, None, [("Authorization", f"Bearer {token}")])

    def anonymous(self) -> BlockingApi:
        return BlockingApi(self._run, self._api.handler, ANONYMOUS)

    # Requests

    def request(
        self, method: str, path: str, body: object = None, *, headers: Mapping[str, str] | None = None
    ) -> Answer:
        answer: Answer = self._run(self._api.request(method, path, body, headers))
        return answer

    def get(self, path: str) -> Object:
        return self._object(self._api.get(path))

    def create(self, path: str, obj: Object) -> Object:
        return self._object(self._api.create(path, obj))

    def update(self, path: str, obj: Object) -> Object:
        return self._object(self._api.update(path, obj))

    def patch(self, path: str, change: object, content_type: str = MERGE_PATCH) -> Object:
        return self._object(self._api.patch(path, change, content_type))

    def apply(self, path: str, obj: Object, *, manager: str = "kaput", force: bool = False) -> Object:
        return self._object(self._api.apply(path, obj, manager=manager, force=force))

    def delete(self, path: str, options: Object | None = None) -> Object:
        return self._object(self._api.delete(path, options))

    def _object(self, work: Coroutine[Any, Any, Object]) -> Object:
        obj: Object = self._run(work)
        return obj

    @contextmanager
    def watch(self, path: str) -> Iterator[Iterator[Object]]:
        """Events as they come; iterating waits for the next one and ends with the stream."""
        target = path + ("&" if "?" in path else "?") + "watch=true"
        events: queue.SimpleQueue[Object | None] = queue.SimpleQueue()
        response, following = self._run(self._open_watch(target, events))
        try:
            yield iter(events.get, None)  # None ends the iteration and is never yielded.
        finally:
            self._run(_close(response, following))

    async def _open_watch(
        self, target: str, events: queue.SimpleQueue[Object | None]
    ) -> tuple[InProcessResponse, asyncio.Task[None]]:
        response = await self._api.open("GET", target)
        if response.status >= 400:
            raise ApiError("GET", target, answer_of(response, response.body))
        return response, asyncio.get_running_loop().create_task(_follow(response, events))


async def _close(response: InProcessResponse, following: asyncio.Task[None]) -> None:
    response.close()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def _follow(response: InProcessResponse, events: queue.SimpleQueue[Object | None]) -> None:
    rest = b""
    try:
        async for chunk in response.chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                events.put(orjson.loads(line))
    except StreamCutError:
        return  # To who iterates, a cut stream is one that ends: a real client would have to open a new one.
    finally:
        events.put(None)
