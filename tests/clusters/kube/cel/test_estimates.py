"""The static worst-case cost of a rule is the number that Kubernetes v1.36 computes for the same schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from clusters.kube.cel.estimates import estimate_cost, max_cardinality
from clusters.kube.cel.schema import from_schema, rule_environment

TABLE = json.loads((Path(__file__).parent / "estimates.json").read_text())
DECLARED = from_schema(TABLE["schema"])
ENVIRONMENT = rule_environment(TABLE["schema"])


@pytest.mark.parametrize(("expression", "most"), TABLE["cases"])
def test_the_estimate_is_that_of_kubernetes(expression: str, most: int) -> None:
    assert DECLARED is not None
    assert estimate_cost(ENVIRONMENT.compile(expression), DECLARED).high == most


def test_how_often_an_object_fits_into_a_request() -> None:
    assert DECLARED is not None
    assert max_cardinality(DECLARED) == 241979
