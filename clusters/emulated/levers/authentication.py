"""Hop 2: by which clock tokens are judged, and the webhook that knows tokens nobody else does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import orjson

from clusters.base import Lever
from clusters.emulated.apiserver.authentication.service_accounts import ServiceAccountTokens
from clusters.emulated.apiserver.authentication.webhook import WebhookTokens
from clusters.emulated.apiserver.http import HttpRequest, HttpResponse
from clusters.emulated.apiserver.review_webhook import ReviewWebhook
from clusters.emulated.clock import Clock
from clusters.emulated.levers.pulling import Count, in_loop
from clusters.emulated.outbound.client import OutboundClient, Trust

if TYPE_CHECKING:
    from clusters.emulated.cluster import EmulatedCluster

_WEBHOOK = "token-webhook"


class SkewedClock:
    """Another clock that is wrong by a fixed amount; it runs as fast."""

    def __init__(self, clock: Clock, ahead_s: float) -> None:
        self._clock = clock
        self._ahead_s = ahead_s
        #: How often somebody has looked at it.
        self.looks = 0

    def now_s(self) -> float:
        self.looks += 1
        return self._clock.now_s() + self._ahead_s

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()

    async def sleep(self, delay_s: float) -> None:
        await self._clock.sleep(delay_s)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return self._clock.call_later(delay_s, callback)

    def io(self) -> AbstractContextManager[None]:
        return self._clock.io()


class _Looked:
    def __init__(self, clock: SkewedClock) -> None:
        self._clock = clock

    @property
    def fired(self) -> int:
        return self._clock.looks


class AuthenticationLevers:
    def __init__(self, cluster: EmulatedCluster) -> None:
        self._cluster = cluster

    @contextmanager
    def skew(self, seconds: float) -> Iterator[Lever]:
        """The clock by which tokens are judged is so much ahead; fires whenever it is looked at."""
        cluster = self._cluster
        skewed = SkewedClock(cluster.clock, seconds)
        judges = [
            each
            for replica in cluster.plane.replicas
            for each in replica.authenticator.tokens
            if isinstance(each, ServiceAccountTokens)
        ]
        in_loop(cluster.run, lambda: [judge.use_clock(skewed) for judge in judges])  # type: ignore[func-returns-value]
        try:
            yield _Looked(skewed)
        finally:
            in_loop(cluster.run, lambda: [judge.use_clock(cluster.clock) for judge in judges])  # type: ignore[func-returns-value]

    @contextmanager
    def token_webhook(self, users: Mapping[str, str]) -> Iterator[None]:
        """A real webhook, asked anew about every token."""
        cluster = self._cluster
        neighbours = cluster.neighbours

        async def review(http: HttpRequest) -> HttpResponse:
            asked = orjson.loads(http.body)
            user = users.get(asked["spec"]["token"])
            asked["status"] = {"authenticated": user is not None, "user": {"username": user} if user else {}}
            return HttpResponse(200, [("Content-Type", "application/json")], orjson.dumps(asked))

        with neighbours.standing(_WEBHOOK, review, ()) as standing:
            trust = Trust(ca_pem=neighbours.authority.certificate_pem)
            client = OutboundClient(cluster.clock)
            asking = ReviewWebhook(client, cluster.clock, f"https://127.0.0.1:{standing.port}/token", trust)
            webhook = WebhookTokens(asking, (), cache_ttl_s=0)
            before = [(replica.authenticator, replica.authenticator.tokens) for replica in cluster.plane.replicas]
            for authenticator, tokens in before:
                authenticator.tokens = (*tokens, webhook)
            try:
                yield
            finally:
                for authenticator, tokens in before:
                    authenticator.tokens = tokens
                in_loop(cluster.run, client.close)

    @contextmanager
    def token_webhook_down(self) -> Iterator[Lever]:
        """Nobody listens where the webhook was."""
        with self._cluster.neighbours.network(_WEBHOOK, "down"):
            yield Count(1)
