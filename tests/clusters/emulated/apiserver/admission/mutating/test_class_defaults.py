"""Priority, RuntimeClass, storage, ingress, node and pod defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def test_priority_is_resolved_from_the_class(house: Any, pod: Callable[..., Any]) -> None:
    house.objects.put(
        "priorityclasses.scheduling.k8s.io",
        {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"},
    )

    spec = house.admit(pod(priorityClassName="high"))["spec"]

    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "Never")


def test_the_global_default_class_applies_to_pods_that_name_none(house: Any, pod: Callable[..., Any]) -> None:
    assert house.admit(pod())["spec"]["priority"] == 0
    house.objects.put(
        "priorityclasses.scheduling.k8s.io", {"metadata": {"name": "std"}, "value": 5, "globalDefault": True}
    )

    spec = house.admit(pod())["spec"]

    assert (spec["priority"], spec["priorityClassName"]) == (5, "std")


def test_priorities_that_do_not_fit_are_refused(house: Any, pod: Callable[..., Any]) -> None:
    assert house.refusal(pod(priorityClassName="ghost")).message == (
        'pods "p" is forbidden: no PriorityClass with name ghost was found'
    )
    assert house.refusal(pod(priority=5)).message == (
        'pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; '
        "priority admission controller computed 0 from the given PriorityClass name"
    )


def test_there_is_one_default_priority_class(house: Any) -> None:
    house.objects.put(
        "priorityclasses.scheduling.k8s.io", {"metadata": {"name": "one"}, "value": 5, "globalDefault": True}
    )
    second = {"kind": "PriorityClass", "metadata": {"name": "two"}, "value": 1, "globalDefault": True}

    refusal = house.refusal(second, group="scheduling.k8s.io", resource="priorityclasses", namespace="")

    assert refusal.message == (
        'priorityclasses.scheduling.k8s.io "two" is forbidden: PriorityClass one is already marked as default. '
        "Only one default can exist"
    )


def test_a_runtime_class_brings_overhead_and_scheduling(house: Any, pod: Callable[..., Any]) -> None:
    house.objects.put(
        "runtimeclasses.node.k8s.io",
        {
            "metadata": {"name": "vm"},
            "handler": "vm",
            "overhead": {"podFixed": {"cpu": "250m"}},
            "scheduling": {
                "nodeSelector": {"vm": "yes"},
                "tolerations": [{"key": "vm", "operator": "Exists"}],
            },
        },
    )

    spec = house.admit(pod(runtimeClassName="vm"))["spec"]

    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"vm": "yes"}
    assert {"key": "vm", "operator": "Exists"} in spec["tolerations"]
    conflicting = pod(runtimeClassName="vm", nodeSelector={"vm": "no"})
    assert house.refusal(conflicting).message == (
        'pods "p" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; '
        "pod.spec.nodeSelector[vm] = no"
    )


def test_runtime_classes_that_are_missing_or_contradicted(house: Any, pod: Callable[..., Any]) -> None:
    assert house.refusal(pod(runtimeClassName="ghost")).message == (
        'pods "p" is forbidden: pod rejected: RuntimeClass "ghost" not found'
    )
    assert house.refusal(pod(overhead={"cpu": "1"})).message == (
        'pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead'
    )


def test_pods_tolerate_silent_nodes_for_five_minutes(house: Any, pod: Callable[..., Any]) -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}

    tolerations = house.admit(pod(tolerations=[own]))["spec"]["tolerations"]

    assert tolerations == [
        own,
        {
            "key": "node.kubernetes.io/unreachable",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        },
    ]


def test_new_nodes_are_not_ready(house: Any) -> None:
    node = house.admit({"kind": "Node", "metadata": {"name": "n"}}, resource="nodes", namespace="")

    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


def storage_class(name: str, created: str) -> dict[str, Any]:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    return {"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}}


def test_claims_get_the_newest_default_class_and_a_finalizer(house: Any) -> None:
    for name, created in (
        ("old", "2026-01-01T00:00:00Z"),
        ("b", "2026-02-01T00:00:00Z"),
        ("a", "2026-02-01T00:00:00Z"),
    ):
        house.objects.put("storageclasses.storage.k8s.io", storage_class(name, created))
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "default"}, "spec": {}}

    admitted = house.admit(claim, resource="persistentvolumeclaims")

    assert admitted["spec"]["storageClassName"] == "a"
    assert admitted["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


def test_a_claim_may_ask_for_no_class(house: Any) -> None:
    house.objects.put("storageclasses.storage.k8s.io", storage_class("std", "2026-01-01T00:00:00Z"))
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"storageClassName": ""},
    }

    assert house.admit(claim, resource="persistentvolumeclaims")["spec"]["storageClassName"] == ""


def test_ingresses_get_the_default_class(house: Any) -> None:
    annotations = {"ingressclass.kubernetes.io/is-default-class": "true"}
    house.objects.put("ingressclasses.networking.k8s.io", {"metadata": {"name": "nginx", "annotations": annotations}})
    ingress = {"kind": "Ingress", "metadata": {"name": "i", "namespace": "default"}, "spec": {}}

    admitted = house.admit(ingress, group="networking.k8s.io", resource="ingresses")

    assert admitted["spec"]["ingressClassName"] == "nginx"


def test_a_binding_tells_the_pod_its_zone(house: Any) -> None:
    labels = {"topology.kubernetes.io/zone": "z1", "other": "x"}
    house.objects.put("nodes", {"metadata": {"name": "n", "labels": labels}})
    binding = {
        "kind": "Binding",
        "metadata": {"name": "p", "namespace": "default"},
        "target": {"kind": "Node", "name": "n"},
    }

    assert house.admit(binding, subresource="binding")["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z1"}
