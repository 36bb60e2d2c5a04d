"""Sequences of creates, updates, patches and applies by several managers, step by step as a real v1.36 answered.

`sequences.json` holds each object as it was after the step. The managed fields of every step must follow from
the object before it; refused applies must be refused with the same Status.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from clusters.kube.apply import managed_fields
from clusters.kube.apply.object_type import ObjectType
from clusters.kube.apply.ownership import Filter
from clusters.kube.apply.reset_fields import custom_reset_fields, reset_fields
from clusters.kube.errors import StatusError
from clusters.kube.schema.catalogue import Catalogue

Map = dict[str, Any]
RECORDED: Map = json.loads(Path(__file__).with_name("sequences.json").read_text())
PLURALS = {"Endpoints": "endpoints", "Ingress": "ingresses"}


@cache
def type_of(api_version: str, kind: str, schema: str | None) -> ObjectType:
    catalogue = Catalogue.of("1.36")
    if schema is not None:
        return ObjectType.of_schema(RECORDED["schemas"][schema], catalogue.struct("meta/v1.ObjectMeta"))
    group, _, version = api_version.rpartition("/")
    struct = catalogue.kind(group, version, kind)
    assert struct is not None
    return ObjectType.of_struct(struct)


def filter_of(sequence: Map, subresource: str) -> Filter | None:
    if "schema" in sequence:
        return custom_reset_fields(subresource, True)
    kind = sequence["kind"]
    plural = PLURALS.get(kind, kind.lower() + "s")
    return reset_fields(sequence["apiVersion"].rpartition("/")[0], plural, subresource)


def entries(obj: Map) -> Any:
    """Managed fields with times reduced to whether there is one."""
    found = obj["metadata"].get("managedFields") or []
    return [{**entry, "time": "time" in entry} for entry in found]


def latest_time(obj: Map) -> str:
    found = obj["metadata"].get("managedFields") or []
    return max(["2026-01-01T00:00:00Z", *(str(entry.get("time", "")) for entry in found)])


def status_text(status: Map) -> str:
    """A Status as text, with causes sorted: Kubernetes goes through the managers in no particular order."""
    details = status.get("details") or {}
    causes = sorted(details.get("causes", ()), key=str)
    return json.dumps({**status, "details": {**details, "causes": causes}}, sort_keys=True)


def carried_out(sequence: Map, step: Map, live: Map | None) -> Map:
    subresource = step.get("sub", "")
    arguments: Map = {
        "schema": type_of(sequence["apiVersion"], sequence["kind"], sequence.get("schema")),
        "api_version": sequence["apiVersion"],
        "subresource": subresource,
        "reset_fields": filter_of(sequence, subresource),
    }
    if step["do"] == "apply":
        now = latest_time(step["after"]) if "after" in step else "2026-01-01T00:00:00Z"
        return managed_fields.apply(
            live, step["config"], step["manager"], step.get("force", False), kind=sequence["kind"], now=now, **arguments
        )
    new = {**step["after"], "metadata": dict(step["after"]["metadata"])}
    new["metadata"].pop("managedFields", None)
    if "sent" in step:
        new["metadata"]["managedFields"] = step["sent"]
    return managed_fields.update(live, new, step["manager"], now=latest_time(step["after"]), **arguments)


@pytest.mark.parametrize("sequence", RECORDED["sequences"], ids=lambda each: str(each["name"]))
def test_every_step_gives_what_the_real_one_gave(sequence: Map) -> None:
    live: Map | None = None
    for step in sequence["steps"]:
        if step["do"] == "given":  # Admission changed the object afterwards; it is only a starting point.
            live = step["after"]
            continue
        before = json.dumps([live, step])
        if "error" in step:
            with pytest.raises(StatusError) as caught:
                carried_out(sequence, step, live)
            assert status_text(caught.value.status()) == status_text(step["error"]), step["what"]
        else:
            result = carried_out(sequence, step, live)
            if "schema" in sequence:  # Custom resources are written with sorted keys.
                assert entries(result) == entries(step["after"]), step["what"]
            else:  # As text: the order counts.
                assert json.dumps(entries(result)) == json.dumps(entries(step["after"])), step["what"]
        assert json.dumps([live, step]) == before, "arguments were changed"
        live = step.get("after", live)


@pytest.mark.parametrize(
    "sequence", [each for each in RECORDED["sequences"] if each["name"].startswith("random")], ids=["custom resource"]
)
def test_the_merged_object_is_the_real_one(sequence: Map) -> None:
    live: Map | None = None
    for step in sequence["steps"]:
        if step["do"] == "apply" and "after" in step and live is not None:
            merged = carried_out(sequence, step, live)
            assert comparable(merged["spec"]) == comparable(step["after"]["spec"]), step["what"]
        live = step.get("after", live)


def comparable(value: Any) -> Any:
    """Without empty values (the schema prunes nulls) and without `proto`, which the schema defaults."""
    if isinstance(value, dict):
        kept = {name: comparable(item) for name, item in value.items() if name != "proto"}
        return {name: item for name, item in kept.items() if item not in (None, {}, [])}
    return [comparable(item) for item in value] if isinstance(value, list) else value
