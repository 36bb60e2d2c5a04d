"""Decoding JSON against the shapes of the built-in kinds."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.kube.schema import Catalogue, DecodeError, decode, shape

CATALOGUE = Catalogue.of("1.36")


def struct(group: str, version: str, kind: str) -> Any:
    found = CATALOGUE.kind(group, version, kind)
    assert found is not None
    return found


DEPLOYMENT = struct("apps", "v1", "Deployment")
CONFIG_MAP = struct("", "v1", "ConfigMap")
POD = struct("", "v1", "Pod")


def deployment(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "d"}, "spec": spec}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            {"replicas": "three"},
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            {"replicas": 1.5},
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            {"replicas": 99999999999},
            "json: cannot unmarshal number 99999999999 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            {"paused": "yes"},
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.paused of type bool",
        ),
        (
            {"template": {"spec": {"containers": {"a": "b"}}}},
            "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers "
            "of type []v1.Container",
        ),
        (
            {"template": {"spec": {"containers": [{"ports": [{"containerPort": "80"}]}]}}},
            "json: cannot unmarshal string into Go struct field "
            "ContainerPort.spec.template.spec.containers.ports.containerPort of type int32",
        ),
        (
            {"template": {"spec": {"restartPolicy": 1}}},
            "json: cannot unmarshal number into Go struct field PodSpec.spec.template.spec.restartPolicy "
            "of type v1.RestartPolicy",
        ),
    ],
)
def test_a_wrong_type_is_named_with_its_struct_path_and_go_type(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode(DEPLOYMENT, deployment(**spec))
    assert str(refused.value) == message


def test_a_number_as_a_label_names_the_map() -> None:
    with pytest.raises(DecodeError, match=r"ObjectMeta\.metadata\.labels of type string"):
        decode(DEPLOYMENT, {"metadata": {"labels": {"a": 5}}})


def test_unknown_fields_are_dropped_and_reported_with_their_path() -> None:
    obj, problems = decode(
        DEPLOYMENT, deployment(replicaz=1, template={"spec": {"containers": [{"name": "c", "imagePullPolice": "x"}]}})
    )
    assert problems == [
        'unknown field "spec.replicaz"',
        'unknown field "spec.template.spec.containers[0].imagePullPolice"',
    ]
    assert obj["spec"]["template"]["spec"]["containers"] == [{"name": "c"}]


def test_fields_are_case_sensitive() -> None:
    assert decode(DEPLOYMENT, {"Spec": {}})[1] == ['unknown field "Spec"']


def test_nulls_and_empty_optional_values_disappear_but_pointers_keep_their_zero() -> None:
    obj, _ = decode(DEPLOYMENT, deployment(replicas=0, paused=False, minReadySeconds=0, selector=None))
    assert obj["spec"] == {"replicas": 0}


def test_quantities_and_times_come_out_canonical() -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "1000m", "memory": "0.5Gi"}}}
    obj, _ = decode(
        POD, {"metadata": {"creationTimestamp": "2026-01-02T03:04:05+01:00"}, "spec": {"containers": [container]}}
    )
    assert obj["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "512Mi"}
    assert obj["metadata"]["creationTimestamp"] == "2026-01-02T02:04:05Z"


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (
            {"creationTimestamp": "yesterday"},
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
        ),
        ({"creationTimestamp": "2026-13-01T00:00:00Z"}, 'parsing time "2026-13-01T00:00:00Z": month out of range'),
    ],
)
def test_a_bad_time_is_explained_as_go_explains_it(metadata: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeError) as refused:
        decode(CONFIG_MAP, {"metadata": metadata})
    assert str(refused.value) == message


def test_a_bad_quantity_is_explained() -> None:
    with pytest.raises(DecodeError, match="quantities must match the regular expression"):
        decode(POD, {"spec": {"containers": [{"resources": {"limits": {"cpu": "lots"}}}]}})


def test_decoding_never_shares_maps_with_its_input() -> None:
    raw = {"metadata": {"labels": {"a": "b"}}}
    obj, _ = decode(CONFIG_MAP, raw)
    obj["metadata"]["labels"]["c"] = "d"
    assert raw == {"metadata": {"labels": {"a": "b"}}}


def test_shaping_puts_fields_in_kubernetes_order_and_writes_gos_zero_values() -> None:
    shaped = shape(
        DEPLOYMENT,
        {"spec": {"template": {}, "replicas": 1}, "metadata": {"uid": "u", "name": "d"}, "kind": "Deployment"},
    )
    assert list(shaped) == ["kind", "metadata", "spec", "status"]
    assert list(shaped["metadata"]) == ["name", "uid"]
    assert shaped["spec"]["selector"] is None
    assert shaped["spec"]["template"] == {"metadata": {}, "spec": {"containers": None}}
    assert shaped["status"] == {}


def test_a_role_without_rules_has_null_rules() -> None:
    role = struct("rbac.authorization.k8s.io", "v1", "Role")
    assert shape(role, {"metadata": {"name": "r"}}) == {"metadata": {"name": "r"}, "rules": None}
