"""Which form an Accept header gets: the answers of a v1.36 server to the same headers."""

from __future__ import annotations

import pytest

from clusters.emulated.apiserver.media.negotiation import (
    PLAIN,
    MediaType,
    NotAcceptable,
    NotProduced,
    negotiate,
    negotiate_custom,
    negotiate_error,
)

JSON, YAML, PROTOBUF = "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
AS_TABLE = ";as=Table;g=meta.k8s.io;v=v1"
AS_METADATA = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
IN_PROTOBUF = MediaType(protobuf=True)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", PLAIN),
        ("*/*", PLAIN),
        (JSON, PLAIN),
        (PROTOBUF, IN_PROTOBUF),
        (f"{PROTOBUF},{JSON}", IN_PROTOBUF),
        (f"{JSON},{PROTOBUF}", PLAIN),
        (f"{JSON};q=0.5,{PROTOBUF}", IN_PROTOBUF),
        (f"*/*,{PROTOBUF}", IN_PROTOBUF),
        (f"{PROTOBUF};stream=watch", IN_PROTOBUF),
        (f"text/plain,{PROTOBUF}", IN_PROTOBUF),
        (f"{PROTOBUF}{AS_TABLE},{PROTOBUF}", IN_PROTOBUF),
        (f"{PROTOBUF}{AS_TABLE},{JSON}{AS_TABLE}", MediaType(as_kind="Table", as_version="v1")),
        (f"{PROTOBUF}{AS_METADATA}", MediaType(as_kind="PartialObjectMetadata", as_version="v1", protobuf=True)),
    ],
)
def test_built_in_kinds(accept: str, form: MediaType) -> None:
    assert negotiate(accept) == form


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (f"{PROTOBUF},{JSON}", PLAIN),
        (f"{PROTOBUF},{YAML}", MediaType(yaml=True)),
        (f"{PROTOBUF}{AS_METADATA}", MediaType(as_kind="PartialObjectMetadata", as_version="v1", protobuf=True)),
    ],
)
def test_custom_resources_have_protobuf_only_of_their_metadata(accept: str, form: MediaType) -> None:
    assert negotiate_custom(accept) == form


def test_a_custom_resource_in_protobuf_alone_is_not_acceptable() -> None:
    with pytest.raises(NotAcceptable, match="only the following media types are accepted"):
        negotiate_custom(PROTOBUF)


def test_a_table_in_protobuf_alone_is_not_acceptable() -> None:
    with pytest.raises(NotAcceptable, match="only the following media types are accepted"):
        negotiate(PROTOBUF + AS_TABLE)


@pytest.mark.parametrize("accept", ["text/plain", "application/*"])
def test_a_type_that_nobody_produces(accept: str) -> None:
    with pytest.raises(NotProduced, match="Available representations"):
        negotiate(accept)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (f"{PROTOBUF},{JSON}", IN_PROTOBUF),
        (f"{PROTOBUF}{AS_METADATA}", MediaType(pretty=True)),
        (f"{PROTOBUF}{AS_METADATA},{JSON}", PLAIN),
        ("text/plain", MediaType(pretty=True)),
        ("application/*", PLAIN),
    ],
)
def test_errors_are_never_transformed(accept: str, form: MediaType) -> None:
    assert negotiate_error(accept) == form
