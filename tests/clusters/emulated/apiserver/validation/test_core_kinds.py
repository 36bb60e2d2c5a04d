"""The core kinds beside a real v1.36 api-server: the same objects were sent to it, and its answers are the table.

A case either lists the causes of the 422, or the object as it was stored (empty fields left out) with its warnings.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from clusters.emulated.apiserver.validation.core_kinds import CORE_RULES
from clusters.emulated.apiserver.validation.metadata import create_errors
from clusters.kube.quantity import canonical

CASES = json.loads(Path(__file__).with_name("core_cases.json").read_text("utf-8"))
RULES = {rules.kind: rules for rules in CORE_RULES}
CLUSTER_SCOPED = ("Namespace", "Node", "PersistentVolume")
QUANTITIES = ("limits", "requests", "hard", "capacity", "max", "min", "default", "defaultRequest")


def decoded(value: Any, quantities: bool = False) -> Any:
    """What decoding leaves behind: quantities in canonical form."""
    if isinstance(value, dict):
        return {
            name: canonical(each)
            if quantities and isinstance(each, str)
            else decoded(each, name in (*QUANTITIES, "maxLimitRequestRatio", "overhead"))
            for name, each in value.items()
        }
    return [decoded(each) for each in value] if isinstance(value, list) else value


def without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_empty(each) for name, each in value.items() if each not in (None, [], "", False, 0)}
    return [without_empty(each) for each in value] if isinstance(value, list) else value


def created(sent: dict[str, Any]) -> tuple[dict[str, Any], list[str], list[str]]:
    """The object as it would be stored, what is wrong with it, and the warnings."""
    obj = decoded(copy.deepcopy(sent))
    rules, namespaced = RULES[obj["kind"]], obj["kind"] not in CLUSTER_SCOPED
    if namespaced:
        obj["metadata"]["namespace"] = "valcmp"
    rules.default(obj)
    if obj["kind"] == "Pod":  # Admission gives every Pod an account.
        obj["spec"].setdefault("serviceAccountName", "default")
        rules.default(obj)
    rules.prepare_create(obj)
    errors = create_errors(rules, obj, namespaced)
    warnings = [] if errors else rules.warnings_create(obj)
    rules.canonicalize(obj)
    return obj, [str(error) for error in errors], warnings


@pytest.mark.parametrize("case", [each for each in CASES if "causes" in each], ids=lambda case: case["name"])
def test_refused_with_the_same_causes(case: dict[str, Any]) -> None:
    _, causes, _ = created(case["object"])
    # Where Kubernetes goes through a map the order is by chance.
    assert sorted(causes) == sorted(case["causes"])


@pytest.mark.parametrize("case", [each for each in CASES if "stored" in each], ids=lambda case: case["name"])
def test_stored_with_the_same_defaults_and_warnings(case: dict[str, Any]) -> None:
    obj, causes, warnings = created(case["object"])
    assert causes == []
    stored = without_empty(obj)
    del stored["kind"]
    for field in ("tolerations", "priority", "preemptionPolicy"):  # Admission's.
        if case["object"]["kind"] == "Pod":
            stored["spec"].pop(field, None)
    assert stored == case["stored"]
    assert sorted(warnings) == case["warnings"]
