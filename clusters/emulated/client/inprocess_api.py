"""`Api` without sockets: the api-server's handler is called in the same loop, with the same chain as over HTTPS.

api = InProcessApi(plane.handler, identities.controller("deployment-controller"), "kube-controller-manager/…")
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from clusters.emulated.apiserver.http import Handler, Headers
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.client.errors import Unreachable
from clusters.emulated.client.rest import RestApi, failure_of
from clusters.emulated.transport.inprocess import InProcess, StreamCutError


class InProcessApi(RestApi):
    """One component's way to the api-server; authorization applies to `user` as it would to a certificate's."""

    def __init__(self, handler: Handler, user: UserInfo, user_agent: str) -> None:
        self.user = user
        self.user_agent = user_agent
        self._transport = InProcess(handler)

    async def exchange(self, method: str, target: str, body: bytes, content_type: str) -> tuple[int, bytes]:
        headers = [("user-agent", self.user_agent), ("accept", "application/json")]
        if content_type:
            headers.append(("content-type", content_type))
        response = await self._transport.request(method, target, Headers.from_lower(headers), body, self.user)
        if not response.streaming:
            return response.status, response.body
        try:
            return response.status, b"".join([chunk async for chunk in response.chunks()])
        except StreamCutError as error:
            raise Unreachable(0, str(error)) from error

    @asynccontextmanager
    async def stream(self, target: str) -> AsyncIterator[AsyncIterator[bytes]]:
        headers = Headers.from_lower([("user-agent", self.user_agent), ("accept", "application/json")])
        response = await self._transport.request("GET", target, headers, b"", self.user)
        try:
            if response.status >= 400:
                raise failure_of(response.status, b"".join([chunk async for chunk in response.chunks()]))
            yield _uncut(response.chunks())
        finally:
            response.close()


async def _uncut(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    try:
        async for chunk in chunks:
            yield chunk
    except StreamCutError as error:
        raise Unreachable(0, str(error)) from error
