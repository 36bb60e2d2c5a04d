"""Bootstrap tokens: `id.secret`, kept as a Secret in kube-system, with which new nodes join."""

from __future__ import annotations

import base64
import binascii
import hmac
import re

from clusters.emulated.apiserver.authentication.outcome import (
    Authenticated,
    Circumstances,
)
from clusters.emulated.apiserver.objects import Object, Objects
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.clock import Clock
from clusters.kube.timestamps import TimestampError, parse_time, unix_s

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
DEFAULT_GROUP = "system:bootstrappers"
SECRET_TYPE = "bootstrap.kubernetes.io/token"


class BootstrapTokens:
    """Authenticates `system:bootstrap:<id>`. Anything wrong with the Secret makes the token unknown."""

    def __init__(self, objects: Objects, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock

    async def authenticate(self, token: str, circumstances: Circumstances) -> Authenticated | None:
        parts = _TOKEN.fullmatch(token)
        if parts is None:
            return None
        token_id, token_secret = parts.groups()
        secret = self._objects.get("secrets", "kube-system", f"bootstrap-token-{token_id}")
        if secret is None or secret["metadata"].get("deletionTimestamp") or secret.get("type") != SECRET_TYPE:
            return None
        if not hmac.compare_digest(_data(secret, "token-secret").encode(), token_secret.encode()):
            return None
        if _data(secret, "token-id") != token_id or self._has_expired(secret):
            return None
        if _data(secret, "usage-bootstrap-authentication") != "true":
            return None
        groups = _groups(_data(secret, "auth-extra-groups"))
        if groups is None:
            return None
        return Authenticated(UserInfo(f"system:bootstrap:{token_id}", groups=groups))

    def _has_expired(self, secret: Object) -> bool:
        expiration = _data(secret, "expiration")
        if not expiration:
            return False
        try:
            return unix_s(parse_time(expiration)) <= self._clock.now_s()
        except TimestampError:
            return True


def _groups(extra: str) -> tuple[str, ...] | None:
    """Sorted, with the default group; None when one of them is not a bootstrappers' group."""
    if not extra:
        return (DEFAULT_GROUP,)
    names = extra.split(",")
    if any(_GROUP.fullmatch(name) is None for name in names):
        return None
    return tuple(sorted({DEFAULT_GROUP, *names}))


def _data(secret: Object, name: str) -> str:
    try:
        return base64.b64decode((secret.get("data") or {}).get(name, "")).decode("utf-8", "replace")
    except binascii.Error:
        return ""
