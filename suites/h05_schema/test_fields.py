from __future__ import annotations

from typing import Any

import pytest

from clusters.base import Cluster
from suites.objects import CONFIG_MAPS, DEPLOYMENTS, config_map

pytestmark = pytest.mark.hop(5)


def deployment(name: str, *, replicas: int = 1, container: str = "web") -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": container, "image": "web:1"}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def test_a_misspelt_field_is_refused_when_the_client_is_strict(cluster: Cluster) -> None:
    misspelt = {**config_map("a"), "dta": {}}
    answer = cluster.api.request("POST", f"{CONFIG_MAPS}?fieldValidation=Strict", misspelt)
    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")
    assert answer.body["message"].endswith('strict decoding error: unknown field "dta"')


def test_a_misspelt_field_is_dropped_with_a_warning_otherwise(cluster: Cluster) -> None:
    answer = cluster.api.request("POST", CONFIG_MAPS, {**config_map("a"), "dta": {}})
    assert answer.code == 201
    assert answer.warnings == ['unknown field "dta"']
    assert "dta" not in answer.body


def test_every_wrong_field_is_named_at_once(cluster: Cluster) -> None:
    answer = cluster.api.request("POST", DEPLOYMENTS, deployment("web", replicas=-1, container="Web"))
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    causes = {cause["field"]: cause for cause in answer.body["details"]["causes"]}
    assert set(causes) == {"spec.replicas", "spec.template.spec.containers[0].name"}
    assert causes["spec.replicas"]["message"] == "Invalid value: -1: must be greater than or equal to 0"


def test_defaults_are_filled_in(cluster: Cluster) -> None:
    created = cluster.api.create(DEPLOYMENTS, deployment("web"))
    assert created["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": "25%", "maxSurge": "25%"}
    assert created["spec"]["progressDeadlineSeconds"] == 600
    assert created["spec"]["template"]["spec"]["restartPolicy"] == "Always"


def test_a_selector_never_changes(cluster: Cluster) -> None:
    cluster.api.create(DEPLOYMENTS, deployment("web"))
    changed = deployment("web")
    changed["spec"]["selector"] = {"matchLabels": {"app": "web", "tier": "front"}}
    changed["spec"]["template"]["metadata"]["labels"]["tier"] = "front"
    answer = cluster.api.request("PUT", f"{DEPLOYMENTS}/web", changed)
    assert (answer.code, answer.body["reason"]) == (422, "Invalid")
    assert "field is immutable" in answer.body["message"]
