"""Asking an api-server whether it is ready, over TLS and without credentials, as load balancers do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from clusters.emulated.clock import Clock
from clusters.emulated.outbound.client import OutboundClient, Trust
from clusters.emulated.outbound.errors import OutboundError
from clusters.emulated.transport.front import CHECK_TIMEOUT_S


class Readiness:
    def __init__(self, host: str, ca_pem: bytes, clock: Clock) -> None:
        self._host = host
        # The api-server lives in the same loop and may take its time, which must be able to pass meanwhile.
        self._client = OutboundClient(_Unhurried(clock), "kaput-front")
        self._trust = Trust(ca_pem=ca_pem)

    async def ready(self, port: int) -> bool:
        url = f"https://{self._host}:{port}/readyz"
        try:
            answer = await self._client.request("GET", url, trust=self._trust, timeout_s=CHECK_TIMEOUT_S)
        except OutboundError:
            return False
        return answer.status == 200

    def close(self) -> None:
        self._client.close()


class _Unhurried:
    """The cluster's clock, for who waits for the cluster itself: not for something outside of it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now_s(self) -> float:
        return self._clock.now_s()

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()

    async def sleep(self, delay_s: float) -> None:
        await self._clock.sleep(delay_s)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return self._clock.call_later(delay_s, callback)

    def io(self) -> AbstractContextManager[None]:
        return nullcontext()
