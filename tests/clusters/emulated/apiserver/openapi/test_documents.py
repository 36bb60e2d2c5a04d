"""What kubectl and code generators read: the OpenAPI documents."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import pytest

Object = dict[str, Any]


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"].rpartition("/")[2]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(references(each) for each in value.values()))
    return set().union(*(references(each) for each in value)) if isinstance(value, list) else set()


def test_the_index_names_a_document_for_every_group_version(on_server):
    async def scenario(asked):
        index = (await asked.document("/openapi/v3"))["paths"]
        groups = (await asked.document("/apis"))["groups"]
        served = {f"apis/{each['groupVersion']}" for group in groups for each in group["versions"]}
        return index, served

    index, served = on_server(scenario)
    assert served | {"api", "api/v1", "apis", "version"} <= set(index)
    assert index["apis/apps/v1"]["serverRelativeURL"].startswith("/openapi/v3/apis/apps/v1?hash=")


def test_every_reference_of_every_document_leads_somewhere(on_server):
    async def scenario(asked):
        index = (await asked.document("/openapi/v3"))["paths"]
        return {name: await asked.document(f"/openapi/v3/{name}") for name in index}

    for name, document in on_server(scenario).items():
        assert references(document) <= set(document["components"].get("schemas", ())), name


def test_an_operation_says_what_it_takes_and_does(on_server):
    document = on_server(lambda asked: asked.document("/openapi/v3/apis/apps/v1"))
    patch = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert patch["x-kubernetes-action"] == "patch"
    assert patch["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
    assert "application/apply-patch+yaml" in patch["requestBody"]["content"]
    assert [each["name"] for each in patch["parameters"]] == ["dryRun", "fieldManager", "fieldValidation", "force"]


def test_schemas_are_those_of_the_real_server_and_not_of_the_package_they_come_from(on_server):
    schemas = on_server(lambda asked: asked.document("/openapi/v3/api/v1"))["components"]["schemas"]
    pod = schemas["io.k8s.api.core.v1.Pod"]["properties"]
    assert pod["kind"]["type"] == "string"
    assert "enum" not in pod["kind"]
    assert pod["spec"]["default"] == {}
    assert pod["spec"]["allOf"] == [{"$ref": "#/components/schemas/io.k8s.api.core.v1.PodSpec"}]
    policy = schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["restartPolicy"]
    assert policy["enum"] == ["Always", "Never", "OnFailure"]
    quantity = schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"]
    assert quantity["oneOf"] == [{"type": "string"}, {"type": "number"}]
    assert quantity["description"].startswith("Quantity is")


def test_a_document_asked_for_by_its_hash_may_be_kept_for_ever(on_server):
    async def scenario(asked):
        url = (await asked.document("/openapi/v3"))["paths"]["apis/batch/v1"]["serverRelativeURL"]
        fresh = await asked("GET", url)
        etag = dict(fresh.headers)["Etag"]
        again = await asked("GET", url, if_none_match=etag)
        stale = await asked("GET", "/openapi/v3/apis/batch/v1?hash=OLD")
        return url, fresh, again, stale

    url, fresh, again, stale = on_server(scenario)
    assert dict(fresh.headers)["Cache-Control"] == "public, immutable"
    assert (again.status, again.body) == (304, b"")
    assert (stale.status, dict(stale.headers)["Location"]) == (301, url)


@pytest.mark.parametrize(
    ("target", "accept", "status"),
    [
        ("/openapi/v3/apis/nope/v1", "*/*", 404),
        ("/openapi/v3/api/v1", "text/html", 406),
        ("/openapi/v2", "text/html", 406),
        ("/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", 200),
        ("/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf, application/json", 200),
    ],
)
def test_what_is_not_there_or_not_acceptable_is_refused(on_server, target, accept, status):
    assert on_server(lambda asked: asked("GET", target, accept=accept)).status == status


def test_the_old_document_has_the_same_operations_and_comes_packed(on_server):
    async def scenario(asked):
        packed = await asked("GET", "/openapi/v2", accept_encoding="gzip")
        return packed, await asked.document("/openapi/v3/apis/apps/v1")

    packed, new = on_server(scenario)
    old: Object = json.loads(gzip.decompress(packed.body))
    assert set(new["paths"]) <= set(old["paths"])
    assert set(new["components"]["schemas"]) <= set(old["definitions"])
    body = old["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments"]["post"]["parameters"][0]
    assert body["schema"] == {"$ref": "#/definitions/io.k8s.api.apps.v1.Deployment"}


def test_a_custom_resource_has_a_document_while_it_is_served(on_server):
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"cron": {"type": "string"}}}}}
    definition = {
        "metadata": {"name": "crontabs.stable.example.com"},
        "spec": {
            "group": "stable.example.com",
            "scope": "Namespaced",
            "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }

    async def scenario(asked):
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        created = await asked("POST", path, definition)
        assert created.status == 201, created.body
        while (await asked("GET", "/apis/stable.example.com/v1/crontabs")).status != 200:
            await asyncio.sleep(0.01)
        return await asked.document("/openapi/v3"), await asked.document("/openapi/v3/apis/stable.example.com/v1")

    index, document = on_server(scenario)
    assert "apis/stable.example.com" not in index["paths"]  # As the real server: its versions only.
    tab = document["components"]["schemas"]["com.example.stable.v1.CronTab"]
    assert tab["properties"]["spec"]["properties"] == {"cron": {"type": "string"}}
    kind = {"group": "stable.example.com", "kind": "CronTab", "version": "v1"}
    assert tab["x-kubernetes-group-version-kind"] == [kind]
    patch = document["paths"]["/apis/stable.example.com/v1/namespaces/{namespace}/crontabs/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]
