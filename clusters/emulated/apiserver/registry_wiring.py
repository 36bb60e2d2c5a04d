"""What hooks and subresources need of the rest of the api-server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusters.emulated.apiserver.authentication.token_issuer import IssuerOptions
from clusters.emulated.apiserver.authorization.escalation import EscalationCheck
from clusters.emulated.apiserver.registry.hooks.every import HookDependencies, hooks
from clusters.emulated.apiserver.registry.hooks.loopback import Loopback
from clusters.emulated.apiserver.subresources.component_statuses import ComponentStatuses
from clusters.emulated.apiserver.subresources.every import SubresourceDependencies, add_subresources
from clusters.emulated.apiserver.subresources.kubelets import KubeletConnections
from clusters.emulated.outbound.client import OutboundClient

if TYPE_CHECKING:
    from clusters.emulated.apiserver.server import ApiServer


class RegistryWiring:
    """Fills `Services.hooks` and `Subresources` of one api-server, whose dispatcher is built already."""

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        dispatcher = server.dispatcher
        self.loopback = Loopback(server.registry, dispatcher.writer, dispatcher.deleter)
        #: Where the nodes of the cluster plug in: `kubelets.kubelets = …`.
        self.kubelets = KubeletConnections(server.objects)
        #: Where components say how they are: `component_statuses.checks["scheduler"] = …`.
        self.component_statuses = ComponentStatuses()
        self.outbound = OutboundClient(server.clock, "Go-http-client/1.1")
        self._hook()
        self._add_subresources()

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

    def _add_subresources(self) -> None:
        server = self.server
        issuer = server.options.service_account_issuer
        needs = SubresourceDependencies(
            services=server.services,
            registry=server.registry,
            objects=server.objects,
            deleter=server.dispatcher.deleter,
            loopback=self.loopback,
            authenticator=server.authenticator,
            authorizers=server.authorizers,
            signing_key=server.signing_key,
            issuer=IssuerOptions(issuer, (issuer,)),
            kubelets=self.kubelets,
            component_statuses=self.component_statuses,
            routes=server.routes,
            outbound=self.outbound,
        )
        add_subresources(server.subresources, needs)
