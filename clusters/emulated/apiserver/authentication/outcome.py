"""What an authenticator finds out: a user, nothing (the credential is not of its kind), or a refusal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from clusters.emulated.apiserver.request import UserInfo

ALL_AUTHENTICATED = "system:authenticated"
ALL_UNAUTHENTICATED = "system:unauthenticated"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"


class CredentialRefusedError(Exception):
    """The credential is of this authenticator's kind and is not good. The client only ever sees a 401;
    the text is for TokenReview's status.error."""


@dataclass(frozen=True, slots=True)
class Authenticated:
    """The user, and the audiences the credential was good for (empty: it knows no audiences)."""

    user: UserInfo
    audiences: tuple[str, ...] = ()


def _ignore(text: str) -> None:
    """Nobody listens."""


@dataclass(slots=True)
class Circumstances:
    """What token authenticators may need and leave behind besides the token itself."""

    #: The audiences asked for; empty means the api-server's own.
    audiences: tuple[str, ...] = ()
    warn: Callable[[str], None] = _ignore
    audit_annotations: dict[str, str] = field(default_factory=dict)


class TokenAuthenticator(Protocol):
    """Knows one kind of bearer token."""

    async def authenticate(self, token: str, circumstances: Circumstances) -> Authenticated | None:
        """None when the token is of another kind; raises CredentialRefusedError when it is not good."""


def with_authenticated_group(user: UserInfo) -> UserInfo:
    """Everybody who is somebody is in system:authenticated."""
    groups = user.groups
    if user.name == "system:anonymous" or ALL_AUTHENTICATED in groups or ALL_UNAUTHENTICATED in groups:
        return user
    return UserInfo(user.name, user.uid, (*groups, ALL_AUTHENTICATED), user.extra)


def aggregate_refusals(texts: list[str]) -> str:
    """Several refusals as Go's aggregate prints them: one plain, more in brackets, each only once."""
    unique = list(dict.fromkeys(texts))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]" if unique else ""
