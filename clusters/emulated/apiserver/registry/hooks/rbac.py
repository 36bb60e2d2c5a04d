"""Roles and bindings: nobody grants what they do not hold, through whichever write."""

from __future__ import annotations

from clusters.emulated.apiserver.authorization.escalation import EscalationCheck
from clusters.emulated.apiserver.registry.hooks.contract import Hooks, Object
from clusters.emulated.apiserver.request import Request


class RoleHooks(Hooks):
    def __init__(self, escalation: EscalationCheck) -> None:
        self._escalation = escalation

    async def check_write(self, request: Request, obj: Object, old: Object | None) -> None:
        await self._escalation.check_role_write(request.user, request.info, obj, old)


class BindingHooks(Hooks):
    def __init__(self, escalation: EscalationCheck) -> None:
        self._escalation = escalation

    async def check_write(self, request: Request, obj: Object, old: Object | None) -> None:
        await self._escalation.check_binding_write(request.user, request.info, obj, old)
