"""One api-server replica: everything of hops 1 to 6 and 8 wired together over a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.access import Access, AccessOptions
from clusters.emulated.apiserver.admission_wiring import AdmissionWiring
from clusters.emulated.apiserver.aggregation.following import Aggregation
from clusters.emulated.apiserver.audit import AuditLog
from clusters.emulated.apiserver.authentication.authenticator import Authenticator
from clusters.emulated.apiserver.authentication.bootstrap_tokens import BootstrapTokens
from clusters.emulated.apiserver.authentication.impersonation import Impersonation
from clusters.emulated.apiserver.authentication.jwt import KeySet, SigningKey
from clusters.emulated.apiserver.authentication.outcome import TokenAuthenticator
from clusters.emulated.apiserver.authentication.request_header import RequestHeader
from clusters.emulated.apiserver.authentication.service_accounts import ServiceAccountTokens
from clusters.emulated.apiserver.authentication.x509 import X509
from clusters.emulated.apiserver.authorization.attributes import Attributes, forbidden
from clusters.emulated.apiserver.authorization.chain import (
    NOT_SNIFFED,
    AuthorizerChain,
    AuthorizerFailed,
    PrivilegedGroups,
)
from clusters.emulated.apiserver.authorization.node import NodeAuthorizer
from clusters.emulated.apiserver.authorization.rbac import RbacAuthorizer
from clusters.emulated.apiserver.bootstrap import node_rules
from clusters.emulated.apiserver.chain import Chain
from clusters.emulated.apiserver.customresources.following import CustomResources
from clusters.emulated.apiserver.dispatch import Dispatcher
from clusters.emulated.apiserver.flowcontrol import FlowControl
from clusters.emulated.apiserver.http import HttpRequest, HttpResponse
from clusters.emulated.apiserver.metrics import Metrics
from clusters.emulated.apiserver.nonresource import NonResource
from clusters.emulated.apiserver.registry.registry import Registry
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.registry.storage import ResourceStorage
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.registry_wiring import RegistryWiring
from clusters.emulated.apiserver.request import Request, UserInfo
from clusters.emulated.apiserver.service_routes import ServiceRoutes
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.stored_objects import StoredObjects
from clusters.emulated.apiserver.subresources import Subresources
from clusters.emulated.apiserver.validation.kinds import RULES
from clusters.emulated.clock import Clock, Randomness
from clusters.emulated.store.protocol import Store
from clusters.emulated.watch.cache import WatchCache
from clusters.kube import errors
from clusters.kube.schema import Catalogue

Object = dict[str, Any]
ISSUER = "https://kubernetes.default.svc.cluster.local"


@dataclass(slots=True)
class ServerOptions:
    """What differs between clusters: version, trust, extra credentials."""

    version: str = "1.36"
    client_ca_pem: bytes = b""
    front_proxy_ca_pem: bytes = b""
    signing_key: SigningKey | None = None
    access: AccessOptions = field(default_factory=AccessOptions)
    service_account_issuer: str = ISSUER
    audit: AuditLog | None = None
    #: Certificate and key (PEM) with which aggregated api-servers are told who asks; made when first needed.
    front_proxy_client: Callable[[], tuple[bytes, bytes]] | None = None
    #: The first one's IP family is the default of Services.
    service_cidrs: tuple[str, ...] = ("10.96.0.0/12",)


class ApiServer:
    """`await start()`, then it is a handler: `await server(http_request)`."""

    def __init__(self, store: Store, clock: Clock, randomness: Randomness, options: ServerOptions) -> None:
        self.store = store
        self.clock = clock
        self.randomness = randomness
        self.options = options
        self.catalogue = Catalogue.of(options.version)
        self.registry = Registry(options.version, self.catalogue, RULES)
        self.metrics = Metrics(clock)
        self.storages: dict[str, ResourceStorage] = {}
        for served in self.registry:
            self.add_storage(served)
        self.objects = StoredObjects(self.storages)
        #: host:port under which clients reach this replica; known once somebody listens.
        self.address = "127.0.0.1:6443"
        self.started = False
        self.signing_key = options.signing_key or SigningKey.generate()
        self.token_keys = KeySet.of([self.signing_key.public_key])
        self.access = Access(options.access, clock)
        self.authenticator = self._authenticator()
        self.rbac = RbacAuthorizer(self.objects)
        self.authorizers = AuthorizerChain((PrivilegedGroups(), *self.access.authorizers(self._node, self.rbac)))
        self.impersonation = Impersonation(self.authorizers)
        self.routes = ServiceRoutes(self.objects)
        self.admission = AdmissionWiring(self)
        self.services = Services(
            clock, randomness, self.catalogue, self.admission.chain(), self._authorize, self.storages,
            self.registry.converter,
        )  # fmt: skip
        self.subresources = Subresources()
        self.dispatcher = Dispatcher(self.registry, self.services, self.subresources)
        self.subresources.dispatcher = self.dispatcher
        self.registry_wiring = RegistryWiring(self)
        self.custom_resources = CustomResources(self)
        self.aggregation = Aggregation(self)
        self.nonresource = NonResource(self)
        self.flow_control = FlowControl(self.storages, clock)
        self.chain = Chain(
            (
                self.authenticate,
                self.impersonate,
                self.flow_control,
                self.authorize,
                self.route,
            ),
            clock,
            randomness,
            options.audit,
            self.metrics.requests,
        )

    async def __call__(self, http: HttpRequest) -> HttpResponse:
        return await self.chain(http)

    # The handlers, in order

    async def authenticate(self, request: Request) -> None:
        request.user = await self.authenticator.authenticate(request)

    async def impersonate(self, request: Request) -> None:
        try:
            await self.impersonation.apply(request)
        except errors.StatusError as refused:
            if refused.code == 403:
                request.response_headers.append(NOT_SNIFFED)
            raise

    async def authorize(self, request: Request) -> HttpResponse | None:
        try:
            await self.authorizers.require(request)
        except AuthorizerFailed as failed:
            return respond.text(request, failed.code, failed.text)
        return None

    async def route(self, request: Request) -> HttpResponse:
        if "//" in request.http.path:
            return respond.page_not_found(request)  # Authorized as if cleaned, but no route matches it.
        if self.aggregation.remotes:
            response = await self.aggregation.proxied(request)
            if response is not None:
                return response
        if request.info.is_resource:
            return await self.dispatcher(request)
        return await self.nonresource.answer(request)

    # Wiring

    def add_storage(self, served: Served) -> ResourceStorage:
        """The storage of a resource; versions of one resource share it."""
        storage = self.storages.get(served.storage_resource)
        if storage is None:
            cache: WatchCache[Stored] = WatchCache(self.store, served.storage_prefix, Stored.from_key_value, self.clock)
            measured = self.metrics.store.of(self.store, served.storage_resource)
            storage = ResourceStorage(measured, cache, served.storage_prefix)
            self.storages[served.storage_resource] = storage
        return storage

    async def start(self) -> None:
        for storage in self.storages.values():
            await storage.cache.start()
        self.aggregation.start()
        await self.custom_resources.start()
        self.started = True

    async def stop(self) -> None:
        self.started = False
        self.custom_resources.stop()
        self.aggregation.stop()
        for storage in self.storages.values():
            storage.cache.stop()
        self.access.close()
        self.admission.outbound.close()
        self.registry_wiring.outbound.close()

    def _authenticator(self) -> Authenticator:
        options = self.options
        audiences = (options.service_account_issuer,)
        tokens: list[TokenAuthenticator] = []
        if options.access.static_tokens is not None:
            tokens.append(options.access.static_tokens)
        issuers = (options.service_account_issuer,)
        tokens.append(ServiceAccountTokens(issuers, self.token_keys, audiences, self.objects, self.clock))
        tokens.append(BootstrapTokens(self.objects, self.clock))
        tokens += self.access.outside_tokens(audiences)
        return Authenticator(
            request_header=(
                RequestHeader(options.front_proxy_ca_pem, self.clock) if options.front_proxy_ca_pem else None
            ),
            x509=X509(options.client_ca_pem, self.clock) if options.client_ca_pem else None,
            tokens=tokens,
            anonymous=self.access.anonymous,
            audiences=audiences,
        )

    def _node(self) -> NodeAuthorizer:
        return NodeAuthorizer(self.objects, node_rules(self.options.version))

    async def _authorize(self, user: UserInfo, request: Request, verb: str, served: Served, name: str) -> None:
        info = request.info
        attributes = Attributes(
            user,
            verb,
            group=served.resource.group,
            version=served.resource.version,
            resource=served.resource.plural,
            subresource=info.subresource,
            namespace=info.namespace,
            name=name,
            path=info.path,
        )
        verdict = await self.authorizers.authorize(attributes)
        if not verdict.allowed:
            raise forbidden(attributes, verdict.reason)
