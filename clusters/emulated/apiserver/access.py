"""Who an api-server lets in and on whose word: what kube-apiserver is told by flags and configuration files.

    AccessOptions(
        static_tokens=StaticTokens.from_csv("secret-1,jane,u1,dev"),       # --token-auth-file
        oidc=(OidcOptions("https://login.test", ("kubernetes",), keys),),  # --oidc-*
        token_webhook=ReviewServer(url, ca_pem),                           # --authentication-token-webhook-config-file
        authorization_modes=("Node", "RBAC", "Webhook"),                   # --authorization-mode
        authorization_webhook=ReviewServer(url, ca_pem),                   # --authorization-webhook-config-file
    )

Client certificates, ServiceAccount tokens and bootstrap tokens need no configuration and are always there.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusters.emulated.apiserver.authentication.authenticator import Anonymous
from clusters.emulated.apiserver.authentication.outcome import TokenAuthenticator
from clusters.emulated.apiserver.authentication.static_tokens import StaticTokens
from clusters.emulated.apiserver.authorization.attributes import Authorizer, Decision, RemoteAuthorizer
from clusters.emulated.apiserver.authorization.chain import AlwaysAllow, AlwaysDeny
from clusters.emulated.clock import Clock
from clusters.emulated.outbound.client import OutboundClient, Trust

# Only clusters that use them pay for importing them.
if TYPE_CHECKING:
    from clusters.emulated.apiserver.authentication.jwt import KeySet
    from clusters.emulated.apiserver.authentication.oidc import OidcOptions
    from clusters.emulated.apiserver.review_webhook import ReviewWebhook

MODES = ("AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook")


class AccessError(ValueError):
    """The options contradict each other; the text says how to put it right."""


@dataclass(frozen=True, slots=True)
class ReviewServer:
    """A webhook that answers TokenReviews or SubjectAccessReviews, and how long its answers are remembered."""

    url: str
    #: The bundle its certificate is checked with; None is the machine's own.
    ca_pem: bytes | None = None
    certificate_pem: bytes = b""
    key_pem: bytes = b""
    timeout_s: float = 30.0
    #: How long a yes counts (a good token: 120 s, an allowed request: 300 s unless given), and how long a no.
    yes_ttl_s: float | None = None
    no_ttl_s: float = 30.0
    #: What a webhook that cannot be asked means for authorization: `NoOpinion` or `Deny`.
    failure_policy: str = "NoOpinion"

    @classmethod
    def from_kubeconfig(cls, document: Mapping[str, Any]) -> ReviewServer:
        """From the kubeconfig that kube-apiserver reads: the current context's cluster is the webhook."""
        context = _named(document, "contexts", "context", document.get("current-context"))
        cluster = _named(document, "clusters", "cluster", context.get("cluster"))
        user = _named(document, "users", "user", context.get("user")) if context.get("user") else {}
        authority = cluster.get("certificate-authority-data")
        return cls(
            cluster["server"],
            base64.b64decode(authority) if authority else None,
            base64.b64decode(user.get("client-certificate-data") or ""),
            base64.b64decode(user.get("client-key-data") or ""),
        )


def _named(document: Mapping[str, Any], entries: str, entry: str, name: object) -> Mapping[str, Any]:
    for each in document.get(entries) or ():
        if each.get("name") == name:
            found: Mapping[str, Any] = each.get(entry) or {}
            return found
    raise AccessError(f"the webhook's kubeconfig has no {entry} {name!r}")


@dataclass(frozen=True, slots=True)
class AccessOptions:
    """As a kubeadm cluster has it, unless said otherwise."""

    static_tokens: StaticTokens | None = None
    oidc: tuple[OidcOptions, ...] = ()
    #: An AuthenticationConfiguration, whose issuers' keys are given beside it by issuer URL.
    authentication_configuration: Mapping[str, Any] | None = None
    issuer_keys: Mapping[str, KeySet] = field(default_factory=dict)
    token_webhook: ReviewServer | None = None
    anonymous: Anonymous = field(default_factory=Anonymous)
    #: In the order in which they are asked.
    authorization_modes: tuple[str, ...] = ("Node", "RBAC")
    authorization_webhook: ReviewServer | None = None

    def __post_init__(self) -> None:
        unknown = [mode for mode in self.authorization_modes if mode not in MODES]
        if unknown or not self.authorization_modes:
            raise AccessError(f"authorization modes are {', '.join(MODES)}, not {', '.join(unknown) or 'none at all'}")
        if ("Webhook" in self.authorization_modes) != (self.authorization_webhook is not None):
            raise AccessError("authorization mode Webhook and authorization_webhook go together; give both or none")


class Access:
    """The authenticators and authorizers that the options name, for one api-server."""

    def __init__(self, options: AccessOptions, clock: Clock) -> None:
        self.options = options
        self._clock = clock
        self._outbound: OutboundClient | None = None

    def close(self) -> None:
        if self._outbound is not None:
            self._outbound.close()

    @property
    def anonymous(self) -> Anonymous:
        given = (self.options.authentication_configuration or {}).get("anonymous")
        if given is None:
            return self.options.anonymous
        paths = tuple(condition["path"] for condition in given.get("conditions") or ())
        return Anonymous(bool(given.get("enabled")), paths)

    def outside_tokens(self, audiences: tuple[str, ...]) -> Iterator[TokenAuthenticator]:
        """Those that are asked when no token of the cluster's own fits: OIDC, then the webhook."""
        options = self.options
        if options.oidc or options.authentication_configuration:
            from clusters.emulated.apiserver.authentication.oidc import Oidc, from_authentication_configuration

            yield from (Oidc(issuer, self._clock) for issuer in options.oidc)
            configuration = options.authentication_configuration or {}
            yield from from_authentication_configuration(configuration, options.issuer_keys, self._clock)
        if options.token_webhook is not None:
            from clusters.emulated.apiserver.authentication.webhook import WebhookTokens

            server = options.token_webhook
            ttl_s = 120 if server.yes_ttl_s is None else server.yes_ttl_s
            yield WebhookTokens(self._webhook(server), audiences, cache_ttl_s=ttl_s)

    def authorizers(self, node: Callable[[], Authorizer], rbac: Authorizer) -> Iterator[Authorizer | RemoteAuthorizer]:
        for mode in self.options.authorization_modes:
            if mode == "Node":
                yield node()
            elif mode == "RBAC":
                yield rbac
            elif mode == "Webhook":
                yield self._webhook_authorizer()
            else:
                yield AlwaysAllow() if mode == "AlwaysAllow" else AlwaysDeny()

    def _webhook_authorizer(self) -> RemoteAuthorizer:
        from clusters.emulated.apiserver.authorization.webhook import WebhookAuthorizer

        server = self.options.authorization_webhook
        assert server is not None, "the options have been checked"
        return WebhookAuthorizer(
            self._webhook(server),
            authorized_ttl_s=300 if server.yes_ttl_s is None else server.yes_ttl_s,
            unauthorized_ttl_s=server.no_ttl_s,
            decision_on_error=Decision.DENY if server.failure_policy == "Deny" else Decision.NO_OPINION,
        )

    def _webhook(self, server: ReviewServer) -> ReviewWebhook:
        from clusters.emulated.apiserver.review_webhook import ReviewWebhook

        if self._outbound is None:
            self._outbound = OutboundClient(self._clock, "Go-http-client/1.1")
        trust = Trust(server.ca_pem, certificate_pem=server.certificate_pem, key_pem=server.key_pem)
        return ReviewWebhook(self._outbound, self._clock, server.url, trust, server.timeout_s)
