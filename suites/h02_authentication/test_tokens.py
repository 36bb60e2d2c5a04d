from __future__ import annotations

import pytest

from clusters.base import Cluster
from harness.kubectl import Kubectl
from suites.objects import CONFIG_MAPS, service_account

pytestmark = pytest.mark.hop(2)

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def issue_token(cluster: Cluster, account: str) -> str:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    issued = cluster.api.create(f"{ACCOUNTS}/{account}/token", request)
    token: str = issued["status"]["token"]
    return token


def test_a_token_that_nobody_issued_is_unauthorized(cluster: Cluster) -> None:
    answer = cluster.api.with_token("made-up").request("GET", CONFIG_MAPS)
    assert answer.code == 401
    assert answer.body["reason"] == "Unauthorized"
    assert answer.body["message"] == "Unauthorized"


def test_a_service_account_token_says_who_it_is(cluster: Cluster) -> None:
    cluster.api.create(ACCOUNTS, service_account("robot"))
    robot = cluster.api.with_token(issue_token(cluster, "robot"))
    answer = robot.request("GET", CONFIG_MAPS)
    assert answer.code == 403, "known, and not allowed"
    assert 'User "system:serviceaccount:default:robot" cannot list' in answer.body["message"]


def test_a_token_dies_with_its_service_account(cluster: Cluster) -> None:
    cluster.api.create(ACCOUNTS, service_account("robot"))
    robot = cluster.api.with_token(issue_token(cluster, "robot"))
    assert robot.request("GET", CONFIG_MAPS).code == 403
    cluster.api.delete(f"{ACCOUNTS}/robot")
    assert robot.request("GET", CONFIG_MAPS).code == 401


@pytest.mark.cluster(clock="scaled:2000")
def test_a_token_expires(cluster: Cluster) -> None:
    cluster.api.create(ACCOUNTS, service_account("robot"))
    robot = cluster.api.with_token(issue_token(cluster, "robot"))
    # A watch ends by itself when its time is over: a way to let cluster time pass.
    with cluster.api.watch(f"{CONFIG_MAPS}?timeoutSeconds=700") as events:
        assert list(events) == []
    assert robot.request("GET", CONFIG_MAPS).code == 401


def test_kubectl_with_a_wrong_token_is_told_to_log_in(cluster: Cluster, kubectl: Kubectl) -> None:
    kubectl("config", "set-credentials", "nobody", "--token=made-up")
    ran = kubectl("get", "configmaps", "--user=nobody", exit_code=1)
    assert "You must be logged in to the server" in ran.stderr
