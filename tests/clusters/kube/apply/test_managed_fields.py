# ruff: noqa: E501  (one case per line, with Kubernetes' own words)
"""Who owns what: the parts that the recorded sequences do not show on their own."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.kube.apply import managed_fields
from clusters.kube.apply.object_type import ObjectType
from clusters.kube.apply.scale import entries_of_parent, entries_of_scale
from clusters.kube.errors import StatusError
from clusters.kube.schema.catalogue import Catalogue

Map = dict[str, Any]


def object_type(group: str, version: str, kind: str) -> ObjectType:
    struct = Catalogue.of("1.36").kind(group, version, kind)
    assert struct is not None
    return ObjectType.of_struct(struct)


CONFIG_MAP = object_type("", "v1", "ConfigMap")


def config_map(data: Map, **metadata: Any) -> Map:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **metadata}, "data": data}


def updated(live: Map | None, new: Map, manager: str, second: int = 0) -> Map:
    now = f"2026-01-01T00:00:{second:02d}Z"
    result = managed_fields.update(live, new, manager, schema=CONFIG_MAP, api_version="v1", now=now)
    result["metadata"]["uid"] = "1"
    return result


def applied(live: Map | None, config: Map, manager: str, *, force: bool = False, second: int = 0) -> Map:
    now = f"2026-01-01T00:00:{second:02d}Z"
    return managed_fields.apply(
        live, config, manager, force, schema=CONFIG_MAP, api_version="v1", kind="ConfigMap", now=now
    )


def owners(obj: Map) -> Map:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", ())}


def test_a_create_owns_what_it_sets_and_nothing_of_the_identity() -> None:
    created = updated(None, config_map({"x": "1"}, namespace="default", labels={"l": "1"}), "gt")
    assert created["metadata"]["managedFields"] == [
        {
            "manager": "gt",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:data": {".": {}, "f:x": {}},
                "f:metadata": {"f:labels": {".": {}, "f:l": {}}},
            },
        }
    ]
    assert list(created["metadata"]["managedFields"][0]) == [
        "manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1",
    ]  # fmt: skip


def test_zero_values_that_go_writes_are_owned_whether_or_not_they_are_spelled_out() -> None:
    """`resources: {}` and `protocol` of a container: a decoded object lacks the first, the written one has it."""
    pod = object_type("", "v1", "Pod")
    decoded: Map = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]},
    }
    for obj in (decoded, pod.written(decoded)):
        created = managed_fields.update(None, obj, "gt", schema=pod, api_version="v1", now="2026-01-01T00:00:00Z")
        assert owners(created)["gt"] == {
            "f:spec": {
                "f:containers": {
                    'k:{"name":"c"}': {
                        ".": {},
                        "f:name": {},
                        "f:ports": {
                            ".": {},
                            'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}},
                        },
                        "f:resources": {},
                    }
                }
            }
        }


def test_an_update_that_changes_nothing_leaves_the_times_alone() -> None:
    live = updated(None, config_map({"x": "1"}), "gt")
    again = updated(live, config_map({"x": "1"}), "other", 9)
    assert again["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_who_changes_a_field_takes_it() -> None:
    live = updated(None, config_map({"x": "1", "y": "1"}), "one")
    live = updated(live, config_map({"x": "2", "y": "1"}), "two", 1)
    assert owners(live) == {"one": {"f:data": {".": {}, "f:y": {}}}, "two": {"f:data": {"f:x": {}}}}
    live = updated(live, config_map({"x": "2"}), "three", 2)
    assert owners(live) == {"one": {"f:data": {}}, "two": {"f:data": {"f:x": {}}}}


def test_an_object_that_was_never_tracked_stays_so_until_the_first_apply() -> None:
    live = config_map({"x": "1"}, uid="1")
    untracked = updated(live, config_map({"x": "2"}, uid="1"), "gt")
    assert "managedFields" not in untracked["metadata"]
    result = applied(untracked, config_map({"y": "1"}), "alpha", second=3)
    assert owners(result) == {"before-first-apply": {"f:data": {".": {}, "f:x": {}}}, "alpha": {"f:data": {"f:y": {}}}}


@pytest.mark.parametrize("sent", [[], [{}]])
def test_resetting_managed_fields(sent: list[Map]) -> None:
    live = updated(None, config_map({"x": "1"}), "gt")
    assert "managedFields" not in updated(live, config_map({"x": "1"}, managedFields=sent), "gt")["metadata"]


def test_broken_managed_fields_are_not_taken_over() -> None:
    live = updated(None, config_map({"x": "1"}), "gt")
    broken = [{"manager": "z", "operation": "Nonsense", "apiVersion": "v1", "fieldsType": "FieldsV1"}]
    kept = updated(live, config_map({"x": "1"}, managedFields=broken), "gt")
    assert kept["metadata"]["managedFields"] == live["metadata"]["managedFields"]
    assert managed_fields.problem_after_admission(broken) == "operation must be `Apply` or `Update`"


def test_a_subresource_cannot_edit_managed_fields() -> None:
    live = updated(None, config_map({"x": "1"}), "gt")
    sent = config_map({"x": "1"}, managedFields=[{}])
    kept = managed_fields.update(
        live, sent, "gt", schema=CONFIG_MAP, api_version="v1", subresource="status", now="2026-01-01T00:00:09Z"
    )
    assert kept["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_the_eleventh_updater_merges_the_oldest_two() -> None:
    live = updated(None, config_map({"k0": "1"}), "m0")
    for each in range(1, 12):
        data = {f"k{key}": "1" for key in range(each + 1)}
        live = updated(live, config_map(data), f"m{each}", each)
    assert list(owners(live)) == ["ancient-changes", *(f"m{each}" for each in range(3, 12))]
    assert owners(live)["ancient-changes"] == {"f:data": {".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}}}
    assert live["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:00:02Z"


def test_conflicts_name_the_manager_and_the_fields() -> None:
    live = applied(None, config_map({"x": "1", "y": "1"}), "alpha")
    with pytest.raises(StatusError) as caught:
        applied(live, config_map({"x": "2", "y": "2"}), "beta")
    assert caught.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 2 conflicts: conflicts with "alpha":\n- .data.x\n- .data.y',
        "reason": "Conflict",
        "details": {
            "causes": [
                {"reason": "FieldManagerConflict", "message": 'conflict with "alpha"', "field": ".data.x"},
                {"reason": "FieldManagerConflict", "message": 'conflict with "alpha"', "field": ".data.y"},
            ]
        },
        "code": 409,
    }
    assert owners(applied(live, config_map({"x": "2"}), "beta", force=True)) == {
        "alpha": {"f:data": {"f:y": {}}},
        "beta": {"f:data": {"f:x": {}}},
    }


def test_an_updaters_conflict_names_version_and_subresource() -> None:
    deployment = object_type("apps", "v1", "Deployment")
    live = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "status": {}}
    live = managed_fields.update(
        None, {**live, "status": {"replicas": 1}}, "kcm", schema=deployment, api_version="apps/v1",
        subresource="status", now="2026-01-01T00:00:00Z",
    )  # fmt: skip
    config = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "status": {"replicas": 2}}
    with pytest.raises(StatusError, match=r'with "kcm" with subresource "status" using apps/v1: \.status\.replicas'):
        managed_fields.apply(
            live, config, "alpha", False, schema=deployment, api_version="apps/v1", kind="Deployment",
            subresource="status", now="2026-01-01T00:00:00Z",
        )  # fmt: skip


def test_a_second_applier_of_the_same_value_has_no_time() -> None:
    live = applied(None, config_map({"x": "1"}), "alpha", second=1)
    both = applied(live, config_map({"x": "1"}), "beta", second=2)
    assert [(each["manager"], each.get("time")) for each in both["metadata"]["managedFields"]] == [
        ("beta", None),
        ("alpha", "2026-01-01T00:00:01Z"),
    ]


def test_what_is_no_longer_applied_goes_unless_somebody_else_owns_it() -> None:
    live = applied(None, config_map({"x": "1", "y": "1"}), "alpha")
    live = applied(live, config_map({"y": "1"}), "beta", second=1)
    assert applied(live, config_map({}), "alpha", second=2)["data"] == {"y": "1"}


@pytest.mark.parametrize(
    ("config", "code", "text"),
    [
        ({"apiVersion": "v1", "kind": "Secret"}, 400, "invalid object type: /v1, Kind=Secret"),
        (config_map({}, managedFields=[]), 400, "metadata.managedFields must be nil"),
        ({**config_map({}), "foo": 1}, 500, "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .foo: field not declared in schema"),
    ],
)  # fmt: skip
def test_configurations_that_are_refused(config: Map, code: int, text: str) -> None:
    with pytest.raises(StatusError) as caught:
        applied(None, config, "alpha")
    assert (caught.value.code, caught.value.message) == (code, text)


def test_kubectl_takes_over_from_client_side_apply_and_the_annotation_follows() -> None:
    annotation = "kubectl.kubernetes.io/last-applied-configuration"
    last = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"x":"1"}}'
    live = updated(None, config_map({"x": "1"}, annotations={annotation: last}), "kubectl-client-side-apply")
    with pytest.raises(StatusError, match="conflict with"):
        applied(live, config_map({"x": "2"}), "somebody")
    result = applied(live, config_map({"x": "2"}), "kubectl")
    assert result["data"] == {"x": "2"}
    assert result["metadata"]["annotations"][annotation] == (
        '{"apiVersion":"v1","data":{"x":"2"},"kind":"ConfigMap","metadata":{"name":"a"}}\n'
    )


def test_only_new_times_are_no_change() -> None:
    live = applied(None, config_map({"x": "1"}), "alpha", second=1)
    entry = live["metadata"]["managedFields"][0]
    later = {**live, "metadata": {**live["metadata"], "managedFields": [{**entry, "time": "2026-01-01T00:00:09Z"}]}}
    assert managed_fields.keep_times(live, later) == live
    changed = {**later, "data": {"x": "2"}}
    assert managed_fields.keep_times(live, changed) is changed


@pytest.mark.parametrize(
    ("field_manager", "user_agent", "name"),
    [("mine", "kubectl/v1", "mine"), ("", "kubectl/v1.36 (linux)", "kubectl"), ("", "a\x00b", "ab"), ("", "x" * 200, "x" * 128)],
)  # fmt: skip
def test_the_managers_name(field_manager: str, user_agent: str, name: str) -> None:
    assert managed_fields.manager_name(field_manager, user_agent) == name


def test_managers_of_other_versions_are_compared_in_their_version() -> None:
    """A made-up kind whose v2 calls `data` what v1 calls `binaryData`."""

    def convert(obj: Map, version: str) -> tuple[Map, ObjectType] | None:
        if version not in ("v1", "v2"):
            return None
        if version == obj.get("apiVersion", version):
            return obj, CONFIG_MAP
        renamed = {"data": "binaryData", "binaryData": "data"}
        return {**{renamed.get(name, name): value for name, value in obj.items()}, "apiVersion": version}, CONFIG_MAP

    arguments: Map = {"schema": CONFIG_MAP, "now": "2026-01-01T00:00:00Z", "convert": convert}
    live = managed_fields.update(None, config_map({"x": "1", "y": "1"}), "one", api_version="v1", **arguments)
    new = {"apiVersion": "v2", "metadata": live["metadata"], "binaryData": {"x": "2", "y": "1"}}
    old = {**new, "binaryData": {"x": "1", "y": "1"}}
    result = managed_fields.update(old, new, "two", api_version="v2", **arguments)
    assert owners(result) == {"one": {"f:data": {".": {}, "f:y": {}}}, "two": {"f:binaryData": {"f:x": {}}}}
    gone = [{**live["metadata"]["managedFields"][0], "apiVersion": "v0"}]
    old["metadata"] = new["metadata"] = {**live["metadata"], "managedFields": gone}
    assert list(owners(managed_fields.update(old, new, "two", api_version="v2", **arguments))) == ["two"]


def test_a_scale_shows_and_moves_the_owner_of_the_replicas() -> None:
    replicas = {"apps/v1": ("f:spec", "f:replicas")}
    fields: Map = {"f:spec": {"f:paused": {}, "f:replicas": {}}}
    parent = [
        {
            "manager": "alpha",
            "operation": "Apply",
            "apiVersion": "apps/v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
    ]
    shown = entries_of_scale(parent, replicas)
    assert shown == [{**parent[0], "apiVersion": "autoscaling/v1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]
    assert entries_of_parent(parent, shown, "apps/v1", replicas) == parent
    taken = [
        {**shown[0], "manager": "hpa", "operation": "Update", "subresource": "scale", "time": "2026-01-01T00:00:00Z"}
    ]
    assert [
        (entry["manager"], entry["apiVersion"], entry["fieldsV1"], "time" in entry)
        for entry in entries_of_parent(parent, taken, "apps/v1", replicas)
    ] == [
        ("alpha", "apps/v1", {"f:spec": {"f:paused": {}}}, False),
        ("hpa", "apps/v1", {"f:spec": {"f:replicas": {}}}, False),
    ]
