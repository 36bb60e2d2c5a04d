"""Field sets: set algebra on paths, in the form that the wire has."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.kube.apply import fieldset
from clusters.kube.apply.elements import BadElementError, printed

ELEMENTS = st.sampled_from(["f:a", "f:b", "f:c", 'k:{"n":9}', 'k:{"n":10}', 'v:"x"'])
PATHS = st.sets(st.lists(ELEMENTS, min_size=1, max_size=3).map(tuple), max_size=8)


@given(PATHS, PATHS)
def test_operations_are_those_of_sets_of_paths(left: set[Any], right: set[Any]) -> None:
    one, two = fieldset.from_paths(*left), fieldset.from_paths(*right)
    assert set(fieldset.paths(fieldset.union(one, two))) == left | right
    assert set(fieldset.paths(fieldset.difference(one, two))) == left - right
    assert set(fieldset.paths(fieldset.intersection(one, two))) == left & right
    below = {path for path in left if not any(path[: len(each)] == each for each in right)}
    assert set(fieldset.paths(fieldset.recursive_difference(one, two))) == below
    assert all(fieldset.has(one, path) == (path in left) for path in left | right)


@given(PATHS, PATHS)
def test_results_are_canonical(left: set[Any], right: set[Any]) -> None:
    """Equal sets are equal dicts, whatever made them: no `{".": {}}` alone, elements in one order."""
    one, two = fieldset.from_paths(*left), fieldset.from_paths(*right)
    for made, paths in (
        (fieldset.union(one, two), left | right),
        (fieldset.difference(one, two), left - right),
        (fieldset.intersection(one, two), left & right),
    ):
        assert repr(made) == repr(fieldset.from_paths(*sorted(paths)))
        assert repr(fieldset.decode(made)) == repr(made)


def test_elements_are_ordered_by_content_not_by_text() -> None:
    made = fieldset.in_order({key: {} for key in ('k:{"port":80}', 'k:{"port":9}', 'k:{"port":443}', ".")})
    assert list(made) == [".", 'k:{"port":9}', 'k:{"port":80}', 'k:{"port":443}']


def test_what_a_client_sends_is_rewritten() -> None:
    key = 'k:{"protocol": "TCP", "containerPort": 80}'
    sent: fieldset.FieldSet = {"f:x": {key: {".": {}}, "z:unknown": {}}}
    assert fieldset.decode(sent) == {"f:x": {'k:{"containerPort":80,"protocol":"TCP"}': {}}}


@pytest.mark.parametrize("fields", [{"data": {}}, {"f": {}}, {"k:{": {}}, {"f:data": 1}, {"i:x": {}}])
def test_what_is_no_field_set_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadElementError):
        fieldset.decode(fields)


def test_paths_are_printed_as_conflicts_show_them() -> None:
    path = ("f:spec", 'k:{"containerPort":80,"protocol":"TCP"}', 'v:"a\\"b"', "v:5", "i:0")
    assert "".join(map(printed, path)) == '.spec[containerPort=80,protocol="TCP"][="a\\"b"][=5][0]'
