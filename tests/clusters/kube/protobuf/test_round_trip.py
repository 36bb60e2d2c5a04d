"""What is written is read back the same, of every kind that Kubernetes has."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.kube.protobuf import Protobuf, unwrap
from clusters.kube.schema import Catalogue, Struct, shape

from .made_objects import Maker

CATALOGUE = Catalogue.of("1.36")
KINDS = sorted(set(CATALOGUE.kinds()))


def reread(struct: Struct, obj: dict[str, Any]) -> dict[str, Any]:
    protobuf = Protobuf.newest()
    # Shaped, because protobuf has every zero and JSON only some.
    return shape(struct, protobuf.decode(struct, protobuf.message(struct, obj)))


def test_every_kind_comes_back_as_it_was() -> None:
    structs = {}
    for group, version, kind in KINDS:
        struct = CATALOGUE.kind(group, version, kind)
        assert struct is not None
        structs[struct.name] = struct
    assert len(structs) > 300
    for name, struct in structs.items():
        made = Maker(CATALOGUE, Random(name), chance=0.8).struct(struct)
        assert reread(struct, made) == shape(struct, made), name


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(KINDS), st.integers(0, 2**32), st.floats(0.1, 1.0))
def test_any_object_comes_back_as_it_was(kind: tuple[str, str, str], seed: int, chance: float) -> None:
    struct = CATALOGUE.kind(*kind)
    assert struct is not None
    made = Maker(CATALOGUE, Random(seed), chance).struct(struct)
    assert reread(struct, made) == shape(struct, made)


def test_the_envelope_says_what_it_holds() -> None:
    envelope = unwrap(Protobuf.newest().encode({"apiVersion": "apps/v1", "kind": "Deployment"}))
    assert (envelope.api_version, envelope.kind) == ("apps/v1", "Deployment")


def test_zeros_behind_pointers_stay_and_others_go() -> None:
    struct = CATALOGUE.kind("apps", "v1", "Deployment")
    assert struct is not None
    spec = {"replicas": 0, "minReadySeconds": 0, "paused": False}
    read = Protobuf.newest().decode(struct, Protobuf.newest().message(struct, {"spec": spec}))
    assert read["spec"]["replicas"] == 0
    assert "minReadySeconds" not in read["spec"]
    assert "paused" not in read["spec"]


@pytest.mark.parametrize("text", ["", "a", "€" * 1000])
def test_lengths_of_every_size(text: str) -> None:
    struct = CATALOGUE.kind("", "v1", "ConfigMap")
    assert struct is not None
    made = {"data": {"key": text}}
    assert reread(struct, made)["data"] == made["data"]
