"""Asking a webhook for a review (TokenReview, SubjectAccessReview), with Kubernetes' retries."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from clusters.emulated.clock import Clock
from clusters.emulated.outbound.client import OutboundClient, Trust
from clusters.emulated.outbound.errors import OutboundError
from clusters.kube.gostring import quote

Object = dict[str, Any]

FIRST_RETRY_S = 0.5
RETRY_FACTOR = 1.5
ATTEMPTS_MAX = 5


class ReviewFailedError(Exception):
    """The webhook gave no usable answer; the text is what client-go would say."""


class _WorthRetryingError(ReviewFailedError):
    """The webhook may do better in a moment."""


@dataclass(frozen=True, slots=True)
class ReviewWebhook:
    """One remote reviewer: `--authentication-token-webhook-config-file`, `--authorization-webhook-config-file`."""

    client: OutboundClient
    clock: Clock
    url: str
    trust: Trust = field(default_factory=Trust)
    timeout_s: float = 30.0

    async def review(self, review: Object) -> Object:
        """Posts the review and returns it with its status; raises ReviewFailedError."""
        delay_s = FIRST_RETRY_S
        for _ in range(ATTEMPTS_MAX - 1):
            try:
                return await self._post(review)
            except _WorthRetryingError:
                await self.clock.sleep(delay_s)
                delay_s *= RETRY_FACTOR
        return await self._post(review)

    async def _post(self, review: Object) -> Object:
        headers = (("Accept", "application/json, */*"), ("Content-Type", "application/json"))
        body = json.dumps(review, separators=(",", ":"), ensure_ascii=False).encode()
        try:
            answer = await self.client.request(
                "POST", self.url, headers=headers, body=body, trust=self.trust, timeout_s=self.timeout_s
            )
        except OutboundError as problem:
            text = str(problem)
            failure = _WorthRetryingError if "connection reset by peer" in text else ReviewFailedError
            raise failure(text) from None
        if not 200 <= answer.status < 300:
            raise _refusal(answer.status, answer.body)
        try:
            found = json.loads(answer.body)
        except ValueError as problem:
            raise ReviewFailedError(f"couldn't get version/kind; json parse error: {problem}") from None
        if not isinstance(found, dict) or found.get("kind") != review["kind"]:
            raise ReviewFailedError(f"the webhook answered with {quote(str(found)[:80])}, which is no {review['kind']}")
        return found


def _refusal(status: int, body: bytes) -> ReviewFailedError:
    text = body.decode("utf-8", "replace").strip()
    if status == 429:
        return _WorthRetryingError("the server has received too many requests and has asked us to try again later")
    if status >= 500:
        reason = f"an error on the server ({quote(text or 'unknown')}) has prevented the request from succeeding"
        return _WorthRetryingError(reason) if status in (500, 504) else ReviewFailedError(reason)
    texts = {
        400: "the server rejected our request for an unknown reason",
        401: "the server has asked for the client to provide credentials",
        403: text or "unknown",
        404: "the server could not find the requested resource",
        405: "the server does not allow this method on the requested resource",
    }
    return ReviewFailedError(
        texts.get(status, f"the server responded with the status code {status} but did not return more information")
    )
