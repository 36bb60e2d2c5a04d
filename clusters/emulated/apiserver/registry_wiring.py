"""What hooks and subresources need of the rest of the api-server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusters.emulated.apiserver.authorization.escalation import EscalationCheck
from clusters.emulated.apiserver.registry.hooks.every import HookDependencies, hooks
from clusters.emulated.apiserver.registry.hooks.loopback import Loopback

if TYPE_CHECKING:
    from clusters.emulated.apiserver.server import ApiServer


class RegistryWiring:
    """Fills `Services.hooks` and `Subresources` of one api-server, whose dispatcher is built already."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        dispatcher = server.dispatcher
        self.loopback = Loopback(server.registry, dispatcher.writer, dispatcher.deleter)
        self._hook()

    def _hook(self) -> None:
        server = self.server
        needs = HookDependencies(
            objects=server.objects,
            storages=server.storages,
            loopback=self.loopback,
            escalation=EscalationCheck(server.authorizers, server.rbac, server.objects),
            randomness=server.randomness,
            service_cidrs=server.options.service_cidrs,
        )
        server.services.hooks.update(hooks(needs))
