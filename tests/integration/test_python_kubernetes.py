"""The Python client `kubernetes`: typed, dynamic and watching."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

kubernetes: Any = pytest.importorskip("kubernetes", reason="the Python client kubernetes is not installed")
dynamic: Any = pytest.importorskip("kubernetes.dynamic")

WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
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


@pytest.fixture
def client(kubeconfig: Path) -> Iterator[Any]:
    with kubernetes.config.new_client_from_config(str(kubeconfig)) as made:
        yield made


def deployment(name: str) -> Any:
    models = kubernetes.client
    labels = {"app": name}
    container = models.V1Container(name="c", image="nginx", ports=[models.V1ContainerPort(container_port=80)])
    template = models.V1PodTemplateSpec(
        metadata=models.V1ObjectMeta(labels=labels), spec=models.V1PodSpec(containers=[container])
    )
    selector = models.V1LabelSelector(match_labels=labels)
    return models.V1Deployment(
        metadata=models.V1ObjectMeta(name=name),
        spec=models.V1DeploymentSpec(replicas=2, selector=selector, template=template),
    )


def test_the_typed_client_creates_reads_patches_scales_and_deletes(client: Any) -> None:
    apps = kubernetes.client.AppsV1Api(client)
    created = apps.create_namespaced_deployment("default", deployment("web"))
    assert created.metadata.uid
    assert created.spec.strategy.rolling_update.max_surge == "25%"
    patched = apps.patch_namespaced_deployment("web", "default", {"spec": {"replicas": 3}})
    assert (patched.spec.replicas, patched.metadata.generation) == (3, 2)
    scale = apps.read_namespaced_deployment_scale("web", "default")
    scale.spec.replicas = 5
    assert apps.replace_namespaced_deployment_scale("web", "default", scale).spec.replicas == 5
    assert [item.metadata.name for item in apps.list_deployment_for_all_namespaces().items] == ["web"]
    created.spec.replicas = 9
    with pytest.raises(kubernetes.client.ApiException) as conflict:
        apps.replace_namespaced_deployment("web", "default", created)
    assert (conflict.value.status, conflict.value.reason) == (409, "Conflict")
    apps.delete_namespaced_deployment("web", "default")
    with pytest.raises(kubernetes.client.ApiException) as gone:
        apps.read_namespaced_deployment("web", "default")
    assert gone.value.status == 404


def test_pages_and_the_version(client: Any) -> None:
    core = kubernetes.client.CoreV1Api(client)
    for number in range(5):
        body = {"metadata": {"name": f"page-{number}", "labels": {"page": "yes"}}}
        core.create_namespaced_config_map("default", body)
    names, token = [], None
    while True:
        page = core.list_namespaced_config_map("default", label_selector="page=yes", limit=2, _continue=token)
        names += [item.metadata.name for item in page.items]
        token = page.metadata._continue
        if not token:
            break
    assert names == [f"page-{number}" for number in range(5)]
    assert kubernetes.client.VersionApi(client).get_code().minor == "36"


def test_a_watch_sees_every_change_in_order(client: Any) -> None:
    core = kubernetes.client.CoreV1Api(client)
    version = core.list_namespaced_config_map("default").metadata.resource_version

    def change() -> None:
        core.create_namespaced_config_map("default", {"metadata": {"name": "seen"}})
        core.patch_namespaced_config_map("seen", "default", {"data": {"a": "b"}})
        core.delete_namespaced_config_map("seen", "default")

    changing = threading.Thread(target=change)
    changing.start()
    watch = kubernetes.watch.Watch()
    kinds = []
    for event in watch.stream(core.list_namespaced_config_map, "default", resource_version=version, timeout_seconds=20):
        kinds.append(event["type"])
        if event["type"] == "DELETED":
            watch.stop()
    changing.join()
    assert kinds == ["ADDED", "MODIFIED", "DELETED"]


def test_the_dynamic_client_finds_new_kinds_and_applies(client: Any) -> None:
    found = dynamic.DynamicClient(client)
    found.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition").create(body=WIDGETS)
    widgets = found.resources.get(api_version="example.com/v1", kind="Widget")
    body = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": "default"},
        "spec": {"size": 1},
    }
    applied = widgets.server_side_apply(body=body, field_manager="dynamic")
    assert applied.metadata.managedFields[0].manager == "dynamic"
    body["spec"] = {"size": 2}
    with pytest.raises(dynamic.exceptions.ConflictError, match=r'conflict with \\"dynamic\\": .spec.size'):
        widgets.server_side_apply(body=body, field_manager="another")
    status = {"status": {"ready": True}}
    widgets.status.patch(body=status, name="one", namespace="default", content_type="application/merge-patch+json")
    assert widgets.get(name="one", namespace="default").status.ready is True
    widgets.delete(name="one", namespace="default")
    with pytest.raises(dynamic.exceptions.NotFoundError):
        widgets.get(name="one", namespace="default")


def test_wrong_credentials_are_unauthorized(kubeconfig: Path) -> None:
    configuration = kubernetes.client.Configuration()
    kubernetes.config.load_kube_config(str(kubeconfig), client_configuration=configuration)
    configuration.cert_file = configuration.key_file = None
    configuration.api_key = {"authorization": "Bearer wrong"}
    with kubernetes.client.ApiClient(configuration) as client, pytest.raises(kubernetes.client.ApiException) as denied:
        kubernetes.client.CoreV1Api(client).list_namespace()
    assert denied.value.status == 401
