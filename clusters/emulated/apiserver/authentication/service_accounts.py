"""ServiceAccount tokens: bound ones (TokenRequest) and legacy ones kept in a Secret.

A token's signature is checked once; whether its ServiceAccount, Pod, Secret or Node is still there is
checked again whenever any of these changed.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Any

from clusters.emulated.apiserver.authentication import jwt
from clusters.emulated.apiserver.authentication.outcome import (
    CREDENTIAL_ID,
    Authenticated,
    Circumstances,
    CredentialRefusedError,
)
from clusters.emulated.apiserver.authentication.service_account_names import (
    group_names,
    split_username,
    username,
)
from clusters.emulated.apiserver.objects import Object, Objects
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.clock import Clock
from clusters.emulated.clock.clock import rfc3339
from clusters.kube.errors import not_found
from clusters.kube.gostring import quote, quoted_list
from clusters.kube.timestamps import unix_s

LEGACY_ISSUER = "kubernetes/serviceaccount"
LEEWAY_S = 60.0  # How wrong clocks may be, and how long a deleted object's token lives on.
TOKENS_MAX = 4096
LAST_USED_LABEL = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE_LABEL = "kubernetes.io/legacy-token-invalid-since"
_LEGACY_CLAIM = "kubernetes.io/serviceaccount/"
_LOOKED_UP = ("serviceaccounts", "pods", "secrets", "nodes")
_INVALIDATED = "service account token has been invalidated"


@dataclass(slots=True)
class _Known:
    """A token whose signature is good, and what was last found out about it."""

    claims: jwt.Claims
    is_legacy: bool
    user: UserInfo | None = None
    checked_at: tuple[int, ...] = ()
    valid_until_s: float = 0.0


class ServiceAccountTokens:
    """Authenticates tokens of these issuers, signed by one of these keys."""

    def __init__(
        self,
        issuers: tuple[str, ...],
        keys: jwt.KeySet,
        audiences: tuple[str, ...],
        objects: Objects,
        clock: Clock,
    ) -> None:
        self._issuers = frozenset(issuers)
        self._keys = keys
        self._audiences = audiences
        self._objects = objects
        self._clock = clock
        self._known: dict[bytes, _Known] = {}

    def use_clock(self, clock: Clock) -> None:
        """Judges tokens by another clock from now on, those it knows already as well."""
        self._clock = clock
        self._known.clear()

    async def authenticate(self, token: str, circumstances: Circumstances) -> Authenticated | None:
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        known = self._known.get(digest)
        if known is None:
            known = self._recognise(token)
            if known is None:
                return None
            if len(self._known) >= TOKENS_MAX:
                self._known.clear()
            self._known[digest] = known
        audiences = self._check_audiences(known, circumstances)
        revision_of = self._objects.revision_of
        revisions = tuple(map(revision_of, _LOOKED_UP))
        is_fresh = known.checked_at == revisions and self._clock.now_s() <= known.valid_until_s
        # Every use of a legacy token is noted, so its check is never skipped.
        if known.user is None or known.is_legacy or not is_fresh:
            known.user = None
            check = self._check_legacy if known.is_legacy else self._check_bound
            known.user = await check(known, token, circumstances)
            known.checked_at = revisions
        _note_stale(known, self._clock.now_s(), circumstances)
        return Authenticated(known.user, audiences)

    def _recognise(self, token: str) -> _Known | None:
        parsed = jwt.parse(token)
        if parsed is None:
            return None
        issuer = parsed.claims.get("iss")
        is_legacy = issuer == LEGACY_ISSUER
        if not is_legacy and issuer not in self._issuers:
            return None
        keys = self._keys.matching(parsed.key_id)
        if not keys:
            raise CredentialRefusedError("invalid signature, no keys found")
        try:
            jwt.verify(parsed, keys)
        except jwt.SignatureRefusedError as refused:
            raise CredentialRefusedError(str(refused)) from None
        return _Known(parsed.claims, is_legacy)

    def _check_audiences(self, known: _Known, circumstances: Circumstances) -> tuple[str, ...]:
        named = known.claims.get("aud")
        audiences = (named,) if isinstance(named, str) else tuple(named or ())
        if not audiences:
            circumstances.audit_annotations["authentication.k8s.io/legacy-token"] = str(known.claims.get("sub", ""))
            audiences = self._audiences
        wanted = circumstances.audiences or self._audiences
        common = tuple(audience for audience in audiences if audience in wanted)
        if not common and self._audiences:
            texts = quoted_list(list(audiences)), quoted_list(list(wanted))
            raise CredentialRefusedError(f"token audiences {texts[0]} is invalid for the target audiences {texts[1]}")
        return common

    def _check_dates(self, known: _Known) -> None:
        now_s = self._clock.now_s()
        claims = known.claims
        expires_s = _seconds(claims, "exp")
        if _seconds(claims, "nbf") > now_s + LEEWAY_S:
            raise CredentialRefusedError("service account token is not valid yet")
        if expires_s and expires_s < now_s - LEEWAY_S:
            raise CredentialRefusedError("service account token has expired")
        if _seconds(claims, "iat") > now_s + LEEWAY_S:
            raise CredentialRefusedError("service account token is issued in the future")
        known.valid_until_s = expires_s + LEEWAY_S if expires_s else float("inf")

    async def _check_bound(self, known: _Known, token: str, circumstances: Circumstances) -> UserInfo:
        self._check_dates(known)
        claims = known.claims.get("kubernetes.io") or {}
        namespace = claims.get("namespace", "")
        account = claims.get("serviceaccount") or {}
        name, uid = account.get("name", ""), account.get("uid", "")
        found = await self._service_account(namespace, name)
        if found["metadata"].get("uid", "") != uid:
            raise CredentialRefusedError(
                f"service account UID ({found['metadata'].get('uid', '')}) does not match claim ({uid})"
            )
        if self._is_gone(known, found):
            raise CredentialRefusedError(f"service account {namespace}/{name} has been deleted")
        extra: dict[str, tuple[str, ...]] = {}
        secret, pod, node = claims.get("secret"), claims.get("pod"), claims.get("node")
        if secret is not None:
            await self._check_object(known, "secrets", namespace, secret, "secret")
        if pod is not None:
            await self._check_object(known, "pods", namespace, pod, "pod")
            if pod.get("name") and pod.get("uid"):
                extra["authentication.kubernetes.io/pod-name"] = (pod["name"],)
                extra["authentication.kubernetes.io/pod-uid"] = (pod["uid"],)
        if known.claims.get("jti"):
            extra[CREDENTIAL_ID] = (f"JTI={known.claims['jti']}",)
        if node is not None:
            if pod is None:
                await self._check_object(known, "nodes", "", node, "node")
            if node.get("name"):
                extra["authentication.kubernetes.io/node-name"] = (node["name"],)
                if node.get("uid"):
                    extra["authentication.kubernetes.io/node-uid"] = (node["uid"],)
        return UserInfo(username(namespace, name), uid, group_names(namespace), extra)

    async def _service_account(self, namespace: str, name: str) -> Object:
        if not name:
            raise CredentialRefusedError("resource name may not be empty")
        found = await self._find("serviceaccounts", namespace, name)
        if found is None:
            raise CredentialRefusedError(str(not_found("serviceaccounts", name)))
        return found

    async def _find(self, resource: str, namespace: str, name: str) -> Object | None:
        """The cache may be behind a token that was issued a moment ago, so what it lacks is read live."""
        found = self._objects.get(resource, namespace, name)
        return found if found is not None else await self._objects.get_live(resource, namespace, name)

    async def _check_object(
        self, known: _Known, resource: str, namespace: str, reference: dict[str, str], kind: str
    ) -> None:
        found = await self._find(resource, namespace, reference.get("name", ""))
        if found is None:
            raise CredentialRefusedError(_INVALIDATED)
        uid, claimed = found["metadata"].get("uid", ""), reference.get("uid", "")
        if uid != claimed:
            raise CredentialRefusedError(
                f"{kind} UID ({uid}) does not match service account {kind} ref claim ({claimed})"
            )
        if self._is_gone(known, found):
            raise CredentialRefusedError(_INVALIDATED)

    def _is_gone(self, known: _Known, found: Object) -> bool:
        """Deleted, and for longer than the leeway: a Pod that is shutting down can still talk."""
        deleted = found["metadata"].get("deletionTimestamp")
        if deleted is None:
            return False
        ends_s = unix_s(deleted) + LEEWAY_S
        known.valid_until_s = min(known.valid_until_s, ends_s)
        return self._clock.now_s() > ends_s

    async def _check_legacy(self, known: _Known, token: str, circumstances: Circumstances) -> UserInfo:
        known.valid_until_s = float("inf")
        claims = known.claims
        subject = _text(claims, "sub")
        if not subject:
            raise CredentialRefusedError("sub claim is missing")
        found: dict[str, str] = {}
        for claim, title in (
            ("namespace", "namespace"),
            ("secret.name", "secretName"),
            ("service-account.name", "serviceAccountName"),
            ("service-account.uid", "serviceAccountUID"),
        ):
            found[title] = _text(claims, _LEGACY_CLAIM + claim)
            if not found[title]:
                raise CredentialRefusedError(f"{title} claim is missing")
        namespace, name, uid = found["namespace"], found["serviceAccountName"], found["serviceAccountUID"]
        if split_username(subject) != (namespace, name):
            raise CredentialRefusedError("sub claim is invalid")
        secret = await self._find("secrets", namespace, found["secretName"])
        if secret is None or secret["metadata"].get("deletionTimestamp"):
            raise CredentialRefusedError("Token has been invalidated")
        stored = base64.b64decode((secret.get("data") or {}).get("token", ""))
        if not hmac.compare_digest(stored, token.encode("utf-8", "surrogateescape")):
            raise CredentialRefusedError("Token does not match server's copy")
        account = await self._service_account(namespace, name)
        if account["metadata"].get("deletionTimestamp"):
            raise CredentialRefusedError(f"ServiceAccount {namespace}/{name} has been deleted")
        if account["metadata"].get("uid") != uid:
            raise CredentialRefusedError(
                f"ServiceAccount UID ({account['metadata'].get('uid', '')}) does not match claim ({uid})"
            )
        await self._note_use(secret, account, circumstances)
        return UserInfo(username(namespace, name), uid, group_names(namespace))

    async def _note_use(self, secret: Object, account: Object, circumstances: Circumstances) -> None:
        """Long-lived tokens are tracked, so that a cleaner can retire unused ones."""
        name, namespace = secret["metadata"]["name"], secret["metadata"]["namespace"]
        labels = secret["metadata"].get("labels") or {}
        today = rfc3339(self._clock.now_s())[:10]
        tomorrow = rfc3339(self._clock.now_s() + 86400)[:10]
        annotations = circumstances.audit_annotations
        if labels.get(LAST_USED_LABEL) not in (today, tomorrow):
            await self._objects.modify("secrets", namespace, name, lambda current: _mark_used(current, today))
        if labels.get(INVALID_SINCE_LABEL):
            annotations["authentication.k8s.io/legacy-token-invalidated"] = f"{name}/{namespace}"
            raise CredentialRefusedError(
                f"the token in secret {namespace}/{name} for service account "
                f"{namespace}/{account['metadata']['name']} has been marked invalid. Use tokens from the "
                "TokenRequest API or manually created secret-based tokens, or remove the "
                f"'{INVALID_SINCE_LABEL}' label from the secret to temporarily allow use of this token"
            )
        if any(reference.get("name") == name for reference in account.get("secrets") or ()):
            circumstances.warn(
                "Use tokens from the TokenRequest API or manually created secret-based tokens "
                "instead of auto-generated secret-based tokens."
            )
            annotations["authentication.k8s.io/legacy-token-autogenerated-secret"] = name
        else:
            annotations["authentication.k8s.io/legacy-token-manual-secret"] = name


def _mark_used(secret: Object, today: str) -> Object:
    metadata = secret["metadata"]
    metadata["labels"] = (metadata.get("labels") or {}) | {LAST_USED_LABEL: today}
    return secret


def _note_stale(known: _Known, now_s: float, circumstances: Circumstances) -> None:
    """A token used past its asked-for life, which only the extension keeps alive."""
    details: Any = known.claims.get("kubernetes.io")
    if not isinstance(details, dict) or "warnafter" not in details:
        return
    late_s = int(now_s) - int(details["warnafter"])
    if late_s > 0:
        circumstances.audit_annotations["authentication.k8s.io/stale-token"] = (
            f"subject: {known.claims.get('sub', '')}, seconds after warning threshold: {late_s}"
        )


def _seconds(claims: jwt.Claims, name: str) -> float:
    value = claims.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CredentialRefusedError(f"claim {quote(name)} is not a number")
    return value


def _text(claims: jwt.Claims, name: str) -> str:
    value = claims.get(name, "")
    return value if isinstance(value, str) else ""
