"""The chain of authenticators: who sent this request, or 401.

An invalid credential is refused even where anonymous requests are welcome; a request without any credential
(also `Bearer ` with nothing after it, and Basic) is anonymous.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusters.emulated.apiserver.authentication.outcome import (
    Authenticated,
    Circumstances,
    CredentialRefusedError,
    TokenAuthenticator,
    aggregate_refusals,
    with_authenticated_group,
)
from clusters.emulated.apiserver.authentication.request_header import RequestHeader
from clusters.emulated.apiserver.authentication.x509 import X509
from clusters.emulated.apiserver.request import ANONYMOUS, Request, UserInfo
from clusters.kube.errors import unauthorized

if TYPE_CHECKING:
    from clusters.emulated.apiserver.http import Headers, HttpRequest

INVALID_TOKEN = "invalid bearer token"
_EXTRA_SPACE = "the provided Authorization header contains extra space before the bearer token, and is ignored"
_WEBSOCKET_BEARER = "base64url.bearer.authorization.k8s.io."


@dataclass(frozen=True, slots=True)
class Anonymous:
    """Who may stay anonymous: everybody, nobody, or requests for one of these paths."""

    enabled: bool = True
    paths: Collection[str] = ()

    def allows(self, path: str) -> bool:
        return self.enabled and (not self.paths or path in self.paths)


class Authenticator:
    """Front proxy, client certificate, bearer tokens, anonymous; the first that knows the user wins."""

    def __init__(
        self,
        *,
        request_header: RequestHeader | None = None,
        x509: X509 | None = None,
        tokens: Sequence[TokenAuthenticator] = (),
        anonymous: Anonymous = Anonymous(),
        audiences: tuple[str, ...] = (),
    ) -> None:
        self._request_header = request_header
        self._x509 = x509
        self.tokens = tuple(tokens)
        self._anonymous = anonymous
        self.audiences = audiences

    async def authenticate(self, request: Request) -> UserInfo:
        """The user, with system:authenticated or system:unauthenticated; raises the 401 otherwise."""
        http = request.http
        identity = http.identity
        if isinstance(identity, UserInfo):
            return identity
        refusals: list[str] = []
        user = self._by_connection(http, refusals)
        if user is not None:
            return user
        token = self._bearer(http.headers, request)
        try:
            if token is None:
                token = _websocket_token(http.headers)
        except CredentialRefusedError as refused:
            refusals.append(str(refused))
        if token is not None:
            circumstances = Circumstances((), request.warn, request.audit_annotations)
            found = await self._by_token(token, circumstances, refusals)
            if found is not None:
                return with_authenticated_group(found.user)
        if refusals or not self._anonymous.allows(request.info.path):
            raise unauthorized()
        return ANONYMOUS

    def _by_connection(self, http: HttpRequest, refusals: list[str]) -> UserInfo | None:
        """A bad certificate is only remembered: a good token beside it still counts."""
        if http.peer_certificate is None:
            return None
        if self._request_header is not None:
            try:
                user = self._request_header.authenticate(http)
                if user is not None:
                    return with_authenticated_group(user)
            except CredentialRefusedError as refused:
                refusals.append(str(refused))
        if self._x509 is not None:
            try:
                return self._x509.authenticate(http)
            except CredentialRefusedError as refused:
                refusals.append(str(refused))
        return None

    def _bearer(self, headers: Headers, request: Request) -> str | None:
        header = headers.get("authorization")
        if header is None:
            return None
        parts = header.strip().split(" ", 2)
        if len(parts) < 2 or parts[0].lower() != "bearer":
            return None
        if not parts[1]:
            if len(parts) == 3:
                request.warn(_EXTRA_SPACE)
            return None
        return parts[1]

    async def _by_token(self, token: str, circumstances: Circumstances, refusals: list[str]) -> Authenticated | None:
        own: list[str] = []
        for authenticator in self.tokens:
            try:
                found = await authenticator.authenticate(token, circumstances)
            except CredentialRefusedError as refused:
                own.append(str(refused))
                continue
            if found is not None:
                found = self._for_audiences(found, circumstances.audiences)
            if found is not None:
                return found
        refusals.append(aggregate_refusals(own) or INVALID_TOKEN)
        return None

    def _for_audiences(self, found: Authenticated, wanted: tuple[str, ...]) -> Authenticated | None:
        """A credential that knows no audiences is good for the api-server's own, and for nobody else's."""
        if found.audiences or not wanted or not self.audiences:
            return found
        common = tuple(audience for audience in self.audiences if audience in wanted)
        return Authenticated(found.user, common) if common else None

    async def review_token(self, token: str, audiences: tuple[str, ...]) -> Authenticated:
        """For TokenReview: as `authenticate` would, but says why not (CredentialRefusedError)."""
        # The api-server's own loopback token is tried first and never matches, so its refusal comes first.
        refusals = [INVALID_TOKEN]
        parts = f"Bearer {token}".strip().split(" ", 2)
        if len(parts) > 1 and not parts[1] and self._anonymous.enabled:
            # The whole chain is asked, and to it a token behind a space is none at all.
            return Authenticated(ANONYMOUS, audiences)
        if len(parts) > 1 and parts[1]:
            circumstances = Circumstances(audiences)
            found = await self._by_token(parts[1], circumstances, refusals)
            if found is not None:
                return Authenticated(with_authenticated_group(found.user), found.audiences)
        raise CredentialRefusedError(aggregate_refusals(refusals))


def _websocket_token(headers: Headers) -> str | None:
    """Browsers cannot set Authorization on a WebSocket; the token comes as a subprotocol instead."""
    if (headers.get("upgrade") or "").lower() != "websocket":
        return None
    tokens, others = [], 0
    for header in headers.get_all("sec-websocket-protocol"):
        for protocol in header.split(","):
            protocol = protocol.strip()
            if protocol.startswith(_WEBSOCKET_BEARER):
                tokens.append(protocol[len(_WEBSOCKET_BEARER) :])
            else:
                others += 1
    if not tokens:
        return None
    if len(tokens) > 1:
        raise CredentialRefusedError("multiple base64.bearer.authorization tokens specified")
    try:
        encoded = tokens[0]
        token = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise CredentialRefusedError("invalid base64.bearer.authorization token encoding") from None
    if token and not others:
        raise CredentialRefusedError("missing additional subprotocol")
    return token or None
