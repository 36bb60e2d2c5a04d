"""Bytes that are no message are refused in Go's words, never with anything but ProtobufError."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.kube.protobuf import Protobuf, ProtobufError, unwrap
from clusters.kube.schema import Catalogue

CATALOGUE = Catalogue.of("1.36")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "empty data"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\x00", "empty body"),
        (b"k8s\x00garbage garbage", "proto: illegal wireType 7"),
        (b"k8s\x00\x0a\x05ab", "unexpected EOF"),
        (b"k8s\x00\x08\x01", "proto: wrong wireType = 0 for field TypeMeta"),
    ],
)
def test_no_envelope(body: bytes, words: str) -> None:
    with pytest.raises(ProtobufError) as refused:
        unwrap(body)
    assert str(refused.value) == words


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (b"\x0a\x05ab", "unexpected EOF"),
        (b"\x08\x05", "proto: wrong wireType = 0 for field ObjectMeta"),
        (b"\xff" * 11, "proto: integer overflow"),
        (b"\x0c", "proto: ConfigMap: wiretype end group for non-group"),
        (b"\x02\x00", "proto: ConfigMap: illegal tag 0 (wire type 2)"),
    ],
)
def test_no_config_map(message: bytes, words: str) -> None:
    struct = CATALOGUE.kind("", "v1", "ConfigMap")
    assert struct is not None
    with pytest.raises(ProtobufError) as refused:
        Protobuf.newest().decode(struct, message)
    assert str(refused.value) == words


def test_fields_of_a_later_version_are_passed_over() -> None:
    struct = CATALOGUE.kind("", "v1", "ConfigMap")
    assert struct is not None
    later = b"\xfa\x3e\x03new" + b"\x0a\x03\x0a\x01a"  # Field 1007, then metadata.
    assert Protobuf.newest().decode(struct, later) == {"metadata": {"name": "a"}}


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(["Pod", "Secret", "Event", "Status", "Node"]))
def test_any_bytes_give_an_object_or_a_protobuf_error(data: bytes, kind: str) -> None:
    struct = CATALOGUE.kind("", "v1", kind)
    assert struct is not None
    with suppress(ProtobufError):
        assert isinstance(Protobuf.newest().decode(struct, data), dict)
