"""JSON merge patch."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.kube.patch import merge_patch
from clusters.kube.patch.errors import PatchError


@pytest.mark.parametrize(
    ("document", "patch", "expected"),
    [
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": None, "z": 3}}, {"a": {"y": 2, "z": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": 1}, {"a": {"b": None, "c": {"d": None}}}, {"a": {"c": {}}}),
        ({}, {"a": [{"b": None}, None]}, {"a": [{}, None]}),
        ({"a": {"b": 1}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
        ({"a": {"b": 1}}, {"a": None, "c": None}, {}),
    ],
)
def test_maps_merge_nulls_remove_the_rest_replaces(document: Any, patch: Any, expected: Any) -> None:
    before = repr(document)
    assert merge_patch.apply(document, patch) == expected
    assert repr(document) == before


@pytest.mark.parametrize(
    ("patch", "strict", "text"),
    [
        (None, True, "Invalid JSON Patch"),
        ("x", False, "Invalid JSON Patch"),
        ([1], True, "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
    ],
)  # fmt: skip
def test_what_is_no_map_is_a_bad_request(patch: Any, strict: bool, text: str) -> None:
    with pytest.raises(PatchError) as caught:
        merge_patch.apply({}, patch, strict=strict)
    assert (caught.value.text, caught.value.status_error().code) == (text, 400)
