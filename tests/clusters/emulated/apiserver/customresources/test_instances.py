"""Instances of a definition: how they are read, refused, written, shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusters.emulated.transport.inprocess import InProcess
from tests.clusters.emulated.apiserver.customresources.conftest import (
    ADMIN,
    DEFINITIONS,
    GROUP,
    Shop,
    definition,
    spec_schema,
    version,
)

Object = dict[str, Any]
SIZE = {"type": "integer", "minimum": 1, "maximum": 10}
SCALE = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.ready"}


@pytest.fixture
def carts(shop: Shop) -> str:
    schema = spec_schema(size=SIZE, color={"type": "string"}, tags={"type": "array", "items": {"type": "string"}})
    schema["properties"]["status"] = {"type": "object", "properties": {"ready": {"type": "integer", "maximum": 5}}}
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Tags", "type": "string", "jsonPath": ".spec.tags", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    made = version(
        "v1",
        schema,
        subresources={"status": {}, "scale": SCALE},
        selectableFields=[{"jsonPath": ".spec.color"}],
        additionalPrinterColumns=columns,
    )
    shop.define(definition("carts", "Cart", made, names={"shortNames": ["ct"], "categories": ["all"]}))
    return shop.path("carts")


def test_an_instance_is_written_with_its_keys_in_alphabetical_order(shop: Shop, carts: str) -> None:
    _, made = shop.make("carts", "Cart", "one", spec={"size": 1, "color": "red"})
    assert list(made) == ["apiVersion", "kind", "metadata", "spec"]
    assert list(made["metadata"]) == sorted(made["metadata"])
    _, listed = shop("GET", carts)
    assert list(listed) == ["apiVersion", "items", "kind", "metadata"]
    assert listed["metadata"]["continue"] == ""
    assert listed["items"] == [made]


def test_unknown_fields_are_pruned_with_a_warning_or_refused(shop: Shop, carts: str) -> None:
    code, made = shop.make("carts", "Cart", "one", spec={"size": 1, "wheels": 4}, more=1)
    assert (code, made["spec"]) == (201, {"size": 1})
    assert shop.warnings == ['299 - "unknown field \\"more\\""', '299 - "unknown field \\"spec.wheels\\""']
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Cart", "metadata": {"name": "two", "x": 1}, "spec": {"y": 2}}
    code, refused = shop("POST", f"{carts}?fieldValidation=Strict", body)
    problems = 'strict decoding error: unknown field "metadata.x", unknown field "spec.y"'
    assert (code, refused["message"]) == (400, f'Cart in version "v1" cannot be handled as a Cart: {problems}')


@pytest.mark.parametrize(
    ("claimed", "code", "message"),
    [
        ({"apiVersion": f"{GROUP}/v1"}, 400, "Object 'Kind' is missing in"),
        ({"kind": "Cart"}, 400, "the API version in the data () does not match the expected API version"),
        ({"apiVersion": f"{GROUP}/v9", "kind": "Cart"}, 400, f"the API version in the data ({GROUP}/v9) does not"),
        ({"apiVersion": f"{GROUP}/v1", "kind": "Car"}, 422, f'Car.{GROUP} "one" is invalid: kind: Invalid value'),
    ],
)
def test_a_body_has_to_say_what_it_is(shop: Shop, carts: str, claimed: Object, code: int, message: str) -> None:
    found, refused = shop("POST", carts, {**claimed, "metadata": {"name": "one"}})
    assert found == code
    assert message in refused["message"]


def test_metadata_of_the_wrong_shape_is_told_in_the_decoders_words(shop: Shop, carts: str) -> None:
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Cart", "metadata": {"name": "one", "labels": "x"}}
    code, refused = shop("POST", carts, body)
    why = "json: cannot unmarshal string into Go struct field ObjectMeta.labels of type map[string]string"
    assert (code, refused["message"]) == (400, f'Cart in version "v1" cannot be handled as a Cart: {why}')


def test_a_put_must_say_which_version_it_replaces(shop: Shop, carts: str) -> None:
    shop.make("carts", "Cart", "one", spec={"size": 1})
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Cart", "metadata": {"name": "one"}, "spec": {"size": 2}}
    code, refused = shop("PUT", f"{carts}/one", body)
    why = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    assert (code, refused["message"]) == (422, f'carts.{GROUP} "one" is invalid: {why}')


def test_spec_and_status_have_an_endpoint_each(shop: Shop, carts: str) -> None:
    _, made = shop.make("carts", "Cart", "one", spec={"size": 1}, status={"ready": 1})
    assert "status" not in made
    both = {"spec": {"size": 2}, "status": {"ready": 3}, "metadata": {"labels": {"a": "b"}}}
    _, through_status = shop("PATCH", f"{carts}/one/status", both, "merge")
    assert (through_status["spec"], through_status["status"]) == ({"size": 1}, {"ready": 3})
    assert through_status["metadata"]["generation"] == 1
    assert "labels" not in through_status["metadata"]
    _, through_main = shop("PATCH", f"{carts}/one", {**both, "status": {"ready": 5}}, "merge")
    assert (through_main["spec"], through_main["status"]) == ({"size": 2}, {"ready": 3})
    assert through_main["metadata"]["generation"] == 2
    _, labelled = shop("PATCH", f"{carts}/one", {"metadata": {"labels": {"c": "d"}}}, "merge")
    assert labelled["metadata"]["generation"] == 2


def test_the_status_is_validated_below_its_own_path(shop: Shop, carts: str) -> None:
    shop.make("carts", "Cart", "one", spec={"size": 1})
    code, refused = shop("PATCH", f"{carts}/one/status", {"status": {"ready": 9}}, "merge")
    cause = {
        "reason": "FieldValueInvalid",
        "message": "Invalid value: 9: ready in body should be less than or equal to 5",
        "field": "status.ready",
    }
    assert (code, refused["details"]["causes"]) == (422, [cause])


def test_an_instance_is_scaled_where_its_definition_says(shop: Shop, carts: str) -> None:
    shop.make("carts", "Cart", "one", spec={"size": 1})
    _, scale = shop("PATCH", f"{carts}/one/scale", {"spec": {"replicas": 4}}, "merge")
    assert (scale["kind"], scale["spec"]) == ("Scale", {"replicas": 4})
    assert shop("GET", f"{carts}/one")[1]["spec"]["size"] == 4
    code, refused = shop("PATCH", f"{carts}/one/scale", {"spec": {"replicas": 40}}, "merge")
    assert code == 422
    assert "spec.size in body should be less than or equal to 10" in refused["message"]
    shop.make("carts", "Cart", "empty", spec={})
    code, refused = shop("GET", f"{carts}/empty/scale")
    assert (code, refused["message"]) == (
        500, 'Internal error occurred: the spec replicas field ".spec.size" does not exist'
    )  # fmt: skip


def test_strategic_merge_patch_is_not_for_custom_resources(shop: Shop, carts: str) -> None:
    shop.make("carts", "Cart", "one", spec={"size": 1})
    code, refused = shop(
        "PATCH", f"{carts}/one", {"spec": {"size": 2}}, **{"content-type": "application/strategic-merge-patch+json"}
    )
    assert code == 415
    assert "application/strategic-merge-patch+json" not in refused["message"]


def test_two_managers_share_an_instance_by_server_side_apply(shop: Shop, carts: str) -> None:
    def applied(manager: str, spec: Object, force: str = "") -> Any:
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Cart", "metadata": {"name": "one"}, "spec": spec}
        return shop("PATCH", f"{carts}/one?fieldManager={manager}{force}", body, "apply")

    assert applied("a", {"size": 1})[0] == 201
    assert applied("b", {"color": "red"})[1]["spec"] == {"color": "red", "size": 1}
    code, conflict = applied("b", {"color": "red", "size": 2})
    assert (code, conflict["details"]["causes"][0]["field"]) == (409, ".spec.size")
    assert applied("b", {"size": 2}, "&force=true")[1]["spec"] == {"size": 2}
    code, refused = applied("b", {"wheels": 1})
    assert (code, refused["message"].rpartition(": ")[2]) == (500, "field not declared in schema")


def test_fields_can_be_selected_that_the_definition_offers(shop: Shop, carts: str) -> None:
    shop.make("carts", "Cart", "one", spec={"color": "red"})
    shop.make("carts", "Cart", "two", spec={"color": "green"})
    _, found = shop("GET", f"{carts}?fieldSelector=spec.color=red")
    assert [each["metadata"]["name"] for each in found["items"]] == ["one"]
    code, refused = shop("GET", f"{carts}?fieldSelector=spec.size=1")
    assert (code, refused["message"]) == (400, "field label not supported: spec.size")


def test_printer_columns_become_a_table(shop: Shop, carts: str) -> None:
    shop.make("carts", "Cart", "one", spec={"size": 3, "tags": ["a", "b"]})
    shop.make("carts", "Cart", "two", spec={})
    _, table = shop("GET", carts, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Size", "Tags", "Age"]
    assert [row["cells"] for row in table["rows"]] == [["one", 3, '["a","b"]', "0s"], ["two", None, None, "0s"]]


def test_discovery_tells_of_names_and_subresources(shop: Shop, carts: str) -> None:
    _, legacy = shop("GET", f"/apis/{GROUP}/v1")
    assert [each["name"] for each in legacy["resources"]] == ["carts", "carts/status", "carts/scale"]
    assert (legacy["resources"][0]["shortNames"], legacy["resources"][0]["categories"]) == (["ct"], ["all"])
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    _, groups = shop("GET", "/apis", accept=aggregated)
    group = next(each for each in groups["items"] if each["metadata"]["name"] == GROUP)
    assert group["versions"][0]["resources"][0]["responseKind"] == {"group": GROUP, "version": "v1", "kind": "Cart"}


@pytest.mark.parametrize(
    ("method", "below", "code", "message"),
    [
        ("GET", "/one/nothing", 404, f'carts.{GROUP} "one" not found'),
        ("DELETE", "/one/status", 405, f'delete is not supported on resources of kind "carts.{GROUP}"'),
        ("PUT", "", 400, "name must be provided"),
    ],
)
def test_urls_that_lead_nowhere(shop: Shop, carts: str, method: str, below: str, code: int, message: str) -> None:
    found, refused = shop(method, carts + below, {} if method == "PUT" else None)
    assert (found, refused["message"]) == (code, message)


def test_what_did_not_change_is_not_refused(shop: Shop) -> None:
    """Ratcheting: an instance that a newer schema would refuse can still be changed elsewhere."""
    rule = {"rule": "self.size < 5", "message": "too many"}
    schema = spec_schema(size={"type": "integer"}, color={"type": "string", "maxLength": 20})
    crd = shop.define(definition("carts", "Cart", version("v1", schema)))
    shop.make("carts", "Cart", "one", spec={"size": 9, "color": "a long name of a color"[:20]})
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["x-kubernetes-validations"] = [rule]
    spec["properties"]["color"]["maxLength"] = 3
    assert shop("PUT", f"{DEFINITIONS}/carts.{GROUP}", crd)[0] == 200
    shop.settle()
    one = f"{shop.path('carts')}/one"
    assert shop("PATCH", one, {"metadata": {"labels": {"a": "b"}}}, "merge")[0] == 200
    assert shop.warnings == ['299 - "spec: Invalid value: too many"']
    code, refused = shop("PATCH", one, {"spec": {"size": 8}}, "merge")
    assert (code, [each["message"] for each in refused["details"]["causes"]]) == (422, ["Invalid value: too many"])
    code, refused = shop("PATCH", one, {"spec": {"size": 1, "color": "blue"}}, "merge")
    assert (code, refused["details"]["causes"][0]["reason"]) == (422, "FieldValueTooLong")


def test_a_transition_rule_sees_the_old_value(shop: Shop) -> None:
    frozen = {
        "type": "string",
        "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "frozen is frozen"}],
    }
    shop.define(definition("carts", "Cart", version("v1", spec_schema(frozen=frozen))))
    assert shop.make("carts", "Cart", "one", spec={"frozen": "a"})[0] == 201
    code, refused = shop("PATCH", f"{shop.path('carts')}/one", {"spec": {"frozen": "b"}}, "merge")
    text = f'Cart.{GROUP} "one" is invalid: spec.frozen: Invalid value: "b": frozen is frozen'
    assert (code, refused["message"]) == (422, text)


def test_a_watch_tells_of_instances(shop: Shop, carts: str) -> None:
    shop.make("carts", "Cart", "one", spec={"size": 1})
    events = shop.run(_watched(shop, f"{carts}?watch=1&timeoutSeconds=1&resourceVersion=0"))
    assert [(each["type"], each["object"]["metadata"]["name"]) for each in events] == [("ADDED", "one")]


async def _watched(shop: Shop, target: str) -> list[Object]:
    reply = await InProcess(shop.server).request("GET", target, identity=ADMIN)
    text = b"".join([chunk async for chunk in reply.chunks()])
    return [json.loads(line) for line in text.splitlines()]
