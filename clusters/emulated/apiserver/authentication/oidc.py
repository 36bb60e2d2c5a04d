"""OpenID Connect: ID tokens of an outside issuer, whose keys are given by configuration.

Covers the `--oidc-*` flags and what `AuthenticationConfiguration` says with plain claims. CEL expressions
in it are refused when the configuration is read, because they would silently change who somebody is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusters.emulated.apiserver.authentication import jwt
from clusters.emulated.apiserver.authentication.outcome import (
    CREDENTIAL_ID,
    Authenticated,
    Circumstances,
    CredentialRefusedError,
)
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.clock import Clock
from clusters.emulated.clock.clock import rfc3339
from clusters.kube.gostring import quote, quoted_list

NOT_BEFORE_LEEWAY_S = 300
SIGNING_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")


class OidcConfigurationError(ValueError):
    """The configuration asks for something that is not supported; change it as the text says."""


@dataclass(frozen=True, slots=True)
class OidcOptions:
    """One issuer, and how its claims become a user."""

    issuer: str
    audiences: tuple[str, ...]
    keys: jwt.KeySet
    username_claim: str = "sub"
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    uid_claim: str = ""
    required_claims: Mapping[str, str] = field(default_factory=dict)
    signing_algorithms: Sequence[str] = ("RS256",)


class Oidc:
    """Authenticates ID tokens of one issuer."""

    def __init__(self, options: OidcOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock

    async def authenticate(self, token: str, circumstances: Circumstances) -> Authenticated | None:
        options = self._options
        parsed = jwt.parse(token)
        if parsed is None or parsed.claims.get("iss") != options.issuer:
            return None
        self._verify(parsed)
        claims = parsed.claims
        user = UserInfo(self._username(claims), self._uid(claims), self._groups(claims), _extra(claims))
        for claim, value in options.required_claims.items():
            if claim not in claims:
                raise CredentialRefusedError(f"oidc: required claim {claim} not present in ID token")
            if claims[claim] != value:
                raise CredentialRefusedError(
                    f"oidc: required claim {claim} value does not match. Got = {claims[claim]}, want = {value}"
                )
        return Authenticated(user)

    def _verify(self, token: jwt.Token) -> None:
        options = self._options
        now_s = self._clock.now_s()
        named = token.claims.get("aud")
        audiences = [named] if isinstance(named, str) else list(named or ())
        expires_s = token.claims.get("exp", 0)
        if expires_s < now_s:
            raise CredentialRefusedError(
                f"oidc: verify token: oidc: token is expired (Token Expiry: {_go_time(expires_s)})"
            )
        if token.claims.get("nbf", 0) > now_s + NOT_BEFORE_LEEWAY_S:
            raise CredentialRefusedError(
                f"oidc: verify token: oidc: current time {_go_time(now_s)} before the nbf (not before) time: "
                f"{_go_time(token.claims['nbf'])}"
            )
        if token.algorithm not in options.signing_algorithms:
            raise CredentialRefusedError(
                "oidc: verify token: oidc: malformed jwt: go-jose/go-jose: unexpected signature algorithm "
                f"{quote(token.algorithm)}; expected {quoted_list(list(options.signing_algorithms))}"
            )
        try:
            jwt.verify(token, options.keys.matching(token.key_id))
        except jwt.SignatureRefusedError:
            raise CredentialRefusedError(
                "oidc: verify token: failed to verify signature: failed to verify id token signature"
            ) from None
        if not set(audiences) & set(options.audiences):
            wanted = quoted_list(sorted(options.audiences))
            raise CredentialRefusedError(
                f"oidc: verify token: oidc: expected audience in {wanted} got {quoted_list(audiences)}"
            )

    def _username(self, claims: jwt.Claims) -> str:
        options = self._options
        name = claims.get(options.username_claim)
        where = f"oidc: parse username claims {quote(options.username_claim)}"
        if name is None:
            raise CredentialRefusedError(f"{where}: claim not present")
        if not isinstance(name, str):
            raise CredentialRefusedError(f"{where}: json: cannot unmarshal into Go value of type string")
        # An address that the issuer has not verified could be anybody's.
        if options.username_claim == "email" and claims.get("email_verified", True) is not True:
            raise CredentialRefusedError("oidc: email not verified")
        return options.username_prefix + name

    def _groups(self, claims: jwt.Claims) -> tuple[str, ...]:
        options = self._options
        found = claims.get(options.groups_claim) if options.groups_claim else None
        if found is None:
            return ()
        groups = [found] if isinstance(found, str) else found
        if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
            where = f"oidc: parse groups claim {quote(options.groups_claim)}"
            raise CredentialRefusedError(f"{where}: json: cannot unmarshal into Go value of type string")
        return tuple(options.groups_prefix + group for group in groups)

    def _uid(self, claims: jwt.Claims) -> str:
        claim = self._options.uid_claim
        if not claim:
            return ""
        uid = claims.get(claim)
        if not isinstance(uid, str):
            raise CredentialRefusedError(f"oidc: parse uid claim {quote(claim)}: claim not present")
        return uid


def _extra(claims: jwt.Claims) -> dict[str, tuple[str, ...]]:
    token_id = claims.get("jti")
    return {CREDENTIAL_ID: (f"JTI={token_id}",)} if isinstance(token_id, str) and token_id else {}


def _go_time(unix_s: float) -> str:
    return rfc3339(unix_s).replace("T", " ").replace("Z", " +0000 UTC")


def from_authentication_configuration(
    configuration: Mapping[str, Any], keys: Mapping[str, jwt.KeySet], clock: Clock
) -> list[Oidc]:
    """The `jwt` authenticators of an AuthenticationConfiguration; `keys` are the issuers' by URL."""
    found = []
    for position, entry in enumerate(configuration.get("jwt") or ()):
        where = f"jwt[{position}]"
        issuer = entry["issuer"]["url"]
        if issuer not in keys:
            raise OidcConfigurationError(f"{where}: no keys are given for issuer {issuer!r}; pass its JWKS")
        mappings = entry.get("claimMappings") or {}
        username, groups = mappings.get("username") or {}, mappings.get("groups") or {}
        uid = mappings.get("uid") or {}
        rules = entry.get("claimValidationRules") or ()
        parts = (username, groups, uid, *rules)
        if any("expression" in part for part in parts) or mappings.get("extra") or entry.get("userValidationRules"):
            raise OidcConfigurationError(f"{where}: CEL expressions are not supported; name claims instead")
        options = OidcOptions(
            issuer,
            tuple(entry["issuer"].get("audiences") or ()),
            keys[issuer],
            username_claim=username["claim"],
            username_prefix=username.get("prefix") or "",
            groups_claim=groups.get("claim", ""),
            groups_prefix=groups.get("prefix") or "",
            uid_claim=uid.get("claim", ""),
            required_claims={rule["claim"]: rule.get("requiredValue", "") for rule in rules},
            signing_algorithms=SIGNING_ALGORITHMS,
        )
        found.append(Oidc(options, clock))
    return found
