# ruff: noqa: E501  (one case per line, with Kubernetes' own words)
"""JSON patch as the api-server does it.

Results and codes were compared with a real v1.36. It hides why a patch does not apply (422), so those texts are
the library's, by its source.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clusters.kube.patch import json_patch
from clusters.kube.patch.errors import PatchError

OBJECT = {"data": {"x": "1", "y": "2"}, "items": [{"n": 1}, {"n": 2}]}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "/data/z", "value": "3"}, {"data": {"x": "1", "y": "2", "z": "3"}}),
        ({"op": "add", "path": "/data/a~1b~01", "value": "3"}, {"data": {"x": "1", "y": "2", "a/b~1": "3"}}),
        ({"op": "remove", "path": "/data/x"}, {"data": {"y": "2"}}),
        ({"op": "replace", "path": "/data/new", "value": "3"}, {"data": {"x": "1", "y": "2", "new": "3"}}),
        ({"op": "move", "from": "/data/x", "path": "/data/z"}, {"data": {"y": "2", "z": "1"}}),
        ({"op": "copy", "from": "/data/x", "path": "/data/z"}, {"data": {"x": "1", "y": "2", "z": "1"}}),
        ({"op": "copy", "from": "/data/no", "path": "/data/z"}, {"data": {"x": "1", "y": "2", "z": None}}),
        ({"op": "add", "path": "/items/-", "value": 3}, {"items": [{"n": 1}, {"n": 2}, 3]}),
        ({"op": "add", "path": "/items/0", "value": 3}, {"items": [3, {"n": 1}, {"n": 2}]}),
        ({"op": "add", "path": "/items/-1", "value": 3}, {"items": [{"n": 1}, {"n": 2}, 3]}),
        ({"op": "remove", "path": "/items/-1"}, {"items": [{"n": 1}]}),
        ({"op": "replace", "path": "/items/1/n", "value": 9}, {"items": [{"n": 1}, {"n": 9}]}),
        ({"op": "test", "path": "/data/x", "value": "1"}, {}),
        ({"op": "test", "path": "/data/none"}, {}),
    ],
)
def test_an_operation_changes_only_what_it_names(operation: dict[str, Any], expected: dict[str, Any]) -> None:
    before = copy.deepcopy(OBJECT)
    assert json_patch.apply(OBJECT, [operation]) == {**OBJECT, **expected}
    assert before == OBJECT


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        ({"op": "test", "path": "/data/x", "value": "2"}, "testing value /data/x failed: test failed"),
        ({"op": "test", "path": "/items/0/n", "value": 1.0}, "testing value /items/0/n failed: test failed"),
        ({"op": "test", "path": "/no/x", "value": 1}, "test operation does not apply: is missing path: /no/x: missing value"),
        ({"op": "add", "path": "/no/x", "value": 1}, 'add operation does not apply: doc is missing path: "/no/x": missing value'),
        ({"op": "add", "path": "x", "value": 1}, 'add operation does not apply: doc is missing path: "x": missing value'),
        ({"op": "add", "path": "/items/3", "value": 1}, "error in add for path: '/items/3': Unable to access invalid index: 3: invalid index referenced"),
        ({"op": "add", "path": "/items/x", "value": 1}, "error in add for path: '/items/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax"),
        ({"op": "remove", "path": "/data/z"}, "error in remove for path: '/data/z': Unable to remove nonexistent key: z: missing value"),
        ({"op": "remove", "path": "/no/z"}, 'remove operation does not apply: doc is missing path: "/no/z": missing value'),
        ({"op": "replace", "path": "/a/b", "value": 1}, "replace operation does not apply: doc is missing path: /a/b: missing value"),
        ({"op": "replace", "path": "/items/7", "value": 1}, "replace operation does not apply: doc is missing key: /items/7: missing value"),
        ({"op": "move", "from": "/a/b", "path": "/c"}, "move operation does not apply: doc is missing from path: /a/b: missing value"),
        ({"op": "copy", "path": "/c"}, "copy operation failed to decode from: operation, missing from field: missing value"),
        ({"op": "frobnicate", "path": "/c"}, "Unexpected kind: frobnicate"),
        ({"path": "/c"}, "Unexpected kind: unknown"),
    ],
)  # fmt: skip
def test_what_does_not_apply_says_why(operation: dict[str, Any], text: str) -> None:
    with pytest.raises(PatchError) as caught:
        json_patch.apply(OBJECT, [operation])
    assert caught.value.text == text
    status = caught.value.status_error()
    assert (status.code, status.message) == (422, "the server rejected our request due to an error in our request")


@pytest.mark.parametrize(
    ("patch", "strict", "text"),
    [
        ({"op": "x"}, True, "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ({"op": "x"}, False, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ([1], True, "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ([{"op": 5}], True, "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
    ],
)  # fmt: skip
def test_what_is_no_patch_is_a_bad_request(patch: Any, strict: bool, text: str) -> None:
    with pytest.raises(PatchError) as caught:
        json_patch.operations(patch, strict=strict)
    assert (caught.value.text, caught.value.status_error().code) == (text, 400)


def test_unknown_members_are_reported_not_refused() -> None:
    _, problems = json_patch.operations([{"op": "test", "path": "/a", "foo": 1}])
    assert problems == ['json patch unknown field "[0].foo"']
