"""All subresources and virtual resources, by what they are called."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.emulated.apiserver.authentication.authenticator import Authenticator
from clusters.emulated.apiserver.authentication.jwt import SigningKey
from clusters.emulated.apiserver.authentication.token_issuer import IssuerOptions
from clusters.emulated.apiserver.authorization.chain import AuthorizerChain
from clusters.emulated.apiserver.objects import Objects
from clusters.emulated.apiserver.registry.hooks.loopback import Loopback
from clusters.emulated.apiserver.registry.registry import Registry
from clusters.emulated.apiserver.service_routes import ServiceRoutes
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.subresources import Subresources
from clusters.emulated.apiserver.subresources.binding import BindingSubresource
from clusters.emulated.apiserver.subresources.component_statuses import ComponentStatuses
from clusters.emulated.apiserver.subresources.eviction import EvictionSubresource
from clusters.emulated.apiserver.subresources.kubelets import KubeletConnections
from clusters.emulated.apiserver.subresources.logs import LogSubresource
from clusters.emulated.apiserver.subresources.proxy import ProxySubresources
from clusters.emulated.apiserver.subresources.reviews import Reviews
from clusters.emulated.apiserver.subresources.scale import ScaleSubresource
from clusters.emulated.apiserver.subresources.streams import StreamSubresources
from clusters.emulated.apiserver.subresources.token import TokenSubresource
from clusters.emulated.apiserver.verbs.delete import Deleter
from clusters.emulated.outbound.client import OutboundClient


@dataclass(frozen=True, slots=True)
class SubresourceDependencies:
    services: Services
    registry: Registry
    objects: Objects
    deleter: Deleter
    loopback: Loopback
    authenticator: Authenticator
    authorizers: AuthorizerChain
    signing_key: SigningKey
    issuer: IssuerOptions
    kubelets: KubeletConnections
    component_statuses: ComponentStatuses
    routes: ServiceRoutes
    outbound: OutboundClient


def add_subresources(subresources: Subresources, needs: SubresourceDependencies) -> None:
    services = needs.services
    pods = needs.registry.find("", "v1", "pods")
    assert pods is not None
    binding = BindingSubresource(services, pods)
    eviction = EvictionSubresource(services, needs.deleter, needs.loopback, needs.objects)
    token = TokenSubresource(services, needs.objects, needs.signing_key, needs.issuer)
    subresources.add("*", "scale", ScaleSubresource(services).handle)
    subresources.add("pods", "binding", binding.handle)
    subresources.add("pods", "eviction", eviction.handle)
    subresources.add("serviceaccounts", "token", token.handle)
    subresources.add_virtual("bindings", binding.handle_legacy)
    subresources.add_virtual("componentstatuses", needs.component_statuses.handle)
    reviews = Reviews(services, needs.authenticator, needs.authorizers)
    for resource in reviews.answers:
        subresources.add_virtual(resource, reviews.handle)
    _add_connections(subresources, needs)


def _add_connections(subresources: Subresources, needs: SubresourceDependencies) -> None:
    streams = StreamSubresources(needs.services, needs.kubelets)
    proxy = ProxySubresources(needs.services, needs.objects, needs.kubelets, needs.routes, needs.outbound)
    subresources.add("pods", "log", LogSubresource(needs.kubelets).handle)
    subresources.add("pods", "exec", streams.exec)
    subresources.add("pods", "attach", streams.attach)
    subresources.add("pods", "portforward", streams.port_forward)
    subresources.add("pods", "proxy", proxy.pod)
    subresources.add("services", "proxy", proxy.service)
    subresources.add("nodes", "proxy", proxy.node)
