"""Claims, volumes, the stub provisioner and what protects both from deletion."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.clock import VirtualClock
from clusters.emulated.cluster import EmulatedCluster
from clusters.emulated.controllers.volume_matching import best_match

BASE = "/api/v1/namespaces/shop"
CLAIMS, VOLUMES = f"{BASE}/persistentvolumeclaims", "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


@pytest.fixture
def shop(cluster: EmulatedCluster) -> EmulatedCluster:
    cluster.api.create("/api/v1/nodes", {"metadata": {"name": "node-1"}})
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    account = f"{BASE}/serviceaccounts/default"
    cluster.wait_until(lambda: cluster.api.request("GET", account).code == 200, 5)
    return cluster


def settle(cluster: EmulatedCluster, seconds: float = 1.0) -> None:
    assert isinstance(cluster.clock, VirtualClock)
    cluster.clock.advance(seconds)


def make_claim(cluster: EmulatedCluster, name: str = "data", size: str = "1Gi", **spec: Any) -> None:
    body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **spec}
    cluster.api.create(CLAIMS, {"metadata": {"name": name}, "spec": body})
    settle(cluster)


def make_volume(cluster: EmulatedCluster, name: str, size: str = "1Gi", **spec: Any) -> None:
    body = {
        "capacity": {"storage": size},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "hostPath": {"path": f"/tmp/{name}"},
        **spec,
    }
    cluster.api.create(VOLUMES, {"metadata": {"name": name}, "spec": body})
    settle(cluster)


def make_class(cluster: EmulatedCluster, name: str, provisioner: str, *, default: bool = False, **fields: Any) -> None:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    cluster.api.create(
        CLASSES, {"metadata": {"name": name, "annotations": annotations}, "provisioner": provisioner, **fields}
    )


def make_pod(cluster: EmulatedCluster, name: str, claim: str, node: str = "") -> None:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    spec = {"containers": [{"name": "c", "image": "x"}], "schedulerName": "nobody", "volumes": volumes}
    if node:
        spec["nodeName"] = node
    cluster.api.create(f"{BASE}/pods", {"metadata": {"name": name}, "spec": spec})


def claim(cluster: EmulatedCluster, name: str = "data") -> dict[str, Any]:
    return cluster.api.get(f"{CLAIMS}/{name}")


def volume(cluster: EmulatedCluster, name: str) -> dict[str, Any]:
    return cluster.api.get(f"{VOLUMES}/{name}")


def events(cluster: EmulatedCluster, about: str = "data", namespace: str = "shop") -> list[tuple[str, str]]:
    found = cluster.api.get(f"/api/v1/namespaces/{namespace}/events")["items"]
    return [(each["reason"], each["message"]) for each in found if each["involvedObject"]["name"] == about]


def exists(cluster: EmulatedCluster, path: str) -> bool:
    return cluster.api.request("GET", path).code == 200


def test_a_claim_without_a_class_says_so_and_binds_when_a_volume_comes(shop: EmulatedCluster) -> None:
    make_claim(shop)
    assert claim(shop)["status"] == {"phase": "Pending"}
    assert events(shop) == [
        ("FailedBinding", "no persistent volumes available for this claim and no storage class is set")
    ]
    make_volume(shop, "disk", "5Gi")
    settle(shop, 15)
    found, disk = claim(shop), volume(shop, "disk")
    assert found["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"}}
    assert found["spec"]["volumeName"] == "disk"
    assert found["metadata"]["annotations"] == {
        "pv.kubernetes.io/bind-completed": "yes",
        "pv.kubernetes.io/bound-by-controller": "yes",
    }
    assert disk["status"]["phase"] == "Bound"
    reference = disk["spec"]["claimRef"]
    assert (reference["kind"], reference["name"], reference["uid"]) == (
        "PersistentVolumeClaim", "data", found["metadata"]["uid"]
    )  # fmt: skip


def test_a_claim_of_a_missing_class_fails(shop: EmulatedCluster) -> None:
    make_claim(shop, storageClassName="nosuch")
    assert events(shop) == [("ProvisioningFailed", 'storageclass.storage.k8s.io "nosuch" not found')]


def test_a_class_of_somebody_else_waits_for_them(shop: EmulatedCluster) -> None:
    make_class(shop, "far", "example.com/far")
    make_claim(shop, storageClassName="far")
    assert claim(shop)["metadata"]["annotations"] == {
        "volume.beta.kubernetes.io/storage-provisioner": "example.com/far",
        "volume.kubernetes.io/storage-provisioner": "example.com/far",
    }
    (reason, message), *_ = events(shop)
    assert reason == "ExternalProvisioning"
    assert message.startswith("Waiting for a volume to be created either by the external provisioner 'example.com/far'")


def test_no_provisioner_is_no_plugin(shop: EmulatedCluster) -> None:
    make_class(shop, "manual", "kubernetes.io/no-provisioner")
    make_claim(shop, storageClassName="manual")
    assert events(shop)[0] == ("ProvisioningFailed", "no volume plugin matched name: kubernetes.io/no-provisioner")


def test_the_stub_provisions_at_once_and_deletes_with_the_claim(shop: EmulatedCluster) -> None:
    make_class(shop, "fast", "kaput.dev/stub", default=True)
    make_claim(shop, size="3Gi")
    found = claim(shop)
    assert found["status"]["phase"] == "Bound"
    name = f"pvc-{found['metadata']['uid']}"
    assert found["spec"]["volumeName"] == name
    assert volume(shop, name)["spec"]["capacity"] == {"storage": "3Gi"}
    assert ("ProvisioningSucceeded", f"Successfully provisioned volume {name}") in events(shop)
    shop.api.delete(f"{CLAIMS}/data")
    settle(shop, 5)
    assert not exists(shop, f"{CLAIMS}/data")
    assert not exists(shop, f"{VOLUMES}/{name}")


def test_a_class_that_waits_for_a_consumer_waits_for_the_scheduler(shop: EmulatedCluster) -> None:
    make_class(shop, "lazy", "kaput.dev/stub", volumeBindingMode="WaitForFirstConsumer")
    make_claim(shop, storageClassName="lazy")
    assert events(shop) == [("WaitForFirstConsumer", "waiting for first consumer to be created before binding")]
    make_pod(shop, "web", "data")
    settle(shop, 15)
    assert ("WaitForPodScheduled", "waiting for pod web to be scheduled") in events(shop)
    assert claim(shop)["status"]["phase"] == "Pending"
    shop.api.patch(f"{CLAIMS}/data", {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "node-1"}}})
    settle(shop)
    assert claim(shop)["status"]["phase"] == "Bound"


def test_a_claim_from_before_the_default_class_gets_it(shop: EmulatedCluster) -> None:
    make_claim(shop)
    make_class(shop, "fast", "kaput.dev/stub", default=True)
    settle(shop, 16)
    assert claim(shop)["spec"]["storageClassName"] == "fast"
    assert claim(shop)["status"]["phase"] == "Bound"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"size": "9Gi"}, "requested PV is too small"),
        ({"storageClassName": "other"}, "storageClassName does not match"),
        ({"volumeMode": "Block"}, "incompatible volumeMode"),
        ({"accessModes": ["ReadWriteMany"]}, "incompatible accessMode"),
    ],
)
def test_a_named_volume_that_does_not_fit(shop: EmulatedCluster, spec: dict[str, Any], problem: str) -> None:
    make_volume(shop, "disk")
    make_claim(shop, volumeName="disk", **{"storageClassName": "", **spec})
    assert events(shop) == [("VolumeMismatch", f'Cannot bind to requested volume "disk": {problem}')]
    assert claim(shop)["status"]["phase"] == "Pending"


def test_a_named_volume_that_somebody_else_has(shop: EmulatedCluster) -> None:
    make_volume(shop, "disk")
    make_claim(shop, "first", volumeName="disk", storageClassName="")
    make_claim(shop, "second", volumeName="disk", storageClassName="")
    assert events(shop, "second") == [("FailedBinding", 'volume "disk" already bound to a different claim.')]


@pytest.mark.parametrize(
    ("spec", "phase"),
    [
        ({"persistentVolumeReclaimPolicy": "Retain"}, "Released"),
        ({"persistentVolumeReclaimPolicy": "Delete"}, None),
        ({"persistentVolumeReclaimPolicy": "Delete", "hostPath": {"path": "/srv/x"}}, "Failed"),
        ({"persistentVolumeReclaimPolicy": "Recycle"}, "Available"),
    ],
)
def test_reclaim_policies(shop: EmulatedCluster, spec: dict[str, Any], phase: str | None) -> None:
    make_volume(shop, "disk", **spec)
    make_claim(shop)
    assert volume(shop, "disk")["status"]["phase"] == "Bound"
    shop.api.delete(f"{CLAIMS}/data")
    settle(shop, 5)
    if phase is None:
        assert not exists(shop, f"{VOLUMES}/disk")
        return
    assert volume(shop, "disk")["status"]["phase"] == phase
    if phase == "Failed":
        text = "host_path deleter only supports /tmp/.+ but received provided /srv/x"
        assert volume(shop, "disk")["status"]["message"] == text
        assert ("VolumeFailedDelete", text) in events(shop, "disk", "default")


def test_a_claim_that_lost_its_volume(shop: EmulatedCluster) -> None:
    make_volume(shop, "disk")
    make_claim(shop)
    shop.api.patch(f"{VOLUMES}/disk", {"metadata": {"finalizers": None}})
    shop.run(shop.components.stop("persistentvolume-protection-controller"))
    shop.api.delete(f"{VOLUMES}/disk")
    shop.api.patch(f"{VOLUMES}/disk", {"metadata": {"finalizers": None}})
    settle(shop, 2)
    assert claim(shop)["status"] == {"phase": "Lost"}
    text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
    assert ("ClaimLost", text) in events(shop)


def test_a_used_claim_and_a_bound_volume_outlive_their_deletion(shop: EmulatedCluster) -> None:
    make_volume(shop, "disk")
    make_claim(shop)
    make_pod(shop, "web", "data", "node-1")
    shop.api.delete(f"{CLAIMS}/data")
    shop.api.delete(f"{VOLUMES}/disk")
    settle(shop, 5)
    assert "deletionTimestamp" in claim(shop)["metadata"]
    assert "deletionTimestamp" in volume(shop, "disk")["metadata"]
    shop.api.delete(f"{BASE}/pods/web", {"gracePeriodSeconds": 0})
    settle(shop, 5)
    assert not exists(shop, f"{CLAIMS}/data")
    assert not exists(shop, f"{VOLUMES}/disk")


def test_an_ephemeral_volume_has_a_claim_of_its_pod(shop: EmulatedCluster) -> None:
    make_claim(shop, "web-taken")
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    volumes = [{"name": each, "ephemeral": {"volumeClaimTemplate": template}} for each in ("scratch", "taken")]
    spec = {"containers": [{"name": "c", "image": "x"}], "schedulerName": "nobody", "volumes": volumes}
    pod = shop.api.create(f"{BASE}/pods", {"metadata": {"name": "web"}, "spec": spec})
    settle(shop)
    (owner,) = claim(shop, "web-scratch")["metadata"]["ownerReferences"]
    assert owner["uid"] == pod["metadata"]["uid"]
    text = "ephemeral volume taken: PVC shop/web-taken was not created for pod shop/web (pod is not owner)"
    assert ("FailedBinding", text) in events(shop, "web")


def _volume(name: str, size: str, *modes: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": spec.pop("labels", {})},
        "spec": {"capacity": {"storage": size}, "accessModes": list(modes), **spec},
        "status": {"phase": "Available"},
    }


@pytest.mark.parametrize(
    ("spec", "chosen"),
    [
        ({}, "small"),
        ({"accessModes": ["ReadWriteMany"]}, "shared"),
        ({"resources": {"requests": {"storage": "9Gi"}}}, "large"),
        ({"resources": {"requests": {"storage": "60Gi"}}}, None),
        ({"storageClassName": "ssd"}, "ssd"),
        ({"selector": {"matchLabels": {"rack": "7"}}}, "racked"),
        ({"volumeMode": "Block"}, "block"),
    ],
)
def test_the_best_match(spec: dict[str, Any], chosen: str | None) -> None:
    volumes = [
        _volume("shared", "2Gi", "ReadWriteOnce", "ReadWriteMany"),
        _volume("large", "10Gi", "ReadWriteOnce"),
        _volume("small", "5Gi", "ReadWriteOnce"),
        _volume("racked", "8Gi", "ReadWriteOnce", labels={"rack": "7"}),
        _volume("ssd", "5Gi", "ReadWriteOnce", storageClassName="ssd"),
        _volume("block", "5Gi", "ReadWriteOnce", volumeMode="Block"),
        _volume("taken", "1Gi", "ReadWriteOnce", claimRef={"name": "x", "namespace": "y", "uid": "z"}),
    ]
    body = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    wanted = {"metadata": {"name": "data", "namespace": "shop", "uid": "1"}, "spec": body}
    found = best_match(wanted, volumes, delayed=False)
    assert (found and found["metadata"]["name"]) == chosen
    assert best_match(wanted, volumes, delayed=True) is None
