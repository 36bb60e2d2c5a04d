"""Create, update, patch and delete, as a client sees them."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.base import ApiError
from clusters.emulated.client.blocking import BlockingApi

MAPS = "/api/v1/namespaces/shop/configmaps"


def config_map(name: str = "a", **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def refused(call: Any) -> ApiError:
    with pytest.raises(ApiError) as error:
        call()
    return error.value


def test_a_created_object_has_its_system_fields_and_an_owner_of_its_fields(api: BlockingApi) -> None:
    created = api.create(MAPS, config_map(x="1"))
    metadata = created["metadata"]
    assert metadata["namespace"] == "shop"
    assert metadata["uid"]
    assert metadata["resourceVersion"].isdigit()
    assert metadata["managedFields"][0]["fieldsV1"] == {"f:data": {".": {}, "f:x": {}}}
    assert api.get(f"{MAPS}/a") == created


def test_creating_it_again_is_a_conflict(api: BlockingApi) -> None:
    api.create(MAPS, config_map())
    error = refused(lambda: api.create(MAPS, config_map()))
    assert (error.code, error.reason, error.message) == (409, "AlreadyExists", 'configmaps "a" already exists')


def test_a_generated_name_keeps_its_prefix(api: BlockingApi) -> None:
    created = api.create(MAPS, {"metadata": {"generateName": "web-"}})
    assert created["metadata"]["name"].startswith("web-")
    assert len(created["metadata"]["name"]) == len("web-") + 5


def test_a_stale_resource_version_is_refused(api: BlockingApi) -> None:
    first = api.create(MAPS, config_map(x="1"))
    api.update(f"{MAPS}/a", {**first, "data": {"x": "2"}})
    error = refused(lambda: api.update(f"{MAPS}/a", {**first, "data": {"x": "3"}}))
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message.startswith('Operation cannot be fulfilled on configmaps "a": the object has been modified')
    assert api.get(f"{MAPS}/a")["data"] == {"x": "2"}


def test_an_update_that_changes_nothing_is_no_write(api: BlockingApi) -> None:
    created = api.create(MAPS, config_map(x="1"))
    again = api.patch(f"{MAPS}/a", {"data": {"x": "1"}})
    assert again["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


def test_the_uid_of_another_incarnation_is_refused(api: BlockingApi) -> None:
    created = api.create(MAPS, config_map())
    api.delete(f"{MAPS}/a")
    api.create(MAPS, config_map())
    created["metadata"].pop("resourceVersion")
    error = refused(lambda: api.update(f"{MAPS}/a", created))
    assert error.code == 409
    assert "Precondition failed: UID in precondition" in error.message


@pytest.mark.parametrize("verb", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_dry_run_changes_nothing(api: BlockingApi, verb: str) -> None:
    before = api.create(MAPS, config_map("kept", x="1"))
    path = f"{MAPS}?dryRun=All" if verb == "POST" else f"{MAPS}/kept?dryRun=All"
    body = config_map("new" if verb == "POST" else "kept", x="2") if verb != "DELETE" else None
    headers = {"Content-Type": "application/merge-patch+json"} if verb == "PATCH" else {}
    answer = api.request(verb, path, body, headers=headers)
    assert answer.code in (200, 201)
    assert [item["metadata"]["name"] for item in api.get(MAPS)["items"]] == ["kept"]
    assert api.get(f"{MAPS}/kept") == before


def test_unknown_fields_warn_by_default_and_refuse_when_strict(api: BlockingApi) -> None:
    body = {**config_map(), "dataz": {}}
    answer = api.request("POST", f"{MAPS}?dryRun=All", body)
    assert answer.code == 201
    assert answer.warnings == ['unknown field "dataz"']
    strict = api.request("POST", f"{MAPS}?dryRun=All&fieldValidation=Strict", body)
    assert strict.code == 400
    assert strict.body["message"] == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dataz"'
    )
    assert api.request("POST", f"{MAPS}?dryRun=All&fieldValidation=Ignore", body).warnings == []


def test_a_finalizer_keeps_a_deleted_object_until_it_is_removed(api: BlockingApi) -> None:
    api.create(MAPS, {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}})
    assert api.delete(f"{MAPS}/held")["metadata"]["deletionTimestamp"]
    assert api.get(f"{MAPS}/held")["metadata"]["deletionGracePeriodSeconds"] == 0
    error = refused(lambda: api.create(MAPS, config_map("held")))
    assert error.message == 'object is being deleted: configmaps "held" already exists'
    api.patch(f"{MAPS}/held", {"metadata": {"finalizers": None}})
    assert refused(lambda: api.get(f"{MAPS}/held")).code == 404


def test_propagation_policies_become_finalizers(api: BlockingApi) -> None:
    for policy, finalizer in (("Orphan", "orphan"), ("Foreground", "foregroundDeletion")):
        api.create(MAPS, config_map(policy.lower()))
        deleted = api.delete(f"{MAPS}/{policy.lower()}", {"propagationPolicy": policy})
        assert deleted["metadata"]["finalizers"] == [finalizer]


def test_preconditions_of_a_delete_are_checked(api: BlockingApi) -> None:
    created = api.create(MAPS, config_map())
    wrong = refused(lambda: api.delete(f"{MAPS}/a", {"preconditions": {"uid": "other"}}))
    assert (wrong.code, wrong.reason) == (409, "Conflict")
    assert "the UID in the precondition (other) does not match the UID in record" in wrong.message
    api.delete(f"{MAPS}/a", {"preconditions": {"uid": created["metadata"]["uid"]}})


def test_a_collection_is_deleted_by_selector(api: BlockingApi) -> None:
    for name, tier in (("a", "x"), ("b", "y"), ("c", "x")):
        api.create(MAPS, {"metadata": {"name": name, "labels": {"tier": tier}}})
    gone = api.delete(f"{MAPS}?labelSelector=tier%3Dx")
    assert [item["metadata"]["name"] for item in gone["items"]] == ["a", "c"]
    assert [item["metadata"]["name"] for item in api.get(MAPS)["items"]] == ["b"]


def test_apply_names_the_field_and_the_manager_it_conflicts_with(api: BlockingApi) -> None:
    api.apply(f"{MAPS}/a", config_map(x="1"), manager="alpha")
    error = refused(lambda: api.apply(f"{MAPS}/a", config_map(x="2"), manager="beta"))
    assert error.message == 'Apply failed with 1 conflict: conflict with "alpha": .data.x'
    forced = api.apply(f"{MAPS}/a", config_map(x="2"), manager="beta", force=True)
    assert {entry["manager"] for entry in forced["metadata"]["managedFields"]} == {"beta"}


def test_every_patch_type_reaches_the_same_object(api: BlockingApi) -> None:
    api.create(MAPS, config_map(x="1"))
    path = f"{MAPS}/a"
    api.patch(path, [{"op": "add", "path": "/data/json", "value": "1"}], "application/json-patch+json")
    api.patch(path, {"data": {"merge": "1"}})
    api.patch(path, {"data": {"strategic": "1"}}, "application/strategic-merge-patch+json")
    api.apply(path, config_map(apply="1"))
    assert set(api.get(path)["data"]) == {"x", "json", "merge", "strategic", "apply"}
    assert api.request("PATCH", path, {}, headers={"Content-Type": "application/json"}).code == 415
