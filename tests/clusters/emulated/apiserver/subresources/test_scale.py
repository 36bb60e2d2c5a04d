"""Workloads as Scales."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.client.blocking import BlockingApi

DEPLOYMENT = "/apis/apps/v1/namespaces/shop/deployments/web"
SCALE = f"{DEPLOYMENT}/scale"


@pytest.fixture(autouse=True)
def web(api: BlockingApi) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return api.create("/apis/apps/v1/namespaces/shop/deployments", {"metadata": {"name": "web"}, "spec": spec})


def scale(replicas: int, **metadata: str) -> dict[str, Any]:
    return {"metadata": {"name": "web", **metadata}, "spec": {"replicas": replicas}}


def test_a_scale_shows_wanted_and_present_replicas(api: BlockingApi) -> None:
    found = api.get(SCALE)
    assert (found["kind"], found["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (found["spec"], found["status"]) == ({"replicas": 2}, {"replicas": 0, "selector": "app=web"})


def test_every_write_of_the_scale_reaches_the_deployment(api: BlockingApi) -> None:
    api.update(SCALE, scale(3))
    assert api.get(DEPLOYMENT)["spec"]["replicas"] == 3
    api.patch(SCALE, {"spec": {"replicas": 4}})
    api.patch(SCALE, [{"op": "replace", "path": "/spec/replicas", "value": 5}], "application/json-patch+json")
    deployment = api.get(DEPLOYMENT)
    assert (deployment["spec"]["replicas"], deployment["metadata"]["generation"]) == (5, 4)


def test_whoever_applies_a_scale_owns_the_replicas(api: BlockingApi, refused: Any) -> None:
    applied = {"apiVersion": "autoscaling/v1", "kind": "Scale", **scale(6)}
    assert refused(lambda: api.apply(SCALE, applied, manager="hpa")).code == 409
    api.apply(SCALE, applied, manager="hpa", force=True)
    owner = api.get(DEPLOYMENT)["metadata"]["managedFields"][0]
    assert (owner["manager"], owner["subresource"]) == ("hpa", "scale")
    assert owner["fieldsV1"] == {"f:spec": {"f:replicas": {}}}


@pytest.mark.parametrize(
    ("wrong", "code", "text"),
    [
        (scale(-1), 422, "spec.replicas: Invalid value: -1: must be greater than or equal to 0"),
        (scale(1, resourceVersion="1"), 409, 'deployments.apps "web": the object has been modified'),
        (scale(1, uid="x"), 409, "Precondition failed: UID in precondition: x"),
    ],
)
def test_what_is_refused(api: BlockingApi, refused: Any, wrong: dict[str, Any], code: int, text: str) -> None:
    error = refused(lambda: api.update(SCALE, wrong))
    assert (error.code, text in error.message) == (code, True)


def test_a_scale_never_creates_its_parent(api: BlockingApi, refused: Any) -> None:
    applied = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "none"}, "spec": {"replicas": 1}}
    path = "/apis/apps/v1/namespaces/shop/deployments/none/scale"
    assert refused(lambda: api.apply(path, applied, force=True)).message == 'deployments.apps "none" not found'
