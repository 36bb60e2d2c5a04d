"""lightkube: typed resources, generic resources, apply with conflicts, wait and watch."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

lightkube: Any = pytest.importorskip("lightkube", reason="lightkube is not installed")


def module(name: str) -> Any:
    return importlib.import_module(f"lightkube.{name}")


@pytest.fixture
def client(kubeconfig: Path) -> Any:
    config = module("config.kubeconfig").KubeConfig.from_file(str(kubeconfig))
    return lightkube.Client(config=config, namespace="default", field_manager="lightkube-test")


def config_map(name: str, **data: str) -> Any:
    core, meta = module("resources.core_v1"), module("models.meta_v1")
    return core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace="default"), data=data)


def test_create_get_list_patch_replace_delete(client: Any) -> None:
    core = module("resources.core_v1")
    created = client.create(config_map("one", a="1"))
    assert created.metadata.resourceVersion
    client.patch(core.ConfigMap, "one", {"data": {"b": "2"}})
    assert client.get(core.ConfigMap, "one").data == {"a": "1", "b": "2"}
    with pytest.raises(lightkube.ApiError) as conflict:
        client.replace(created)
    assert conflict.value.status.reason == "Conflict"
    assert [each.metadata.name for each in client.list(core.ConfigMap)] == ["one"]
    for kind, each in client.watch(core.ConfigMap):
        assert (kind, each.metadata.name) == ("ADDED", "one")
        break
    client.delete(core.ConfigMap, "one")
    with pytest.raises(lightkube.ApiError) as gone:
        client.get(core.ConfigMap, "one")
    assert gone.value.status.code == 404


def test_apply_conflicts_and_is_forced(client: Any, kubeconfig: Path) -> None:
    one = config_map("one", a="1")
    one.apiVersion, one.kind = "v1", "ConfigMap"
    client.apply(one)
    one.data = {"a": "2"}
    with pytest.raises(lightkube.ApiError, match=r'conflict with "lightkube-test": \.data\.a'):
        client.apply(one, field_manager="another")
    assert client.apply(one, field_manager="another", force=True).data == {"a": "2"}


def test_generic_resources_and_wait(client: Any) -> None:
    extensions = module("resources.apiextensions_v1")
    definition = extensions.CustomResourceDefinition.from_dict(
        {
            "metadata": {"name": "gadgets.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "gadgets", "kind": "Gadget"},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }
                ],
            },
        }
    )
    client.create(definition)
    client.wait(extensions.CustomResourceDefinition, "gadgets.example.com", for_conditions=["Established"])
    generic = module("generic_resource")
    gadgets = generic.create_namespaced_resource("example.com", "v1", "Gadget", "gadgets")
    client.create(gadgets(metadata={"name": "one"}, spec={"size": 1}))
    patch = {"status": {"ready": True}}
    merge = module("types").PatchType.MERGE  # A strategic merge needs types that only built-in kinds have.
    client.patch(gadgets.Status, "one", patch, patch_type=merge)
    assert client.get(gadgets, "one").status == {"ready": True}
