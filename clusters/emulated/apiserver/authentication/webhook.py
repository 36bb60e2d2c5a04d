"""Webhook token authentication: somebody else knows the token."""

from __future__ import annotations

import hashlib

from clusters.emulated.apiserver.authentication.outcome import Authenticated, Circumstances, CredentialRefusedError
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.apiserver.review_webhook import ReviewFailedError, ReviewWebhook

TOKENS_MAX = 4096


class WebhookTokens:
    """Asks the webhook about tokens nobody else knew, and remembers good ones for `cache_ttl_s`."""

    def __init__(
        self,
        webhook: ReviewWebhook,
        audiences: tuple[str, ...],
        *,
        version: str = "v1",
        cache_ttl_s: float = 120,
    ) -> None:
        self._webhook = webhook
        self._audiences = audiences
        self._api_version = f"authentication.k8s.io/{version}"
        self._cache_ttl_s = cache_ttl_s
        self._known: dict[tuple[bytes, tuple[str, ...]], tuple[float, Authenticated]] = {}

    async def authenticate(self, token: str, circumstances: Circumstances) -> Authenticated | None:
        wanted = circumstances.audiences or self._audiences
        key = (hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest(), wanted)
        now_s = self._webhook.clock.monotonic_s()
        known = self._known.get(key)
        if known is not None and now_s < known[0]:
            return known[1]
        found = await self._ask(token, wanted)
        if found is not None and self._cache_ttl_s > 0:
            if len(self._known) >= TOKENS_MAX:
                self._known.clear()
            self._known[key] = (now_s + self._cache_ttl_s, found)
        return found

    async def _ask(self, token: str, wanted: tuple[str, ...]) -> Authenticated | None:
        spec: dict[str, object] = {"token": token}
        if wanted:
            spec["audiences"] = list(wanted)
        review = {
            "kind": "TokenReview",
            "apiVersion": self._api_version,
            "metadata": {},
            "spec": spec,
            "status": {"user": {}},
        }
        try:
            status = (await self._webhook.review(review)).get("status") or {}
        except ReviewFailedError as failed:
            raise CredentialRefusedError(str(failed)) from None
        # A webhook that knows nothing of audiences speaks for the api-server's own.
        granted = status.get("audiences") or self._audiences
        audiences = tuple(audience for audience in wanted if audience in granted)
        if wanted and not audiences:
            return None
        if not status.get("authenticated"):
            if status.get("error"):
                raise CredentialRefusedError(status["error"])
            return None
        user = status.get("user") or {}
        extra = {name: tuple(values) for name, values in (user.get("extra") or {}).items()}
        groups = tuple(user.get("groups") or ())
        return Authenticated(UserInfo(user.get("username", ""), user.get("uid", ""), groups, extra), audiences)
