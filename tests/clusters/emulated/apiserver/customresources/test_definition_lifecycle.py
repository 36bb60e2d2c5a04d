"""From POST to gone: names, conditions, serving, and what happens to the instances in the end."""

from __future__ import annotations

from tests.clusters.emulated.apiserver.customresources.conftest import (
    DEFINITIONS,
    GROUP,
    Shop,
    definition,
    spec_schema,
    version,
)

ACCEPTED = ("True", "NoConflicts", "no conflicts found")
ESTABLISHED = ("True", "InitialNamesAccepted", "the initial names have been accepted")
NOT_ESTABLISHED = ("False", "NotAccepted", "not all names are accepted")


def test_before_the_definition_there_is_no_page(shop: Shop) -> None:
    assert shop("GET", shop.path("carts")) == (404, "404 page not found\n")


def test_a_definition_is_established_and_its_resource_served(shop: Shop) -> None:
    shop.define(definition("carts", "Cart"))
    assert shop.conditions("carts") == {"NamesAccepted": ACCEPTED, "Established": ESTABLISHED}
    code, listed = shop("GET", shop.path("carts"))
    assert (code, listed["kind"], listed["items"]) == (200, "CartList", [])


def test_the_api_server_itself_owns_the_status(shop: Shop) -> None:
    managed = shop.define(definition("carts", "Cart"))["metadata"]["managedFields"]
    by_manager = {each["manager"]: each for each in managed}
    assert by_manager["kube-apiserver"]["subresource"] == "status"
    assert set(by_manager["kube-apiserver"]["fieldsV1"]) == {"f:status"}


def test_a_kind_can_be_claimed_once_and_is_granted_when_it_becomes_free(shop: Shop) -> None:
    shop.define(definition("carts", "Cart"))
    shop.define(definition("trolleys", "Cart"))
    conflict = ("False", "ListKindConflict", '"CartList" is already in use')
    assert shop.conditions("trolleys") == {"NamesAccepted": conflict, "Established": NOT_ESTABLISHED}
    assert shop("GET", shop.path("trolleys")) == (404, "404 page not found\n")
    shop("DELETE", f"{DEFINITIONS}/carts.{GROUP}")
    shop.settle()
    assert shop.conditions("trolleys") == {"NamesAccepted": ACCEPTED, "Established": ESTABLISHED}


def test_several_short_names_that_are_taken_are_all_told(shop: Shop) -> None:
    shop.define(definition("carts", "Cart", names={"shortNames": ["ct"]}))
    shop.define(definition("boxes", "Box", names={"shortNames": ["carts", "ct", "bx"]}))
    text = '["carts" is already in use, "ct" is already in use]'
    assert shop.conditions("boxes")["NamesAccepted"] == ("False", "ShortNamesConflict", text)


def test_deleting_a_definition_deletes_its_instances(shop: Shop) -> None:
    shop.define(definition("carts", "Cart"))
    shop.make("carts", "Cart", "one")
    code, marked = shop("DELETE", f"{DEFINITIONS}/carts.{GROUP}")
    assert code == 200
    assert marked["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert marked["status"]["conditions"][-1]["reason"] == "InstanceDeletionPending"
    shop.settle()
    assert shop("GET", f"{DEFINITIONS}/carts.{GROUP}")[0] == 404
    assert shop("GET", shop.path("carts")) == (404, "404 page not found\n")
    shop.define(definition("carts", "Cart"))
    assert shop("GET", shop.path("carts"))[1]["items"] == []


def test_an_instance_with_a_finalizer_keeps_its_definition(shop: Shop) -> None:
    shop.define(definition("carts", "Cart"))
    shop.make("carts", "Cart", "one")
    one = f"{shop.path('carts')}/one"
    shop("PATCH", one, {"metadata": {"finalizers": ["shop.example.com/count"]}}, "merge")
    shop("DELETE", f"{DEFINITIONS}/carts.{GROUP}")
    shop.settle()
    in_progress = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
    assert shop.conditions("carts")["Terminating"] == in_progress
    code, refused = shop.make("carts", "Cart", "two")
    text = "create not allowed while custom resource definition is terminating"
    assert (code, refused["message"]) == (403, f'carts.{GROUP} "two" is forbidden: {text}')
    _, resources = shop("GET", f"/apis/{GROUP}/v1")
    assert "create" not in resources["resources"][0]["verbs"]
    shop("PATCH", one, {"metadata": {"finalizers": None}}, "merge")
    shop.settle()
    assert shop("GET", f"{DEFINITIONS}/carts.{GROUP}")[0] == 404


def test_a_definition_has_a_local_apiservice_which_goes_and_comes_back_with_it(shop: Shop) -> None:
    path = f"/apis/apiregistration.k8s.io/v1/apiservices/v1.{GROUP}"
    shop.define(definition("carts", "Cart"))
    _, service = shop("GET", path)
    assert service["spec"] == {
        "group": GROUP, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 100
    }  # fmt: skip
    assert service["status"]["conditions"][0]["reason"] == "Local"
    shop("DELETE", path)
    shop.settle()
    assert shop("GET", path)[1]["metadata"]["uid"] != service["metadata"]["uid"]
    shop("DELETE", f"{DEFINITIONS}/carts.{GROUP}")
    shop.settle()
    assert shop("GET", path)[0] == 404


def test_a_new_default_is_seen_in_what_was_stored_before_it(shop: Shop) -> None:
    crd = shop.define(definition("carts", "Cart", version("v1", spec_schema(color={"type": "string"}))))
    shop.make("carts", "Cart", "one", spec={})
    properties = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    properties["color"]["default"] = "red"
    assert shop("PUT", f"{DEFINITIONS}/carts.{GROUP}", crd)[0] == 200
    shop.settle()
    assert shop("GET", f"{shop.path('carts')}/one")[1]["spec"] == {"color": "red"}


def test_groups_of_the_community_say_whether_they_were_approved(shop: Shop) -> None:
    crd = definition("carts", "Cart", group="shop.k8s.io")
    crd["metadata"] = {"name": "carts.shop.k8s.io", "annotations": {"api-approved.kubernetes.io": "unapproved, try"}}
    assert shop("POST", DEFINITIONS, crd)[0] == 201
    shop.settle()
    _, found = shop("GET", f"{DEFINITIONS}/carts.shop.k8s.io")
    first = found["status"]["conditions"][0]
    assert (first["type"], first["reason"]) == ("KubernetesAPIApprovalPolicyConformant", "UnapprovedAnnotation")
    assert first["message"] == 'not approved: "unapproved, try"'
