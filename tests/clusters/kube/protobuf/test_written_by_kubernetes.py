"""Byte for byte what a kube-apiserver v1.36 wrote, and read as it showed the same objects in JSON."""

from __future__ import annotations

import base64
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest

from clusters.kube.protobuf import Protobuf, unwrap
from clusters.kube.schema import Catalogue, shape

RECORDED: list[dict[str, Any]] = orjson.loads((Path(__file__).parent / "written_by_kubernetes.json").read_bytes())
CATALOGUE = Catalogue.of("1.36")


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda recorded: recorded["path"])
def test_the_same_bytes(recorded: dict[str, Any]) -> None:
    assert Protobuf.newest().encode(recorded["object"]) == base64.b64decode(recorded["protobuf"])


@pytest.mark.parametrize(
    "recorded", [each for each in RECORDED if ";as=" not in each["path"]], ids=lambda recorded: recorded["path"]
)
def test_the_same_object(recorded: dict[str, Any]) -> None:
    recorded = deepcopy(recorded)
    envelope = unwrap(base64.b64decode(recorded["protobuf"]))
    group, _, version = envelope.api_version.rpartition("/")
    struct = CATALOGUE.kind(group, version or "v1", envelope.kind)
    assert struct is not None
    read = Protobuf.newest().decode(struct, envelope.raw)
    shown = {name: value for name, value in recorded["object"].items() if name not in ("kind", "apiVersion")}
    for template in shown.get("spec", {}).get("volumeClaimTemplates", ()):
        del template["kind"], template["apiVersion"]  # Only the envelope says what kind it holds.
    assert shape(struct, read) == shape(struct, shown)
