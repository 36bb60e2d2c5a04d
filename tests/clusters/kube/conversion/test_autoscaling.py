"""HorizontalPodAutoscalers read as v1 and back: what v1 has no field for is in annotations."""

from __future__ import annotations

import json
from typing import Any

from clusters.kube.conversion.autoscaling import to_v1, to_v2

PREFIX = "autoscaling.alpha.kubernetes.io/"


def autoscaler(**spec: Any) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 3, **spec},
        "status": {"desiredReplicas": 0, "currentMetrics": None},
    }


CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
QUEUE = {
    "type": "External",
    "external": {"metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "30"}},
}


def test_cpu_utilisation_has_a_field_of_its_own() -> None:
    converted = to_v1(autoscaler(metrics=[CPU]))
    assert converted["apiVersion"] == "autoscaling/v1"
    assert converted["spec"]["targetCPUUtilizationPercentage"] == 60
    assert "annotations" not in converted["metadata"]


def test_other_metrics_travel_in_an_annotation_in_v1_s_own_shape() -> None:
    annotations = to_v1(autoscaler(metrics=[QUEUE, CPU]))["metadata"]["annotations"]
    assert json.loads(annotations[f"{PREFIX}metrics"]) == [
        {"type": "External", "external": {"metricName": "queue", "targetAverageValue": "30"}}
    ]


def test_behavior_is_the_internal_type_without_json_names() -> None:
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 5, "policies": []}}
    annotation = to_v1(autoscaler(metrics=[CPU], behavior=behavior))["metadata"]["annotations"][f"{PREFIX}behavior"]
    assert json.loads(annotation)["ScaleDown"]["StabilizationWindowSeconds"] == 5
    assert type(annotation) is str


def test_there_and_back_nothing_is_lost() -> None:
    behavior = {"scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max"}}
    conditions = [{"type": "AbleToScale", "status": "True", "reason": "r", "message": "m"}]
    original = autoscaler(metrics=[QUEUE, CPU], behavior=behavior)
    original["status"] = {"currentReplicas": 1, "desiredReplicas": 2, "conditions": conditions} | {
        "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageValue": "5m"}}}]
    }
    assert to_v2(to_v1(original)) == original


def test_a_v1_object_without_a_target_scales_on_80_percent_cpu() -> None:
    v1 = to_v1(autoscaler(metrics=[])) | {"apiVersion": "autoscaling/v1"}
    assert to_v2(v1)["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 80


def test_an_annotation_that_is_no_json_is_dropped() -> None:
    v1 = to_v1(autoscaler(metrics=[CPU]))
    v1["metadata"]["annotations"] = {f"{PREFIX}metrics": "{", "mine": "kept"}
    converted = to_v2(v1)
    assert converted["spec"]["metrics"] == [CPU]
    assert converted["metadata"]["annotations"] == {"mine": "kept"}
