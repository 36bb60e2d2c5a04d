"""kr8s: objects by class, selectors, patch, scale, wait, watch, and kinds it learns from discovery."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

kr8s: Any = pytest.importorskip("kr8s", reason="kr8s is not installed")
objects: Any = pytest.importorskip("kr8s.objects")


def test_the_life_of_objects(kubeconfig: Path) -> None:
    api = kr8s.api(kubeconfig=str(kubeconfig))
    assert api.version()["minor"] == "36"
    labels = {"app": "web"}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "x"}]}},
    }
    body = {"metadata": {"name": "web", "namespace": "default", "labels": labels}, "spec": spec}
    web = objects.Deployment(body, api=api)
    web.create()
    assert web.exists()
    web.patch({"spec": {"replicas": 2}})
    web.label({"tier": "front"})
    web.annotate({"note": "one"})
    web.refresh()
    assert web.replicas == 2
    assert web.labels == {"app": "web", "tier": "front"}
    found = list(api.get("deployments", label_selector={"tier": "front"}))
    assert [each.name for each in found] == ["web"]
    assert {"pods", "deployments"} <= {resource["name"] for resource in api.api_resources()}
    web.delete()
    web.wait("delete", timeout=10)
    assert not web.exists()


def test_a_watch_and_an_error(kubeconfig: Path) -> None:
    api = kr8s.api(kubeconfig=str(kubeconfig))
    objects.ConfigMap({"metadata": {"name": "one", "namespace": "default"}, "data": {"a": "b"}}, api=api).create()
    for kind, each in api.watch("configmaps", namespace="default"):
        assert (kind, each.name, each.data) == ("ADDED", "one", {"a": "b"})
        break
    with pytest.raises(kr8s.ServerError) as invalid:
        objects.ConfigMap({"metadata": {"name": "Wrong_Name", "namespace": "default"}}, api=api).create()
    assert invalid.value.response.status_code == 422
