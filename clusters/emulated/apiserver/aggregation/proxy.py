"""Passing a request on to an aggregated api-server, and its answer back, as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from urllib.parse import quote as percent

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.aggregation.availability import Backend
from clusters.emulated.apiserver.http import HttpResponse, StreamWriter
from clusters.emulated.apiserver.request import Request, UserInfo
from clusters.emulated.outbound.client import OutboundClient
from clusters.emulated.outbound.dial import Resolve
from clusters.emulated.outbound.errors import OutboundError, UrlError

Headers = list[tuple[str, str]]

# Between two hops, or replaced by what this api-server says of the user.
_NOT_FORWARDED = frozenset(
    (
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
        "transfer-encoding", "upgrade", "host", "content-length", "authorization", "x-remote-user", "x-remote-uid",
        "x-remote-group",
    )
)  # fmt: skip
_NOT_RETURNED = frozenset(("connection", "keep-alive", "transfer-encoding", "content-length", "trailer", "upgrade"))


def user_headers(user: UserInfo) -> Headers:
    """Who asks, for a server that trusts our certificate."""
    headers: Headers = [("X-Remote-User", user.name)]
    if user.uid:
        headers.append(("X-Remote-Uid", user.uid))
    headers += [("X-Remote-Group", group) for group in user.groups]
    for key, values in user.extra.items():
        headers += [(f"X-Remote-Extra-{percent(key, safe='')}", value) for value in values]
    return headers


def unavailable(request: Request) -> HttpResponse:
    return respond.text(request, 503, "service unavailable\n")


async def forward(
    request: Request, backend: Backend, url: str, outbound: OutboundClient, resolve: Resolve
) -> HttpResponse:
    """What the backend answers; a response that comes in chunks is passed on chunk by chunk."""
    http = request.http
    headers = [
        (name, value)
        for name, value in http.headers.items()
        if name not in _NOT_FORWARDED and not name.startswith("x-remote-extra-") and name != "audit-id"
    ]
    headers += [("Audit-Id", request.audit_id), ("X-Forwarded-For", http.remote_address.partition(":")[0])]
    if "accept-encoding" not in http.headers:
        headers.append(("Accept-Encoding", "identity"))
    headers += user_headers(request.user)
    stack = AsyncExitStack()
    try:
        reply = await stack.enter_async_context(
            outbound.stream(http.method, url, headers=headers, body=http.body, trust=backend.trust, resolve=resolve)
        )
    except OutboundError as error:
        await stack.aclose()
        cause = error.cause if isinstance(error, UrlError) else error
        return respond.text(request, 503, f"{cause}\n")
    answered = _merged(request.response_headers, reply.headers)
    is_streamed = any(name == "transfer-encoding" and "chunked" in value for name, value in reply.headers)
    if is_streamed:
        return HttpResponse(reply.status, answered, stream=_passing_on(reply.chunks, stack))
    try:
        body = b"".join([chunk async for chunk in reply.chunks])
    except OutboundError as error:
        return respond.text(request, 503, f"{error}\n")
    finally:
        await stack.aclose()
    return HttpResponse(reply.status, answered, body)


def _merged(own: Headers, theirs: Sequence[tuple[str, str]]) -> Headers:
    kept = [(_canonical(name), value) for name, value in theirs if name not in _NOT_RETURNED]
    given = {name.lower() for name, _ in kept}
    return [(name, value) for name, value in own if name.lower() not in given] + kept


def _canonical(name: str) -> str:
    return "-".join(part.capitalize() for part in name.split("-"))


def _passing_on(chunks: AsyncIterator[bytes], stack: AsyncExitStack) -> Callable[[StreamWriter], Awaitable[None]]:
    async def run(writer: StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "transports run streams in tasks"

        def client_left() -> None:
            task.cancel()

        writer.on_close(client_left)
        try:
            async for chunk in chunks:
                writer.write(chunk)
                await writer.drain()
                if writer.closed:
                    return
        except OutboundError:
            writer.abort()
        finally:
            await stack.aclose()

    return run
