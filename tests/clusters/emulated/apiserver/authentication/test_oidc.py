"""ID tokens of an outside issuer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from clusters.emulated.apiserver.authentication import jwt
from clusters.emulated.apiserver.authentication.oidc import (
    Oidc,
    OidcConfigurationError,
    OidcOptions,
    from_authentication_configuration,
)
from clusters.emulated.apiserver.authentication.outcome import Circumstances, CredentialRefusedError
from clusters.emulated.apiserver.request import UserInfo
from tests.clusters.emulated.apiserver.authentication.certificates import NOW_S
from tests.clusters.emulated.apiserver.authentication.requests import SetClock

KEY = jwt.SigningKey.generate()
# The issuer publishes its keys as JSON; reading them back is part of what is tried here.
KEYS = jwt.KeySet.from_jwks(jwt.KeySet.of([KEY.public_key]).jwks())
ISSUER = "https://login.test"
OPTIONS = OidcOptions(
    ISSUER,
    ("kubernetes",),
    KEYS,
    username_claim="email",
    username_prefix="oidc:",
    groups_claim="groups",
    groups_prefix="oidc:",
    required_claims={"hd": "test"},
    signing_algorithms=("ES256",),
)
CLAIMS = {
    "iss": ISSUER,
    "aud": "kubernetes",
    "exp": NOW_S + 60,
    "email": "jane@test",
    "groups": ["a", "b"],
    "hd": "test",
    "jti": "t1",
}


def authenticate(options: OidcOptions = OPTIONS, **changes: Any) -> UserInfo | None:
    token = KEY.sign({name: value for name, value in (CLAIMS | changes).items() if value is not None})
    found = asyncio.run(Oidc(options, SetClock()).authenticate(token, Circumstances()))
    return None if found is None else found.user


def test_claims_become_a_user() -> None:
    credential = {"authentication.kubernetes.io/credential-id": ("JTI=t1",)}
    assert authenticate() == UserInfo("oidc:jane@test", "", ("oidc:a", "oidc:b"), credential)
    one_group = authenticate(groups="a")
    assert one_group is not None
    assert one_group.groups == ("oidc:a",)


def test_other_issuers_are_left_to_others() -> None:
    assert authenticate(iss="https://other.test") is None


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"exp": NOW_S - 1}, "oidc: verify token: oidc: token is expired"),
        ({"aud": "other"}, 'oidc: expected audience in ["kubernetes"] got ["other"]'),
        ({"email": None}, 'oidc: parse username claims "email": claim not present'),
        ({"email_verified": False}, "oidc: email not verified"),
        ({"hd": None}, "oidc: required claim hd not present in ID token"),
        ({"hd": "x"}, "oidc: required claim hd value does not match. Got = x, want = test"),
    ],
)
def test_tokens_that_are_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(CredentialRefusedError) as caught:
        authenticate(**changes)
    assert text in str(caught.value)


def test_unknown_keys_and_algorithms_are_refused() -> None:
    with pytest.raises(CredentialRefusedError, match="failed to verify signature"):
        authenticate(replace(OPTIONS, keys=jwt.KeySet({})))
    with pytest.raises(CredentialRefusedError, match='unexpected signature algorithm "ES256"'):
        authenticate(replace(OPTIONS, signing_algorithms=("RS256",)))


def test_a_structured_configuration() -> None:
    entry: dict[str, Any] = {
        "issuer": {"url": ISSUER, "audiences": ["kubernetes"]},
        "claimMappings": {
            "username": {"claim": "email", "prefix": "x:"},
            "groups": {"claim": "groups", "prefix": ""},
        },
        "claimValidationRules": [{"claim": "hd", "requiredValue": "test"}],
    }
    (oidc,) = from_authentication_configuration({"jwt": [entry]}, {ISSUER: KEYS}, SetClock())
    found = asyncio.run(oidc.authenticate(KEY.sign(CLAIMS), Circumstances()))
    assert found is not None
    assert (found.user.name, found.user.groups) == ("x:jane@test", ("a", "b"))
    entry["claimMappings"]["username"] = {"expression": "claims.email"}
    with pytest.raises(OidcConfigurationError, match="CEL expressions are not supported"):
        from_authentication_configuration({"jwt": [entry]}, {ISSUER: KEYS}, SetClock())
