"""Updates of the core kinds beside a real v1.36 api-server: what it said to the same change of the same object."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from clusters.emulated.apiserver.validation.core_kinds import CORE_RULES
from clusters.emulated.apiserver.validation.metadata import status_errors, update_errors

CASES = json.loads(Path(__file__).with_name("update_cases.json").read_text("utf-8"))
RULES = {rules.kind: rules for rules in CORE_RULES}
CLUSTER_SCOPED = ("Namespace", "Node", "PersistentVolume")


def changed(stored: dict[str, Any], changes: list[tuple[list[Any], Any]]) -> dict[str, Any]:
    """`stored` with each path set to its value; null takes it away."""
    obj = copy.deepcopy(stored)
    for path, value in changes:
        holder: Any = obj
        for step in path[:-1]:
            holder = holder.setdefault(step, {}) if isinstance(holder, dict) else holder[step]
        if value is None:
            holder.pop(path[-1], None)
        else:
            holder[path[-1]] = value
    return obj


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_update_is_answered_the_same(case: dict[str, Any]) -> None:
    rules, namespaced = RULES[case["kind"]], case["kind"] not in CLUSTER_SCOPED
    stored = copy.deepcopy(case["stored"])
    stored["metadata"] |= {"uid": "1", "resourceVersion": "5", "creationTimestamp": "2026-01-01T00:00:00Z"}
    if namespaced:
        stored["metadata"]["namespace"] = "d"
    rules.default(stored)
    rules.prepare_create(stored)
    rules.canonicalize(stored)

    new = changed(stored, case["changes"])
    rules.default(new)
    if case["subresource"] == "status":
        rules.prepare_status(new, stored)
        errors = status_errors(rules, new, stored, namespaced)
    else:
        rules.prepare_update(new, stored)
        errors = update_errors(rules, new, stored, namespaced)
    assert sorted(map(str, errors)) == sorted(case["causes"])
