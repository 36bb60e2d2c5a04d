from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def test_nothing_is_created_in_a_namespace_that_does_not_exist(house: Any, pod: Callable[..., Any]) -> None:
    refusal = house.refusal(pod(namespace="nowhere"), namespace="nowhere")

    assert (refusal.code, refusal.reason) == (404, "NotFound")
    assert refusal.message == 'namespaces "nowhere" not found'
    assert refusal.details == {"name": "nowhere", "kind": "namespaces"}


def test_nothing_new_is_created_in_a_terminating_namespace(house: Any, pod: Callable[..., Any]) -> None:
    house.namespace("going", phase="Terminating")

    refusal = house.refusal(pod(namespace="going"), namespace="going")

    assert refusal.code == 403
    assert refusal.message == (
        'pods "p" is forbidden: unable to create new content in namespace going because it is being terminated'
    )
    assert refusal.details["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace going is being terminated",
            "field": "metadata.namespace",
        }
    ]


def test_objects_in_a_terminating_namespace_can_still_be_changed(house: Any) -> None:
    house.namespace("going", phase="Terminating")
    config = {"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "going", "resourceVersion": "1"}}

    house.admit(config, resource="configmaps", operation="UPDATE", namespace="going", old=config)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_are_immortal(house: Any, name: str) -> None:
    refusal = house.refusal(
        None, resource="namespaces", kind="Namespace", operation="DELETE", namespace=name, name=name
    )

    assert refusal.code == 403
    assert refusal.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


def test_a_local_access_review_does_not_tell_whether_the_namespace_exists(house: Any) -> None:
    house.admit(
        {"kind": "LocalSubjectAccessReview", "metadata": {}},
        group="authorization.k8s.io",
        resource="localsubjectaccessreviews",
        namespace="secret-project",
    )
