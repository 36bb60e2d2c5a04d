"""The chain: who is recognised, who stays anonymous, who gets the 401."""

from __future__ import annotations

import asyncio
import base64

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from clusters.emulated.apiserver.authentication.authenticator import Anonymous, Authenticator
from clusters.emulated.apiserver.authentication.request_header import RequestHeader
from clusters.emulated.apiserver.authentication.static_tokens import StaticTokens
from clusters.emulated.apiserver.authentication.x509 import X509
from clusters.emulated.apiserver.request import ANONYMOUS, Request, UserInfo
from clusters.kube.errors import StatusError
from tests.clusters.emulated.apiserver.authentication.certificates import NOW_S, Authority
from tests.clusters.emulated.apiserver.authentication.requests import SetClock, request

CA = Authority("kubernetes")
TOKENS = StaticTokens.from_csv('t-alice,alice,u1,"dev,ops"\nt-bob,bob,u2\n')


def chain(clock: SetClock | None = None) -> Authenticator:
    return Authenticator(x509=X509(CA.pem, clock or SetClock()), tokens=[TOKENS])


def user(asked: Request, authenticator: Authenticator | None = None) -> UserInfo:
    return asyncio.run((authenticator or chain()).authenticate(asked))


def refused(asked: Request, authenticator: Authenticator | None = None) -> bool:
    with pytest.raises(StatusError) as caught:
        user(asked, authenticator)
    assert caught.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }
    return True


def test_a_certificate_names_user_and_groups() -> None:
    der = CA.issue("jane", "system:masters", "dev")
    found = user(request(certificate=der))
    assert (found.name, found.groups) == ("jane", ("system:masters", "dev", "system:authenticated"))
    (credential,) = found.extra["authentication.kubernetes.io/credential-id"]
    assert credential.startswith("X509SHA256=")
    assert len(credential) == len("X509SHA256=") + 64


@pytest.mark.parametrize(
    "der",
    [
        CA.issue("late", starts_s=-200, ends_s=-100),
        CA.issue("early", starts_s=100),
        CA.issue("server", usage=ExtendedKeyUsageOID.SERVER_AUTH),
        Authority("kubernetes").issue("stranger"),
        b"not a certificate",
    ],
    ids=["expired", "not yet valid", "server usage", "other CA", "garbage"],
)
def test_a_bad_certificate_is_refused_although_anonymous_would_do(der: bytes) -> None:
    assert refused(request(certificate=der))


def test_a_good_token_beside_a_bad_certificate_counts() -> None:
    bad = CA.issue("late", starts_s=-200, ends_s=-100)
    assert user(request(("Authorization", "Bearer t-bob"), certificate=bad)).name == "bob"


def test_a_certificate_without_a_name_is_nobody() -> None:
    assert user(request(certificate=CA.issue(""))) == ANONYMOUS


def test_intermediates_lead_to_the_authority() -> None:
    team = Authority("team", CA)
    der = team.issue("jane")
    assert user(request(certificate=der, chain=(team.der,))).name == "jane"
    assert refused(request(certificate=der))


def test_a_connection_is_verified_once_but_its_certificate_can_run_out() -> None:
    clock = SetClock()
    authenticator = chain(clock)
    asked = request(certificate=CA.issue("jane", ends_s=60))
    first = user(asked, authenticator)
    assert user(asked, authenticator) is first
    clock.time_s = NOW_S + 61
    assert refused(asked, authenticator)


@pytest.mark.parametrize("header", ["Bearer t-alice", "bearer  ", "BEARER t-alice more"])
def test_bearer_is_read_without_case(header: str) -> None:
    expected = "alice" if "alice" in header else "system:anonymous"
    assert user(request(("Authorization", header))).name == expected


def test_a_static_token_has_its_groups() -> None:
    assert user(request(("Authorization", "Bearer t-alice"))) == UserInfo(
        "alice", "u1", ("dev", "ops", "system:authenticated")
    )


@pytest.mark.parametrize("header", ["Bearer ", "Bearer", "Basic YTpi", ""])
def test_no_credential_is_anonymous(header: str) -> None:
    assert user(request(("Authorization", header))) == ANONYMOUS


def test_a_space_before_the_token_is_warned_about() -> None:
    asked = request(("Authorization", "Bearer  t-alice"))
    assert user(asked) == ANONYMOUS
    assert asked.warnings == [
        "the provided Authorization header contains extra space before the bearer token, and is ignored"
    ]


def test_an_unknown_token_is_refused() -> None:
    assert refused(request(("Authorization", "Bearer nobody")))


def test_anonymous_can_be_limited_to_paths_or_turned_off() -> None:
    probes = Authenticator(anonymous=Anonymous(paths={"/livez"}))
    assert user(request(path="/livez"), probes) == ANONYMOUS
    assert refused(request(), probes)
    assert refused(request(), Authenticator(anonymous=Anonymous(enabled=False)))


def test_a_websocket_brings_its_token_as_a_subprotocol() -> None:
    protocol = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(b"t-bob").decode().rstrip("=")
    upgrade = ("Upgrade", "websocket")
    assert user(request(upgrade, ("Sec-WebSocket-Protocol", f"v5.channel.k8s.io, {protocol}"))).name == "bob"
    assert refused(request(upgrade, ("Sec-WebSocket-Protocol", protocol)))


def test_the_front_proxy_speaks_for_others() -> None:
    proxies = Authority("front-proxy-ca")
    authenticator = Authenticator(request_header=RequestHeader(proxies.pem, SetClock()), x509=X509(CA.pem, SetClock()))
    headers = (
        ("X-Remote-User", "carol"),
        ("X-Remote-Group", "a"),
        ("X-Remote-Group", "b"),
        ("X-Remote-Extra-Scopes%2Fx", "one"),
    )
    proxy = proxies.issue("front-proxy-client")
    assert user(request(*headers, certificate=proxy), authenticator) == UserInfo(
        "carol", "", ("a", "b", "system:authenticated"), {"scopes/x": ("one",)}
    )
    assert refused(request(*headers, certificate=proxies.issue("somebody")), authenticator)
    # A client of the cluster's own CA may send the headers, but stays who it is.
    assert user(request(*headers, certificate=CA.issue("jane")), authenticator).name == "jane"
