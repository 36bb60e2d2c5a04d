"""Requests and a clock for authentication tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from clusters.emulated.apiserver.http import Headers, HttpRequest
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.request_info import request_info
from tests.clusters.emulated.apiserver.authentication.certificates import NOW_S


class SetClock:
    """Shows the time it was set to."""

    def __init__(self, now_s: float = NOW_S) -> None:
        self.time_s = now_s

    def now_s(self) -> float:
        return self.time_s

    def monotonic_s(self) -> float:
        return self.time_s

    async def sleep(self, delay_s: float) -> None:
        self.time_s += delay_s

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        raise AssertionError("nothing here waits")

    def io(self) -> AbstractContextManager[None]:
        return nullcontext()


def request(
    *headers: tuple[str, str],
    path: str = "/api/v1/namespaces/shop/pods",
    method: str = "GET",
    certificate: bytes | None = None,
    chain: tuple[bytes, ...] = (),
) -> Request:
    http = HttpRequest(method, path, path, "", Headers(headers), peer_certificate=certificate, peer_chain=chain)
    return Request(http, request_info(method, path, {}), {}, "audit", NOW_S, NOW_S + 60)
