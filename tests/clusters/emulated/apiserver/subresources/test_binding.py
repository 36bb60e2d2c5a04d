"""Binding Pods to nodes."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.client.blocking import BlockingApi

NAMESPACE = "/api/v1/namespaces/shop"


def binding(pod: str, node: str, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": pod, **metadata}, "target": {"kind": "Node", "name": node}}


def test_a_bound_pod_is_scheduled(api: BlockingApi, make_pod: Any) -> None:
    make_pod("web")
    answer = api.create(f"{NAMESPACE}/pods/web/binding", binding("web", "n1", annotations={"why": "fits"}))
    assert answer == {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    pod = api.get(f"{NAMESPACE}/pods/web")
    assert (pod["spec"]["nodeName"], pod["metadata"]["annotations"]) == ("n1", {"why": "fits"})
    (condition,) = pod["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    assert pod["metadata"]["generation"] == 1


def test_the_old_resource_binds_too(api: BlockingApi, make_pod: Any) -> None:
    make_pod("web")
    api.create(f"{NAMESPACE}/bindings", binding("web", "n1"))
    assert api.get(f"{NAMESPACE}/pods/web")["spec"]["nodeName"] == "n1"


@pytest.mark.parametrize(
    ("spec", "posted", "text"),
    [
        ({"nodeName": "n1"}, {}, 'pods/binding "web": pod web is already assigned to node "n1"'),
        ({"schedulingGates": [{"name": "a.b/c"}]}, {}, "pod web has non-empty .spec.schedulingGates"),
        ({}, {"uid": "x"}, "Precondition failed: UID in precondition: x"),
    ],
)
def test_conflicts(
    api: BlockingApi, make_pod: Any, refused: Any, spec: dict[str, Any], posted: dict[str, Any], text: str
) -> None:
    make_pod("web", **spec)
    error = refused(lambda: api.create(f"{NAMESPACE}/pods/web/binding", binding("web", "n2", **posted)))
    assert (error.code, error.reason, text in error.message) == (409, "Conflict", True)


def test_the_name_must_be_that_of_the_url(api: BlockingApi, make_pod: Any, refused: Any) -> None:
    make_pod("web")
    error = refused(lambda: api.create(f"{NAMESPACE}/pods/web/binding", binding("other", "n1")))
    assert (error.code, error.message) == (400, "name in URL does not match name in Binding object")
