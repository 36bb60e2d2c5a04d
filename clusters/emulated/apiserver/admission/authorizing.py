"""What some plugins ask of hop 3: may this user do that?"""

from __future__ import annotations

from typing import Protocol

from clusters.emulated.apiserver.request import UserInfo


class Authorize(Protocol):
    """True when the authorization chain allows it; no opinion and denial are both False."""

    async def __call__(
        self,
        user: UserInfo,
        verb: str,
        group: str,
        resource: str,
        subresource: str,
        namespace: str,
        name: str,
    ) -> bool: ...


async def may_use_signer(authorize: Authorize, user: UserInfo, verb: str, signer: str) -> bool:
    """On the signer itself, or on all signers of its domain (`kubernetes.io/*`)."""
    group = "certificates.k8s.io"
    if await authorize(user, verb, group, "signers", "", "", signer):
        return True
    domain = signer.partition("/")[0]
    return await authorize(user, verb, group, "signers", "", "", f"{domain}/*")
