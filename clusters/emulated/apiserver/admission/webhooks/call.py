"""Asking a webhook over HTTPS: what is sent, and what is said when the answer is no answer.

The texts are those of client-go's REST client, which Kubernetes uses for this: it hides most bodies of
failed responses, follows Retry-After, and reads YAML where it finds no JSON.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

import orjson

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.admission.matching import Resource
from clusters.emulated.apiserver.admission.review import admission_review
from clusters.emulated.apiserver.admission.shapes import Object
from clusters.emulated.apiserver.admission.webhooks.configuration import Webhook, note
from clusters.emulated.apiserver.admission.webhooks.response import (
    Answer,
    InvalidResponseError,
    read_review,
    response_problem,
    verify,
)
from clusters.emulated.clock.clock import Clock
from clusters.emulated.clock.randomness import Randomness
from clusters.emulated.outbound.client import Trust
from clusters.emulated.outbound.dial import Address, Resolve
from clusters.emulated.outbound.errors import BodyError, DialError, OutboundError
from clusters.emulated.outbound.response import OutboundResponse
from clusters.kube import errors
from clusters.kube.gostring import quote

_RETRIES_MAX = 10
_RESPONSE_HEADERS = (("Accept", "application/json, */*"), ("Content-Type", "application/json"))

ResolveService = Callable[[str, str, int], Awaitable[Address]]
"""Namespace, name and port of a Service to where it is served; raises ServiceResolutionError with its text
(`service "x" not found`, `no service port 9999 found for service "x"`)."""


class ServiceResolutionError(DialError):
    """The Service that a webhook names leads nowhere; `str()` says why."""


class Outbound(Protocol):
    """What of `OutboundClient` is used here."""

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Sequence[tuple[str, str]] = ...,
        body: bytes = ...,
        trust: Trust = ...,
        resolve: Resolve | None = ...,
        timeout_s: float | None = ...,
    ) -> OutboundResponse: ...


class WebhookCallError(Exception):
    """The webhook gave no usable answer: 500, unless its failurePolicy is Ignore."""

    def __init__(self, webhook: Webhook, reason: str) -> None:
        super().__init__(f"failed calling webhook {quote(webhook.name)}: {reason}")


class WebhookCaller:
    """Sends reviews. Keeps one resolver per Service, so that connections to it are shared."""

    def __init__(
        self, outbound: Outbound, resolve_service: ResolveService, clock: Clock, randomness: Randomness
    ) -> None:
        self._outbound = outbound
        self._resolve_service = resolve_service
        self._clock = clock
        self._randomness = randomness
        self._resolvers: dict[tuple[str, str, int], Resolve] = {}

    async def ask(
        self,
        webhook: Webhook,
        attributes: Attributes,
        resource: Resource,
        obj: Object | None,
        old_object: Object | None,
        *,
        mutating: bool,
    ) -> Answer:
        """The verified answer; its warnings and annotations are noted. Raises WebhookCallError, StatusError."""
        if attributes.dry_run:
            if not webhook.side_effects:
                raise WebhookCallError(webhook, "Webhook SideEffects is nil")
            if webhook.side_effects not in ("None", "NoneOnDryRun"):
                raise errors.bad_request(f"admission webhook {quote(webhook.name)} does not support dry run")
        version = next((each for each in webhook.review_versions if each in ("v1", "v1beta1")), "")
        if not version:
            text = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
            raise WebhookCallError(webhook, f"could not create admission objects: {text}")
        uid = self._randomness.uid()
        review = admission_review(version, uid, attributes, resource, obj, old_object)
        try:
            reply = await self._post(webhook, attributes, _encoded(review))
            decoded = read_review(reply, version)
        except (OutboundError, InvalidResponseError) as error:
            raise WebhookCallError(webhook, f"failed to call webhook: {error}") from error
        try:
            answer = verify(decoded, uid, version, mutating=mutating)
        except InvalidResponseError as error:
            raise WebhookCallError(webhook, f"received invalid webhook response: {error}") from error
        for key, value in answer.audit_annotations.items():
            note(attributes, f"{webhook.name}/{key}", value)
        for warning in answer.warnings:
            attributes.request.warn(warning)
        return answer

    async def _post(self, webhook: Webhook, attributes: Attributes, body: bytes) -> OutboundResponse:
        remaining_s = attributes.request.deadline_s - self._clock.monotonic_s()
        deadline_s = self._clock.monotonic_s() + min(remaining_s, webhook.timeout_s)
        url, resolve = self._where(webhook)
        timeout_s = min(remaining_s, webhook.timeout_s)
        if timeout_s > 0:
            url = f"{url}?timeout={_whole_seconds(timeout_s)}s"
        server_name = urlsplit(url).hostname if webhook.service is not None else ""
        trust = Trust(ca_pem=webhook.ca_pem, server_name=server_name or "")
        for attempt in range(_RETRIES_MAX + 1):
            try:
                reply = await self._outbound.request(
                    "POST",
                    url,
                    headers=_RESPONSE_HEADERS,
                    body=body,
                    trust=trust,
                    resolve=resolve,
                    timeout_s=max(0.0, deadline_s - self._clock.monotonic_s()),
                )
            except BodyError as error:
                text = f"unexpected error when reading response body. Please retry. Original error: {error}"
                raise InvalidResponseError(text) from error
            wait_s = _retry_after_s(reply)
            if wait_s is None or attempt == _RETRIES_MAX:
                break
            if self._clock.monotonic_s() + wait_s >= deadline_s:
                await self._clock.sleep(max(0.0, deadline_s - self._clock.monotonic_s()))
                raise InvalidResponseError("context deadline exceeded")
            await self._clock.sleep(wait_s)
        problem = response_problem(reply)
        if problem:
            raise InvalidResponseError(problem)
        return reply

    def _where(self, webhook: Webhook) -> tuple[str, Resolve | None]:
        service = webhook.service
        if service is None:
            parts = urlsplit(webhook.url)
            return f"{parts.scheme}://{parts.netloc}{parts.path or '/'}", None
        namespace, name, port = service["namespace"], service["name"], service.get("port") or 443
        path = service.get("path") or "/"
        url = f"https://{name}.{namespace}.svc:{port}{path if path.startswith('/') else '/' + path}"
        return url, self._resolver(namespace, name, port)

    def _resolver(self, namespace: str, name: str, port: int) -> Resolve:
        key = (namespace, name, port)
        found = self._resolvers.get(key)
        if found is None:

            async def resolve(host: str, asked_port: int) -> Address:
                return await self._resolve_service(namespace, name, port)

            found = self._resolvers[key] = resolve
        return found


_ESCAPED = ((b"<", rb"\u003c"), (b">", rb"\u003e"), (b"&", rb"\u0026"))


def _encoded(review: Object) -> bytes:
    """JSON as Go writes it: fit for HTML, with a newline at the end."""
    body = orjson.dumps(review)
    for plain_character, escape in _ESCAPED:
        if plain_character in body:
            body = body.replace(plain_character, escape)
    return body + b"\n"


def _whole_seconds(seconds: float) -> int:
    whole = int(seconds)
    # A deadline set just now is a hair below the round number it was set to.
    return whole if seconds - whole < 1e-9 else whole + 1


def _retry_after_s(reply: OutboundResponse) -> int | None:
    if reply.status != 429 and reply.status < 500:
        return None
    text = reply.header("retry-after") or ""
    return int(text) if text.isascii() and text.isdigit() else None


def decode_patch(answer: Answer) -> bytes:
    return base64.b64decode(answer.patch)


def plain(value: Any) -> bytes:
    """JSON as audit annotations carry it."""
    return orjson.dumps(value)
