"""YAML as Kubernetes writes it, and forms that cannot be had."""

from __future__ import annotations

import orjson

from clusters.emulated.apiserver.media import yaml_text

from .conftest import JSON, PROTOBUF, Wire

AS_METADATA = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
AS_METADATA_LIST = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def test_yaml_is_nested_and_quotes_what_could_be_misread() -> None:
    value = {
        "metadata": {"creationTimestamp": "2026-11-18T12:36:56Z", "name": "a"},
        "rules": [{"verbs": ["*", "get"], "port": "80", "on": "y", "empty": ""}],
    }
    assert yaml_text.dumps(value).decode() == (
        'metadata:\n  creationTimestamp: "2026-11-18T12:36:56Z"\n  name: a\n'
        'rules:\n- empty: ""\n  "on": "y"\n  port: "80"\n  verbs:\n  - \'*\'\n  - get\n'
    )


def test_a_watch_in_yaml_is_not_acceptable(wire: Wire) -> None:
    reply = wire.ask("GET", "/api/v1/namespaces?watch=1", accept="application/yaml")
    assert (reply.code, reply.content_type) == (406, "application/yaml")
    assert f"{JSON};stream=watch,\n  {PROTOBUF};stream=watch" in reply.body.decode()


def test_the_metadata_of_a_list_where_there_is_an_object_and_the_other_way_round(wire: Wire) -> None:
    one = wire.ask("GET", "/api/v1/namespaces/default", accept=f"{JSON}{AS_METADATA_LIST},{JSON}")
    assert (one.code, orjson.loads(one.body)["message"]) == (
        406,
        "you requested PartialObjectMetadataList, but the requested object is not a list (*core.Namespace)",
    )
    many = wire.ask("GET", "/apis/apps/v1/deployments", accept=PROTOBUF + AS_METADATA)
    assert (many.code, orjson.loads(many.body)["message"]) == (
        406,
        "you requested PartialObjectMetadata, but the requested object is a list (*apps.DeploymentList)",
    )
    assert many.body.startswith(b"{\n")
