from __future__ import annotations

import pytest

from clusters.base import Cluster
from suites.objects import CONFIG_MAPS, config_map, webhook_configuration

pytestmark = pytest.mark.hop(4)

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
KIND = "MutatingWebhookConfiguration"


def test_a_webhook_that_is_down_stops_every_write_it_must_see(cluster: Cluster) -> None:
    cluster.api.create(CONFIGURATIONS, webhook_configuration(KIND, failure_policy="Fail", resource="configmaps"))
    answer = cluster.api.request("POST", CONFIG_MAPS, config_map("a"))
    assert (answer.code, answer.body["reason"]) == (500, "InternalError")
    assert answer.body["message"] == (
        'Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: '
        'Post "https://127.0.0.1:1/admit?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused'
    )
    assert cluster.api.request("GET", f"{CONFIG_MAPS}/a").code == 404, "nothing was written"


def test_a_webhook_that_may_fail_is_passed_over(cluster: Cluster) -> None:
    cluster.api.create(CONFIGURATIONS, webhook_configuration(KIND, failure_policy="Ignore", resource="configmaps"))
    created = cluster.api.create(CONFIG_MAPS, config_map("a", color="blue"))
    assert created["data"] == {"color": "blue"}


def test_a_webhook_is_asked_only_about_what_its_rules_name(cluster: Cluster) -> None:
    cluster.api.create(CONFIGURATIONS, webhook_configuration(KIND, failure_policy="Fail", resource="pods"))
    cluster.api.create(CONFIG_MAPS, config_map("a"))


def test_without_its_configuration_the_webhook_is_forgotten(cluster: Cluster) -> None:
    cluster.api.create(CONFIGURATIONS, webhook_configuration(KIND, failure_policy="Fail", resource="configmaps"))
    assert cluster.api.request("POST", CONFIG_MAPS, config_map("a")).code == 500
    cluster.api.delete(f"{CONFIGURATIONS}/policy")
    assert cluster.api.request("POST", CONFIG_MAPS, config_map("a")).code == 201
