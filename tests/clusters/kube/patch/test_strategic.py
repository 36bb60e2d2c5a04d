"""Strategic merge patch on Deployments: small forms of patches whose answers were compared with a real v1.36."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clusters.kube.patch import conversion, strategic
from clusters.kube.patch.errors import PatchError
from clusters.kube.schema.catalogue import Catalogue
from clusters.kube.schema.model import Struct

Map = dict[str, Any]


@pytest.fixture(scope="module")
def deployment() -> Struct:
    found = Catalogue.of("1.36").kind("apps", "v1", "Deployment")
    assert found is not None
    return found


def env(*pairs: str) -> list[Map]:
    return [{"name": pair[0], "value": pair[1]} for pair in pairs]


def live() -> Map:
    return {
        "metadata": {"labels": {"a": "1", "b": "2"}, "finalizers": ["x/a", "x/b"]},
        "spec": {
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "template": {
                "spec": {
                    "containers": [{"name": "a", "image": "1", "env": env("A1", "B2", "C3")}, {"name": "b"}],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "tolerations": [{"key": "k"}],
                }
            },
        },
    }


def patched(deployment: Struct, patch: Map) -> Map:
    original = live()
    before = copy.deepcopy((original, patch))
    result = strategic.apply(original, patch, deployment)
    assert (original, patch) == before
    return result


def pod(**fields: Any) -> Map:
    return {"spec": {"template": {"spec": fields}}}


@pytest.mark.parametrize(
    ("patch", "field", "expected"),
    [
        ([{"name": "b", "image": "2"}], "containers", ["a", "b"]),
        ([{"name": "n", "image": "2"}], "containers", ["n", "a", "b"]),
        ([{"name": "b"}, {"name": "a"}], "containers", ["b", "a"]),
        ([{"name": "a", "$patch": "delete"}], "containers", ["b"]),
        ([{"$patch": "replace"}, {"name": "o"}], "containers", ["o"]),
    ],
)
def test_containers_merge_by_name(deployment: Struct, patch: Any, field: str, expected: list[str]) -> None:
    spec = patched(deployment, pod(**{field: patch}))["spec"]["template"]["spec"]
    assert [each["name"] for each in spec[field]] == expected


def test_an_element_keeps_the_fields_that_the_patch_does_not_name(deployment: Struct) -> None:
    result = patched(deployment, pod(containers=[{"name": "a", "env": env("B9")}]))
    container = result["spec"]["template"]["spec"]["containers"][0]
    assert container == {"name": "a", "image": "1", "env": env("A1", "B9", "C3")}


def test_the_asked_for_order_wins_over_the_live_one(deployment: Struct) -> None:
    patch = {"name": "a", "$setElementOrder/env": [{"name": "C"}, {"name": "A"}], "env": env("C9")}
    result = patched(deployment, pod(containers=[patch]))
    assert result["spec"]["template"]["spec"]["containers"][0]["env"] == env("B2", "C9", "A1")


def test_a_list_without_a_merge_key_is_replaced(deployment: Struct) -> None:
    result = patched(deployment, pod(tolerations=[{"key": "z"}]))
    assert result["spec"]["template"]["spec"]["tolerations"] == [{"key": "z"}]


def test_directives_of_maps(deployment: Struct) -> None:
    assert patched(deployment, {"metadata": {"labels": {"$patch": "replace", "z": "1"}}})["metadata"]["labels"] == {
        "z": "1"
    }
    assert patched(deployment, {"metadata": {"labels": {"$patch": "delete"}}})["metadata"]["labels"] == {}
    assert patched(deployment, {"metadata": {"labels": {"a": None}}})["metadata"]["labels"] == {"b": "2"}
    recreate = {"$retainKeys": ["type"], "type": "Recreate"}
    assert patched(deployment, {"spec": {"strategy": recreate}})["spec"]["strategy"] == {"type": "Recreate"}


def test_lists_of_strings(deployment: Struct) -> None:
    def finalizers(**metadata: Any) -> Any:
        return patched(deployment, {"metadata": metadata})["metadata"]["finalizers"]

    assert finalizers(finalizers=["x/c"]) == ["x/c", "x/a", "x/b"]
    assert finalizers(finalizers=["x/b", "x/a"]) == ["x/b", "x/a"]
    assert finalizers(**{"$deleteFromPrimitiveList/finalizers": ["x/a"]}) == ["x/b"]


@pytest.mark.parametrize(
    ("patch", "code", "text"),
    [
        (pod(containers=[{"image": "z"}]), 500, "map: map[image:z] does not contain declared merge key: name"),
        (pod(containers=[{"$patch": "x", "name": "a"}]), 500, "unknown patch type: x in map: map[$patch:x name:a]"),
        (pod(containers=[{"$patch": "merge", "name": "a"}]), 500, "merging lists cannot yet be specified in the patch"),
        (pod(containers=[1]), 500, "list element types are not identical: "),
        (pod(volumes=[{"name": "v", "$retainKeys": "name"}]), 400, "invalid patch format of retainKeys"),
        ({"metadata": {"$deleteFromPrimitiveList": ["x"]}}, 400, "invalid patch format of primitive list"),
        (pod(**{"$setElementOrder": [1]}), 400, "invalid patch format of setElementOrder list"),
        (pod(**{"$setElementOrder/containers": "x"}), 500, "expected a []interface {}, but received a string"),
        ([1], 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ],
)  # fmt: skip
def test_what_does_not_apply_says_why(deployment: Struct, patch: Any, code: int, text: str) -> None:
    with pytest.raises(PatchError) as caught:
        strategic.apply(live(), patch, deployment)
    assert caught.value.text.startswith(text)
    assert caught.value.status_error().code == code


@pytest.mark.parametrize(
    ("obj", "text"),
    [
        ({"spec": {"replicas": "x"}}, "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": {"replicas": True}}, "unrecognized type: int32"),
        ({"spec": "x"}, "cannot restore struct from: string"),
        (pod(containers={}), "cannot restore slice from map"),
        (pod(restartPolicy=5), "cannot convert int64 to v1.RestartPolicy"),
        ({"metadata": {"labels": [1]}}, "cannot restore map from slice"),
        ({"spec": {"replicas": 2.0}}, None),
    ],
)
def test_wrong_types_have_the_converters_words(deployment: Struct, obj: Map, text: str | None) -> None:
    assert conversion.problem(deployment, obj) == text
