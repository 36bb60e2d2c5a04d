# ruff: noqa: E501  (one case per line, with Kubernetes' own words)
"""Merging, comparing and validating values of a type, on small schemas of custom resources."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.kube.apply import validation
from clusters.kube.apply.compare import compare
from clusters.kube.apply.fieldset import FieldSet
from clusters.kube.apply.schema_change import reconcile
from clusters.kube.apply.typed import merge, owned, remove
from clusters.kube.apply.types import Type, of_schema, of_struct
from clusters.kube.schema.catalogue import Catalogue

META = Catalogue.of("1.36").struct("meta/v1.ObjectMeta")
STRING = {"type": "string"}
PORT = {
    "type": "object",
    "properties": {"port": {"type": "integer"}, "proto": {**STRING, "default": "TCP"}, "n": STRING},
}
PORTS = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["port", "proto"],
    "items": PORT,
}
SCHEMA = {
    "type": "object",
    "properties": {
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": STRING},
        "ports": PORTS,
        "plain": {"type": "array", "items": STRING},
        "atom": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": STRING},
        "opts": {"type": "object", "additionalProperties": STRING},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "size": {"type": "integer"},
    },
}
KIND: Type = of_schema(SCHEMA, META)


@pytest.mark.parametrize(
    ("live", "config", "expected"),
    [
        (["a", "b", "c"], ["d"], ["a", "b", "c", "d"]),
        (["a", "b", "c"], ["c", "a"], ["b", "c", "a"]),
        (["a", "b", "c"], ["b"], ["a", "b", "c"]),
        (["a", "b"], ["x", "b", "y"], ["a", "x", "b", "y"]),
        ([], ["b", "a"], ["b", "a"]),
        (["a"], [], ["a"]),
    ],
)
def test_sets_keep_live_items_and_take_the_configurations_order(live: Any, config: Any, expected: Any) -> None:
    assert merge(KIND, {"tags": live}, {"tags": config}) == {"tags": expected}


def test_keyed_lists_merge_by_key_with_defaults() -> None:
    live = {"ports": [{"port": 80, "proto": "TCP", "n": "old"}, {"port": 80, "proto": "UDP"}]}
    merged = merge(KIND, live, {"ports": [{"port": 80, "n": "new"}]})
    assert merged == {"ports": [{"port": 80, "proto": "TCP", "n": "new"}, {"port": 80, "proto": "UDP"}]}


def test_atomic_values_are_replaced_and_granular_ones_merged() -> None:
    live = {"atom": {"a": "1"}, "opts": {"a": "1"}, "plain": ["a"], "free": {"x": {"y": 1}, "l": [1]}}
    config = {"atom": {"b": "2"}, "opts": {"b": "2"}, "plain": ["b"], "free": {"x": {"z": 2}, "l": [2]}}
    assert merge(KIND, live, config) == {
        "atom": {"b": "2"},
        "opts": {"a": "1", "b": "2"},
        "plain": ["b"],
        "free": {"x": {"y": 1, "z": 2}, "l": [2]},
    }


def test_a_configuration_owns_leaves_items_and_empty_values() -> None:
    config = {"opts": {"a": "1"}, "atom": {"a": "1"}, "free": {}, "tags": ["x"], "ports": [{"port": 80}], "plain": []}
    assert owned(KIND, config) == {
        "f:atom": {},
        "f:free": {},
        "f:opts": {"f:a": {}},
        "f:plain": {},
        "f:ports": {'k:{"port":80,"proto":"TCP"}': {".": {}, "f:port": {}}},
        "f:tags": {'v:"x"': {}},
    }


def test_differences_name_the_smallest_changed_fields() -> None:
    old = {"size": 1, "opts": {"a": "1", "b": "1"}, "tags": ["x", "y"], "ports": [{"port": 80, "n": "a"}]}
    new = {"size": 2, "opts": {"a": "1", "c": "1"}, "tags": ["y"], "ports": [{"port": 80, "n": "b"}], "free": {"q": 1}}
    assert compare(KIND, old, new) == (
        {"f:free": {".": {}, "f:q": {}}, "f:opts": {"f:c": {}}},
        {"f:ports": {'k:{"port":80,"proto":"TCP"}': {"f:n": {}}}, "f:size": {}},
        {"f:opts": {"f:b": {}}, "f:tags": {'v:"x"': {}}},
    )
    assert compare(KIND, old, dict(old)) is None


def test_true_is_not_one() -> None:
    assert compare(KIND, {"free": {"a": True}}, {"free": {"a": True, "b": 1}}) is not None
    changed = compare(KIND, {"free": {"a": True, "b": 1}}, {"free": {"a": 1, "b": 2}})
    assert changed == (None, {"f:free": {"f:a": {}, "f:b": {}}}, None)


def test_taking_out_the_last_item_leaves_null() -> None:
    assert remove(KIND, {"tags": ["x"], "size": 1}, {"f:tags": {'v:"x"': {}}}) == {"tags": None, "size": 1}
    assert remove(KIND, {"tags": ["x"], "size": 1}, {"f:tags": {".": {}, 'v:"x"': {}}}) == {"size": 1}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"foo": 1}, ".foo: field not declared in schema"),
        ({"size": "x"}, ".size: expected numeric (int or float), got string"),
        ({"tags": ["a", "a"]}, '.tags: duplicate entries for key [="a"]'),
        ({"ports": [{"port": 1}, {"port": 1, "proto": "TCP"}]}, '.ports: duplicate entries for key [port=1,proto="TCP"]'),
        ({"tags": "x"}, ".tags: expected list, got &{x}"),
        ({"opts": {"a": 5}}, ".opts.a: expected string, got &value.valueUnstructured{Value:5}"),
        ({"opts": ["a"]}, ".opts: expected map, got &{[a]}"),
        ({"ports": [5]}, ".ports: element 0: associative list with keys may not have non-map elements"),
        ({"plain": ["a", 5]}, ".plain[1]: expected string, got &value.valueUnstructured{Value:5}"),
        ({"free": {"any": [1, {"thing": None}]}, "size": None}, None),
    ],
)  # fmt: skip
def test_configurations_that_do_not_fit(value: Any, text: str | None) -> None:
    assert validation.text(KIND, value) == text


def test_keys_that_go_always_writes_have_a_zero_default() -> None:
    pod = Catalogue.of("1.36").kind("", "v1", "Pod")
    assert pod is not None
    config = {"spec": {"containers": [{"image": "x"}]}}
    assert owned(of_struct(pod), config)["f:spec"] == {"f:containers": {'k:{"name":""}': {".": {}, "f:image": {}}}}


def test_fields_recorded_before_a_map_became_atomic() -> None:
    recorded: FieldSet = {"f:atom": {".": {}, "f:a": {}}, "f:opts": {"f:a": {}}}
    assert reconcile(recorded, KIND) == {"f:atom": {}, "f:opts": {"f:a": {}}}
    unchanged: FieldSet = {"f:atom": {}, "f:tags": {'v:"x"': {}}}
    assert reconcile(unchanged, KIND) is unchanged
