"""Every way to be somebody, asked through the HTTPS listener as a client asks; and a webhook that decides."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clusters.emulated.apiserver.access import AccessError, AccessOptions, ReviewServer
from clusters.emulated.apiserver.authentication.authenticator import Anonymous
from clusters.emulated.apiserver.authentication.jwt import KeySet, SigningKey
from clusters.emulated.apiserver.authentication.oidc import OidcOptions
from clusters.emulated.apiserver.authentication.static_tokens import StaticTokens
from clusters.emulated.cluster import EmulatedCluster
from clusters.emulated.control_plane import ControlPlaneOptions
from tests.clusters.emulated.apiserver.admission.webhooks.conftest import WebhookServer

WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
UNAUTHORIZED = {
    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
    "message": "Unauthorized", "reason": "Unauthorized", "code": 401,
}  # fmt: skip


@pytest.fixture
def reviewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebhookServer]:
    server = WebhookServer(tmp_path_factory.mktemp("reviewer"))
    yield server
    server.close()


class Caller:
    """Asks over TLS, with a bearer token or a client certificate or neither."""

    def __init__(self, cluster: EmulatedCluster) -> None:
        self.cluster = cluster
        assert cluster.kubeconfig.exists()
        _, self._host, port = cluster.plane.server_url.replace("//", "").split(":")
        self._port = int(port)

    def __call__(
        self, method: str, path: str, body: Any = None, *, token: str = "", tls: ssl.SSLContext | None = None
    ) -> tuple[int, Any]:
        connection = http.client.HTTPSConnection(
            self._host, self._port, context=tls or self.cluster.plane.pki.client_context(), timeout=10
        )
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        content = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, content, headers | {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        is_json = "json" in (answer.getheader("Content-Type") or "")
        return answer.status, json.loads(text) if is_json else text.decode()

    def who(self, token: str) -> tuple[str, list[str]]:
        code, review = self("POST", WHOAMI, {}, token=token)
        assert code == 201, review
        user = review["status"]["userInfo"]
        return user["username"], user["groups"]


@contextmanager
def serving(**access: Any) -> Iterator[Caller]:
    with EmulatedCluster(ControlPlaneOptions(access=AccessOptions(**access))) as cluster:
        yield Caller(cluster)


def test_static_tokens() -> None:
    tokens = StaticTokens.from_csv('secret-1,jane,u1,"dev,ops"\n')
    with serving(static_tokens=tokens) as ask:
        assert ask.who("secret-1") == ("jane", ["dev", "ops", "system:authenticated"])
        assert ask("GET", "/api", token="secret-2") == (401, UNAUTHORIZED)


def test_id_tokens_of_an_issuer() -> None:
    key = SigningKey.generate()
    keys = KeySet.from_jwks(KeySet.of([key.public_key]).jwks())
    issuer = OidcOptions(
        "https://login.test", ("kubernetes",), keys, username_claim="email", username_prefix="oidc:",
        groups_claim="groups", signing_algorithms=("ES256", "RS256"),
    )  # fmt: skip
    claims = {"iss": "https://login.test", "aud": "kubernetes", "email": "jane@test", "groups": ["dev"]}
    with serving(oidc=(issuer,)) as ask:
        now_s = int(time.time())
        assert ask.who(key.sign(claims | {"exp": now_s + 60})) == ("oidc:jane@test", ["dev", "system:authenticated"])
        assert ask("GET", "/api", token=key.sign(claims | {"exp": now_s - 60})) == (401, UNAUTHORIZED)
        assert ask("GET", "/api", token=SigningKey.generate().sign(claims | {"exp": now_s + 60}))[0] == 401


def test_an_authentication_configuration() -> None:
    key = SigningKey.generate()
    configuration = {
        "jwt": [
            {
                "issuer": {"url": "https://login.test", "audiences": ["kubernetes"]},
                "claimMappings": {"username": {"claim": "sub", "prefix": "x:"}},
            }
        ],
        "anonymous": {"enabled": True, "conditions": [{"path": "/livez"}]},
    }
    keys = {"https://login.test": KeySet.of([key.public_key])}
    with serving(authentication_configuration=configuration, issuer_keys=keys) as ask:
        claims = {"iss": "https://login.test", "aud": "kubernetes", "sub": "jo", "exp": int(time.time()) + 60}
        assert ask.who(key.sign(claims))[0] == "x:jo"
        assert ask("GET", "/livez") == (200, "ok")
        assert ask("GET", "/readyz") == (401, UNAUTHORIZED)


def test_a_webhook_that_knows_tokens(reviewer: WebhookServer) -> None:
    def review(asked: dict[str, Any]) -> dict[str, Any]:
        known = asked["spec"]["token"] == "good"
        user = {"username": "jane", "groups": ["dev"]}
        return asked | {"status": {"authenticated": True, "user": user} if known else {"authenticated": False}}

    reviewer.answers["/tokens"] = review
    webhook = ReviewServer(reviewer.url("/tokens"), base64.b64decode(reviewer.ca_bundle))
    with serving(token_webhook=webhook) as ask:
        assert ask.who("good") == ("jane", ["dev", "system:authenticated"])
        assert ask("GET", "/api", token="bad") == (401, UNAUTHORIZED)
        assert ask.who("good")[0] == "jane"
    asked = [each["spec"]["token"] for each in reviewer.reviews]
    assert asked == ["good", "bad"]  # The second time it was remembered.


def test_bootstrap_tokens() -> None:
    with serving() as ask:
        secret = {
            "metadata": {"name": "bootstrap-token-abcdef"},
            "type": "bootstrap.kubernetes.io/token",
            "stringData": {
                "token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
                "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
            },
        }  # fmt: skip
        path = "/api/v1/namespaces/kube-system/secrets"
        ask.cluster.api.create(path, secret)
        name, groups = ask.who("abcdef.0123456789abcdef")
        assert name == "system:bootstrap:abcdef"
        assert groups[:2] == ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"]
        ask.cluster.api.delete(f"{path}/bootstrap-token-abcdef")
        assert ask("GET", "/api", token="abcdef.0123456789abcdef") == (401, UNAUTHORIZED)


def _pod(cluster: EmulatedCluster) -> Any:
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "node-1"}
    return cluster.api.create("/api/v1/namespaces/default/pods", {"metadata": {"name": "web"}, "spec": spec})


BOUND: list[tuple[str, str, Callable[[EmulatedCluster], Any]]] = [
    ("Pod", "/api/v1/namespaces/default/pods/web?gracePeriodSeconds=0", _pod),
    (
        "Secret",
        "/api/v1/namespaces/default/secrets/s",
        lambda cluster: cluster.api.create("/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}}),
    ),
    (
        "Node",
        "/api/v1/nodes/node-1",
        lambda cluster: cluster.api.create("/api/v1/nodes", {"metadata": {"name": "node-1"}}),
    ),
]


@pytest.mark.parametrize(("kind", "path", "make"), BOUND, ids=[kind for kind, _, _ in BOUND])
def test_tokens_end_with_what_they_are_bound_to(kind: str, path: str, make: Callable[..., Any]) -> None:
    with serving() as ask:
        api = ask.cluster.api
        account = "/api/v1/namespaces/default/serviceaccounts"
        if api.request("GET", f"{account}/default").code == 404:
            api.create(account, {"metadata": {"name": "default"}})
        made = make(ask.cluster)
        reference = {"kind": kind, "apiVersion": "v1", "name": made["metadata"]["name"]}
        request = {"spec": {"boundObjectRef": reference | {"uid": made["metadata"]["uid"]}}}
        token = api.create(f"{account}/default/token", request)["status"]["token"]
        assert ask.who(token)[0] == "system:serviceaccount:default:default"
        api.delete(path)
        assert ask("GET", "/api", token=token) == (401, UNAUTHORIZED)


def test_tokens_for_somebody_else_and_expired_ones() -> None:
    with serving() as ask:
        api = ask.cluster.api
        account = "/api/v1/namespaces/default/serviceaccounts"
        api.create(account, {"metadata": {"name": "robot"}})
        path = f"{account}/robot/token"
        other = api.create(path, {"spec": {"audiences": ["vault"]}})["status"]["token"]
        assert ask("GET", "/api", token=other) == (401, UNAUTHORIZED)
        own = api.create(path, {"spec": {"expirationSeconds": 600}})["status"]["token"]
        assert ask.who(own)[0] == "system:serviceaccount:default:robot"
        api.delete(f"{account}/robot")
        assert ask("GET", "/api", token=own) == (401, UNAUTHORIZED)


def test_client_certificates_of_this_and_of_another_authority() -> None:
    with serving() as ask:
        pki = ask.cluster.plane.pki
        jane = pki.client_context(pki.ca.client("jane", ("dev",)))
        code, review = ask("POST", WHOAMI, {}, tls=jane)
        assert (code, review["status"]["userInfo"]["username"]) == (201, "jane")
        assert review["status"]["userInfo"]["groups"] == ["dev", "system:authenticated"]
        stranger = pki.client_context(pki.front_proxy_ca.client("jane", ("dev",)))
        assert ask("GET", "/api", tls=stranger) == (401, UNAUTHORIZED)


def test_nobody_may_stay_anonymous() -> None:
    with serving() as ask:
        assert ask("GET", "/version")[0] == 200
        assert ask("GET", "/api/v1/pods")[1]["message"].startswith('pods is forbidden: User "system:anonymous"')
    with serving(anonymous=Anonymous(enabled=False)) as ask:
        assert ask("GET", "/version") == (401, UNAUTHORIZED)


def test_a_webhook_allows_denies_or_has_no_opinion(reviewer: WebhookServer) -> None:
    """Asked before RBAC, its Deny ends the matter; where it has no opinion, RBAC is asked."""

    def review(asked: dict[str, Any]) -> dict[str, Any]:
        resource = asked["spec"].get("resourceAttributes", {}).get("resource", "")
        if resource == "secrets":
            return asked | {"status": {"allowed": False, "denied": True, "reason": "not these"}}
        if resource == "pods":
            return asked | {"status": {"allowed": True, "reason": "as you like"}}
        return asked | {"status": {"allowed": False, "reason": "who knows"}}

    reviewer.answers["/access"] = review
    webhook = ReviewServer(reviewer.url("/access"), base64.b64decode(reviewer.ca_bundle))
    tokens = StaticTokens.from_csv("t,jane,u1\n")
    with serving(static_tokens=tokens, authorization_modes=("Webhook", "RBAC"), authorization_webhook=webhook) as ask:
        assert ask("GET", "/api/v1/pods", token="t")[0] == 200
        code, denied = ask("GET", "/api/v1/secrets", token="t")
        assert code == 403
        assert denied["message"] == (
            'secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" at the cluster scope: '
            "not these"
        )
        assert ask("GET", "/api/v1/nodes", token="t")[1]["message"].endswith("at the cluster scope: who knows")
        assert ask("GET", "/version", token="t")[0] == 200  # By RBAC.
        path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        spec = {"user": "jo", "resourceAttributes": {"verb": "get", "resource": "secrets"}}
        answer = ask.cluster.api.create(path, {"spec": spec})["status"]
        assert answer == {"allowed": False, "denied": True, "reason": "not these"}


@pytest.mark.parametrize("policy", ["NoOpinion", "Deny"])
def test_a_webhook_that_cannot_be_asked(policy: str) -> None:
    """Not a Status, and not a 403 even where the policy is Deny: the filter looks at the error first."""
    webhook = ReviewServer("https://127.0.0.1:1/", failure_policy=policy)
    tokens = StaticTokens.from_csv("t,jane,u1\n")
    with serving(static_tokens=tokens, authorization_modes=("Webhook",), authorization_webhook=webhook) as ask:
        assert ask("GET", "/api/v1/pods", token="t") == (
            500,
            'Internal Server Error: "/api/v1/pods": Post "https://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: '
            "connection refused\n",
        )


def test_everything_forbidden() -> None:
    with serving(static_tokens=StaticTokens.from_csv("t,jane,u1\n"), authorization_modes=("AlwaysDeny",)) as ask:
        assert ask("GET", "/version", token="t")[1]["message"].endswith(": Everything is forbidden.")
        assert ask.cluster.api.get("/api/v1/namespaces/default")  # system:masters is never asked about.


def test_a_kubeconfig_names_the_webhook() -> None:
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "hook"}}],
        "clusters": [{"name": "hook", "cluster": {"server": "https://127.0.0.1:1/x"}}],
    }
    assert ReviewServer.from_kubeconfig(document) == ReviewServer("https://127.0.0.1:1/x")
    with pytest.raises(AccessError, match="no cluster 'hook'"):
        ReviewServer.from_kubeconfig(document | {"clusters": []})


def test_options_that_contradict_each_other() -> None:
    with pytest.raises(AccessError, match="go together"):
        AccessOptions(authorization_modes=("Webhook",))
    with pytest.raises(AccessError, match="not Magic"):
        AccessOptions(authorization_modes=("Magic",))
