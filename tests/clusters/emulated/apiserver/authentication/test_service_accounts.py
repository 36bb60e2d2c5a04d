"""ServiceAccount tokens: issued, accepted, and refused for every reason there is."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from clusters.emulated.apiserver.authentication import jwt, token_issuer
from clusters.emulated.apiserver.authentication.authenticator import Authenticator
from clusters.emulated.apiserver.authentication.outcome import Circumstances, CredentialRefusedError
from clusters.emulated.apiserver.authentication.service_accounts import ServiceAccountTokens
from clusters.emulated.apiserver.authentication.token_issuer import Bound, IssuerOptions
from clusters.emulated.clock.clock import rfc3339
from clusters.kube.errors import StatusError
from tests.clusters.emulated.apiserver.authentication.certificates import NOW_S
from tests.clusters.emulated.apiserver.authentication.requests import SetClock
from tests.clusters.emulated.apiserver.authorization.memory_objects import MemoryObjects

OPTIONS = IssuerOptions()
ISSUER = OPTIONS.issuer
KEY = jwt.SigningKey.generate()
UNBOUND = Bound()
SERVICE_ACCOUNT: dict[str, Any] = {"metadata": {"name": "robot", "namespace": "shop", "uid": "sa-uid"}}
POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "shop", "uid": "pod-uid"},
    "spec": {"serviceAccountName": "robot", "nodeName": "n"},
}
NODE: dict[str, Any] = {"metadata": {"name": "n", "uid": "node-uid"}}


class Cluster:
    """A ServiceAccount, a Pod of it on a Node, and the authenticator that knows them."""

    def __init__(self, key: jwt.SigningKey = KEY) -> None:
        self.clock = SetClock()
        self.objects = MemoryObjects()
        self.objects.put("serviceaccounts", SERVICE_ACCOUNT)
        self.objects.put("pods", POD)
        self.objects.put("nodes", NODE)
        keys = jwt.KeySet.of([key.public_key])
        self.tokens = ServiceAccountTokens((ISSUER,), keys, OPTIONS.audiences, self.objects, self.clock)

    def accept(self, token: str, *audiences: str) -> Any:
        found = asyncio.run(self.tokens.authenticate(token, Circumstances(audiences)))
        return None if found is None else found.user

    def refusal(self, token: str, *audiences: str) -> str:
        with pytest.raises(CredentialRefusedError) as caught:
            self.accept(token, *audiences)
        return str(caught.value)


def issue(bound: Bound = UNBOUND, key: jwt.SigningKey = KEY, **spec: Any) -> str:
    prepared = token_issuer.prepare({"spec": spec}, SERVICE_ACCOUNT, "robot", OPTIONS, NOW_S)
    issued = token_issuer.issue_token(prepared, SERVICE_ACCOUNT, bound, key, OPTIONS, "id-1", NOW_S)
    return str(issued.token_request["status"]["token"])


def claims(token: str) -> dict[str, Any]:
    parsed = jwt.parse(token)
    assert parsed is not None
    return parsed.claims


def test_a_plain_token() -> None:
    token = issue()
    assert claims(token) == {
        "aud": [ISSUER],
        "exp": NOW_S + 3600,
        "iat": NOW_S,
        "iss": ISSUER,
        "jti": "id-1",
        "kubernetes.io": {"namespace": "shop", "serviceaccount": {"name": "robot", "uid": "sa-uid"}},
        "nbf": NOW_S,
        "sub": "system:serviceaccount:shop:robot",
    }
    user = Cluster().accept(token)
    assert (user.name, user.uid) == ("system:serviceaccount:shop:robot", "sa-uid")
    assert user.groups == ("system:serviceaccounts", "system:serviceaccounts:shop")
    assert user.extra == {"authentication.kubernetes.io/credential-id": ("JTI=id-1",)}


def test_a_token_of_a_pod_tells_where_it_runs() -> None:
    user = Cluster().accept(issue(Bound(pod=POD, node=NODE)))
    prefix = "authentication.kubernetes.io/"
    assert {name.removeprefix(prefix): value for name, (value,) in user.extra.items()} == {
        "credential-id": "JTI=id-1",
        "pod-name": "p",
        "pod-uid": "pod-uid",
        "node-name": "n",
        "node-uid": "node-uid",
    }


def test_an_rsa_key_signs_and_verifies_too() -> None:
    key = jwt.SigningKey(rsa.generate_private_key(65537, 2048))
    assert key.algorithm == "RS256"
    assert Cluster(key).accept(issue(key=key)).name == "system:serviceaccount:shop:robot"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"exp": NOW_S - 61}, "service account token has expired"),
        ({"nbf": NOW_S + 61}, "service account token is not valid yet"),
        ({"iat": NOW_S + 61}, "service account token is issued in the future"),
        ({"aud": ["vault"]}, f'token audiences ["vault"] is invalid for the target audiences ["{ISSUER}"]'),
        (
            {"kubernetes.io": {"namespace": "shop", "serviceaccount": {"name": "robot", "uid": "old"}}},
            "service account UID (sa-uid) does not match claim (old)",
        ),
        (
            {"kubernetes.io": {"namespace": "shop", "serviceaccount": {"name": "gone", "uid": "u"}}},
            'serviceaccounts "gone" not found',
        ),
    ],
)
def test_claims_that_are_refused(change: dict[str, Any], text: str) -> None:
    assert Cluster().refusal(KEY.sign(claims(issue()) | change)) == text


def test_the_clocks_may_differ_by_a_minute() -> None:
    changed = claims(issue()) | {"exp": NOW_S - 59, "nbf": NOW_S + 59, "iat": NOW_S + 59}
    assert Cluster().accept(KEY.sign(changed)) is not None


def test_other_issuers_tokens_are_left_to_others() -> None:
    assert Cluster().accept(KEY.sign(claims(issue()) | {"iss": "https://other"})) is None
    assert Cluster().accept("xyz") is None


def test_signatures_that_are_refused() -> None:
    token = issue()
    head, payload, signature = token.split(".")
    forged = signature[:-4] + ("AAAA" if signature[-4:] != "AAAA" else "BBBB")
    bad_signature = "go-jose/go-jose: error in cryptographic primitive"
    assert Cluster().refusal(f"{head}.{payload}.{forged}") == bad_signature
    assert Cluster().refusal(issue(key=jwt.SigningKey.generate())) == "invalid signature, no keys found"


def test_a_token_dies_with_its_pod() -> None:
    cluster = Cluster()
    token = issue(Bound(pod=POD, node=NODE))
    assert cluster.accept(token)
    # Being deleted is not being gone: the pod may still finish, for a minute after its time.
    leaving = {**POD, "metadata": POD["metadata"] | {"deletionTimestamp": rfc3339(NOW_S)}}
    cluster.objects.put("pods", leaving)
    cluster.clock.time_s = NOW_S + 60
    assert cluster.accept(token)
    cluster.clock.time_s = NOW_S + 61
    assert cluster.refusal(token) == "service account token has been invalidated"
    cluster.clock.time_s = NOW_S
    cluster.objects.put("pods", {**POD, "metadata": POD["metadata"] | {"uid": "second"}})
    assert cluster.refusal(token) == "pod UID (second) does not match service account pod ref claim (pod-uid)"
    cluster.objects.remove("pods", "shop", "p")
    assert cluster.refusal(token) == "service account token has been invalidated"


def test_an_accepted_token_expires_later() -> None:
    cluster = Cluster()
    token = issue(expirationSeconds=600)
    assert cluster.accept(token)
    cluster.clock.time_s = NOW_S + 661
    assert cluster.refusal(token) == "service account token has expired"


def test_what_the_cache_does_not_know_yet_is_read_live() -> None:
    cluster = Cluster()
    cluster.objects.remove("serviceaccounts", "shop", "robot")
    cluster.objects.only_live["serviceaccounts", "shop", "robot"] = SERVICE_ACCOUNT
    assert cluster.accept(issue())


def test_the_kubelets_token_lives_a_year_and_warns() -> None:
    token = issue(Bound(pod=POD, node=NODE), expirationSeconds=3607)
    assert claims(token)["exp"] == NOW_S + 365 * 24 * 3600
    assert claims(token)["kubernetes.io"]["warnafter"] == NOW_S + 3607
    cluster = Cluster()
    cluster.clock.time_s = NOW_S + 3617
    circumstances = Circumstances()
    assert asyncio.run(cluster.tokens.authenticate(token, circumstances))
    assert circumstances.audit_annotations == {
        "authentication.k8s.io/stale-token": "subject: system:serviceaccount:shop:robot, "
        "seconds after warning threshold: 10"
    }


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (60, "may not specify a duration less than 10 minutes"),
        ((1 << 32) + 1, "may not specify a duration larger than 2^32 seconds"),
    ],
)
def test_lifetimes_that_are_refused(seconds: int, text: str) -> None:
    with pytest.raises(StatusError) as caught:
        issue(expirationSeconds=seconds)
    assert caught.value.message == (
        f'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: {seconds}: {text}'
    )


def test_what_a_token_can_be_bound_to() -> None:
    assert token_issuer.bound_resource({"apiVersion": "v1", "kind": "Pod"}) == "pods"
    with pytest.raises(StatusError, match="cannot bind token to object of type apps/v1, Kind=Deployment"):
        token_issuer.bound_resource({"apiVersion": "apps/v1", "kind": "Deployment"})
    reference = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "other"}
    with pytest.raises(StatusError) as caught:
        token_issuer.check_bound(reference, POD, "robot")
    assert caught.value.code == 409
    with pytest.raises(StatusError, match="to pod running with different serviceaccount name"):
        token_issuer.check_bound(reference, POD, "default")


def legacy(cluster: Cluster) -> str:
    token = token_issuer.legacy_token(SERVICE_ACCOUNT, "robot-token", KEY)
    secret = {
        "metadata": {"name": "robot-token", "namespace": "shop", "uid": "s"},
        "data": {"token": base64.b64encode(token.encode()).decode()},
    }
    cluster.objects.put("secrets", secret)
    return token


def test_a_legacy_token_is_good_while_its_secret_is() -> None:
    cluster = Cluster()
    token = legacy(cluster)
    assert cluster.accept(token).extra == {}
    used = cluster.objects.get("secrets", "shop", "robot-token")
    assert used is not None
    assert used["metadata"]["labels"] == {"kubernetes.io/legacy-token-last-used": rfc3339(NOW_S)[:10]}
    cluster.objects.put("secrets", {**used, "data": {"token": base64.b64encode(b"new").decode()}})
    assert cluster.refusal(token) == "Token does not match server's copy"
    cluster.objects.remove("secrets", "shop", "robot-token")
    assert cluster.refusal(token) == "Token has been invalidated"


def test_every_use_of_an_automatic_legacy_token_is_warned_about() -> None:
    cluster = Cluster()
    cluster.objects.put("serviceaccounts", {**SERVICE_ACCOUNT, "secrets": [{"name": "robot-token"}]})
    token = legacy(cluster)
    warnings: list[str] = []
    for _ in range(2):
        assert asyncio.run(cluster.tokens.authenticate(token, Circumstances(warn=warnings.append)))
    assert len(warnings) == 2


def test_token_review_says_why() -> None:
    cluster = Cluster()
    authenticator = Authenticator(tokens=[cluster.tokens], audiences=OPTIONS.audiences)
    with pytest.raises(CredentialRefusedError) as caught:
        asyncio.run(authenticator.review_token("xyz", OPTIONS.audiences))
    assert str(caught.value) == "invalid bearer token"
    expired = KEY.sign(claims(issue()) | {"exp": NOW_S - 600})
    with pytest.raises(CredentialRefusedError) as caught:
        asyncio.run(authenticator.review_token(expired, OPTIONS.audiences))
    assert str(caught.value) == "[invalid bearer token, service account token has expired]"
    found = asyncio.run(authenticator.review_token(issue(audiences=["vault", "x"]), ("vault",)))
    assert found.audiences == ("vault",)
    assert found.user.groups[-1] == "system:authenticated"
