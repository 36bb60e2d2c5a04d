"""CertificateSigningRequests say who asked; their conditions say when they were set."""

from __future__ import annotations

from clusters.emulated.apiserver.registry.hooks.contract import Finish, Hooks, Object, finish_nothing
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.validation.certificates.certificatesigningrequest import (
    CertificateSigningRequestRules,
)


class CertificateSigningRequestHooks(Hooks):
    def __init__(self) -> None:
        self._rules = CertificateSigningRequestRules()

    async def begin_create(self, request: Request, obj: Object, dry_run: bool) -> Finish:
        """The requester is what authentication found, whatever the client wrote."""
        user = request.user
        self._rules.set_requester(obj, user.name, user.uid, user.groups, user.extra)
        return finish_nothing

    def prepared(self, obj: Object, old: Object, endpoint: str, now: str) -> None:
        if endpoint:
            self._rules.set_condition_times(obj, old, now)
