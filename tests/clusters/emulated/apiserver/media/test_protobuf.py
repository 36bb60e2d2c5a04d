"""Clients that speak protobuf, as client-go does unless told otherwise."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from clusters.emulated.apiserver.media import protobuf_answer
from clusters.emulated.apiserver.registry.registry import Registry
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.validation.kinds import RULES
from clusters.emulated.cluster import EmulatedCluster
from clusters.kube.protobuf import Protobuf, unwrap
from clusters.kube.schema import Catalogue

from .conftest import JSON, PROTOBUF, Reply, Wire

MAPS = "/api/v1/namespaces/default/configmaps"
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
METADATA = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


def encoded(obj: dict[str, Any]) -> bytes:
    return Protobuf.newest().encode(obj)


def decoded(data: bytes) -> dict[str, Any]:
    envelope = unwrap(data)
    group, _, version = envelope.api_version.rpartition("/")
    struct = Catalogue.of("1.36").kind(group, version, envelope.kind)
    assert struct is not None, envelope.kind
    named = {"apiVersion": envelope.api_version, "kind": envelope.kind}
    return {**named, **Protobuf.newest().decode(struct, envelope.raw)}


def events(reply: Reply) -> list[tuple[str, dict[str, Any]]]:
    """The frames of a watch: length, then type and object."""
    assert reply.content_type == f"{PROTOBUF};stream=watch"
    found, data = [], reply.body
    while data:
        end = 4 + int.from_bytes(data[:4], "big")
        raw = data[data.index(b"k8s\x00") : end]
        kind = data[6 : 6 + data[5]].decode()
        found.append((kind, decoded(raw)))
        data = data[end:]
    return found


def test_what_is_created_in_protobuf_is_read_in_json(wire: Wire) -> None:
    created = wire.ask("POST", MAPS, encoded(MAP))
    assert (created.code, created.content_type) == (201, PROTOBUF)
    assert decoded(created.body)["data"] == {"k": "v"}
    shown = orjson.loads(wire.ask("GET", f"{MAPS}/a", accept=JSON).body)
    assert shown == decoded(wire.ask("GET", f"{MAPS}/a").body)


def test_both_forms_of_a_body_make_the_same_object(wire: Wire) -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "web:1", "resources": {"limits": {"cpu": "1000m"}}}]},
            },
        },
    }
    path = "/apis/apps/v1/namespaces/default/deployments"
    made = []
    for content_type, body in ((PROTOBUF, encoded(deployment)), (JSON, orjson.dumps(deployment))):
        reply = wire.ask("POST", f"{path}?dryRun=All", body, accept=JSON, content_type=content_type)
        assert reply.code == 201
        obj = orjson.loads(reply.body)
        for name in ("uid", "creationTimestamp", "managedFields"):
            obj["metadata"].pop(name, None)
        made.append(obj)
    assert made[0] == made[1]


def test_lists_and_errors(wire: Wire) -> None:
    wire.ask("POST", MAPS, encoded(MAP))
    listed = decoded(wire.ask("GET", MAPS).body)
    assert listed["kind"] == "ConfigMapList"
    assert [item["metadata"]["name"] for item in listed["items"]] == ["a"]
    refused = wire.ask("GET", f"{MAPS}/nope", accept=f"{PROTOBUF},{JSON}")
    assert (refused.code, refused.content_type) == (404, PROTOBUF)
    assert decoded(refused.body)["message"] == 'configmaps "nope" not found'


def test_only_the_metadata(wire: Wire) -> None:
    wire.ask("POST", MAPS, encoded(MAP))
    reply = wire.ask("GET", f"{MAPS}/a", accept=PROTOBUF + METADATA)
    envelope = unwrap(reply.body)
    assert (envelope.api_version, envelope.kind) == ("meta.k8s.io/v1", "PartialObjectMetadata")
    assert b"\n\x01a" in envelope.raw


def test_delete_options(wire: Wire) -> None:
    wire.ask("POST", MAPS, encoded(MAP))
    options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "other"}}
    refused = wire.ask("DELETE", f"{MAPS}/a", encoded(options))
    assert (refused.code, decoded(refused.body)["reason"]) == (409, "Conflict")
    gone = wire.ask("DELETE", f"{MAPS}/a", encoded({"apiVersion": "v1", "kind": "DeleteOptions"}))
    assert (gone.code, decoded(gone.body)["status"]) == (200, "Success")


def test_a_watch_is_a_stream_of_frames(wire: Wire) -> None:
    wire.ask("POST", MAPS, encoded(MAP))
    first = events(wire.ask("GET", f"{MAPS}?watch=1&resourceVersion=0&timeoutSeconds=1"))
    assert [(kind, obj["metadata"]["name"]) for kind, obj in first] == [("ADDED", "a")]


def test_a_watch_from_too_long_ago(wire: Wire) -> None:
    [(kind, status)] = events(wire.ask("GET", f"{MAPS}?watch=1&resourceVersion=1&timeoutSeconds=1"))
    assert (kind, status["code"], status["reason"]) == ("ERROR", 410, "Expired")


def test_bookmarks(wire: Wire) -> None:
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    kind, obj = events(wire.ask("GET", f"{MAPS}?{query}&timeoutSeconds=1"))[0]
    assert (kind, obj["kind"]) == ("BOOKMARK", "ConfigMap")
    assert obj["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b"garbage",
            "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be "
            "a protobuf message, expected prefix [107 56 115 0] (67617262616765)",
        ),
        (b"k8s\x00", "the object provided is unrecognized (must be of type ConfigMap): empty body (6b387300)"),
        (
            b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x04\n\x05ab",
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF',
        ),
        (
            b"k8s\x00\n\x0c\n\x02v1\x12\x06Secret",
            'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to (core.ConfigMap): '
            "unknown conversion",
        ),
    ],
)
def test_garbage_is_refused_in_kubernetes_words(wire: Wire, body: bytes, message: str) -> None:
    reply = wire.ask("POST", MAPS, body, accept=JSON)
    assert reply.code == 400
    assert orjson.loads(reply.body)["message"] == message


def test_an_event_is_encoded_once_for_all_watchers() -> None:
    served = Registry("1.36", Catalogue.of("1.36"), RULES).find("", "v1", "configmaps")
    assert served is not None
    stored = Stored.of(MAP, 7)
    first = protobuf_answer.event_chunk("ADDED", served, stored)
    assert protobuf_answer.event_chunk("ADDED", served, stored) is first
    assert protobuf_answer.event_chunk("MODIFIED", served, stored) is not first


def test_custom_resources_take_no_protobuf(cluster: EmulatedCluster, wire: Wire) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    definition = {
        "metadata": {"name": "wids.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "wids", "singular": "wid", "kind": "Wid", "listKind": "WidList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    cluster.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    path = "/apis/example.com/v1/namespaces/default/wids"
    refused = wire.ask("POST", path, encoded(MAP), accept=f"{PROTOBUF},{JSON}")
    assert refused.code == 415
    assert decoded(refused.body)["message"].endswith("accepted media types include: application/json, application/yaml")
    assert wire.ask("GET", path, accept=f"{PROTOBUF},{JSON}").content_type == JSON
    assert wire.ask("GET", path).code == 406
