"""The in-process transport: the same handler, without sockets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clusters.emulated.apiserver.http import HttpRequest, HttpResponse, StreamWriter, frame_chunk
from clusters.emulated.transport.inprocess import InProcess, StreamCutError


def test_a_request_arrives_as_over_https() -> None:
    seen: list[HttpRequest] = []

    async def handler(request: HttpRequest) -> HttpResponse:
        seen.append(request)
        return HttpResponse(201, [("Content-Type", "application/json")], b"{}")

    async def scenario() -> None:
        groups = [("Impersonate-Group", "a"), ("impersonate-group", "b")]
        reply = await InProcess(handler).request("POST", "/api/v1/pods?x=%20", groups, b"body", "admin")
        assert (reply.status, reply.body, reply.headers.get("content-type")) == (
            201,
            b"{}",
            "application/json",
        )
        assert not reply.streaming

    asyncio.run(scenario())
    [request] = seen
    assert (request.method, request.path, request.query) == ("POST", "/api/v1/pods", "x=%20")
    assert (request.body, request.identity, request.peer_certificate) == (b"body", "admin", None)
    assert request.headers.get_all("Impersonate-Group") == ["a", "b"]


def test_a_failing_handler_is_a_500(caplog: Any) -> None:
    async def handler(request: HttpRequest) -> HttpResponse:
        raise RuntimeError("a bug")

    assert asyncio.run(InProcess(handler).request("GET", "/")).status == 500
    assert "a bug" in caplog.text


def _streaming(stream: Any) -> Any:
    async def handler(request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, [], stream=stream)

    return InProcess(handler)


def test_a_stream_is_read_chunk_by_chunk() -> None:
    async def stream(writer: StreamWriter) -> None:
        writer.write(b"one")
        await asyncio.sleep(0)
        writer.write_framed(frame_chunk(b"two"))

    async def scenario() -> list[bytes]:
        reply = await _streaming(stream).request("GET", "/")
        return [chunk async for chunk in reply.chunks()]

    assert asyncio.run(scenario()) == [b"one", b"two"]


@pytest.mark.parametrize("how", ["abort", "raise"])
def test_a_cut_stream_raises_after_what_it_held(how: str) -> None:
    async def stream(writer: StreamWriter) -> None:
        writer.write(b"one")
        if how == "raise":
            raise RuntimeError("a bug")
        writer.abort()

    async def scenario() -> None:
        chunks = (await _streaming(stream).request("GET", "/")).chunks()
        assert await anext(chunks) == b"one"
        with pytest.raises(StreamCutError):
            await anext(chunks)

    asyncio.run(scenario())


def test_closing_cancels_the_stream() -> None:
    events: list[str] = []

    async def stream(writer: StreamWriter) -> None:
        writer.on_close(lambda: events.append("closed"))
        try:
            await asyncio.sleep(60)
        finally:
            events.append("ended")

    async def scenario() -> None:
        reply = await _streaming(stream).request("GET", "/")
        await asyncio.sleep(0)
        reply.close()
        assert [chunk async for chunk in reply.chunks()] == []
        await asyncio.sleep(0)

    asyncio.run(scenario())
    assert events == ["closed", "ended"]


def test_drain_waits_for_the_reader() -> None:
    written: list[int] = []

    async def stream(writer: StreamWriter) -> None:
        for i in range(10):
            writer.write(b"x" * 50_000)
            await writer.drain()
            written.append(i)

    async def scenario() -> None:
        reply = await _streaming(stream).request("GET", "/")
        await asyncio.sleep(0.01)
        assert written == [0]
        assert sum([len(chunk) async for chunk in reply.chunks()]) == 500_000

    asyncio.run(scenario())
