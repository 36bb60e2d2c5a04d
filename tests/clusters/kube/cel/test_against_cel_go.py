"""Every expression of the table gives what cel-go gives in a Kubernetes v1.36 environment.

``expressions.json`` holds expressions with the value, error or compile error, result type and cost that
the real k8s.io/apiserver environment answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusters.kube import cel
from clusters.kube.cel import policy
from clusters.kube.cel import types as t
from clusters.kube.cel.library import conversions, mutation
from clusters.kube.cel.library.authorizer import Attributes, Authorizer
from clusters.kube.cel.operators import go_float
from clusters.kube.cel.schema import rule_environment
from clusters.kube.cel.values import ABSENT, NONE, Duration, Optional, Timestamp, Uint, type_of

TABLE = json.loads((Path(__file__).parent / "expressions.json").read_text())


def cases() -> Iterator[Any]:
    for group in TABLE:
        for case in group["cases"]:
            yield pytest.param(group, case, id=f"{group['name']}: {case['e']}"[:80])


def authorize(attributes: Attributes) -> tuple[str, str, str]:
    if not attributes.is_resource_request:
        return ("allow", "health", "") if attributes.path == "/healthz" else ("noOpinion", "", "")
    if attributes.verb == "boom":
        return "noOpinion", "", "it broke"
    if attributes.verb == "deny":
        return "deny", "denied", ""
    if attributes.verb == "describe":
        user = getattr(attributes.user, "username", attributes.user)
        return (
            "allow",
            f"u={user} g={attributes.group} r={attributes.resource} s={attributes.subresource}"
            f" ns={attributes.namespace} n={attributes.name} v=* fs=[] <nil> ls= <nil>",
            "",
        )
    return "noOpinion", "no", ""


def render(value: Any) -> str:
    """A value as the table writes it: with its type visible."""
    kind = type(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is Uint:
        return f"{int(value)}u"
    if kind is int:
        return str(value)
    if kind is float:
        return "d" + go_float(value)
    if kind is str:
        return json.dumps(value, ensure_ascii=False)
    if kind is bytes:
        return "b" + str(value.hex())
    if kind is Timestamp:
        return f"timestamp({conversions.timestamp_to_string(value)})"
    if kind is Duration:
        return f"duration({conversions.duration_to_string(value)})"
    if kind is Optional:
        return "optional.none" if value is NONE else f"optional({render(value.value)})"
    if kind is t.Type:
        return f"type:{value}"
    if isinstance(value, list):
        return "[" + ", ".join(render(item) for item in value) + "]"
    if isinstance(value, mutation.ObjectValue):
        return value.type_name + json.dumps(mutation.plain(value), separators=(",", ":"), sort_keys=True)
    if isinstance(value, mutation.JSONPatch):
        tail = "" if value.value is ABSENT else "|" + render(value.value)
        return f"JSONPatch{{{value.op}|{value.path}|{value.from_}{tail}}}"
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{render(key)}: {render(item)}" for key, item in value.items())) + "}"
    return f"<{type_of(value).name}>"


def answer(group: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    bindings = dict(case.get("vars") or group.get("vars") or {})
    if group["mode"] == "schema":
        environment = rule_environment(group["schema"])
    else:
        environment = policy.environment(patch_types=group["mode"] == "patch")
        authorizer = Authorizer("alice", authorize)
        bindings["authorizer"] = authorizer
        bindings["authorizer.requestResource"] = authorizer.resource_check(
            "apps", "deployments", namespace="myns", name="myname"
        )
    try:
        program = environment.compile(case["e"])
    except cel.InstantiationError as error:
        return {"instantiation": str(error)}
    except cel.CompileError as error:
        return {"compile": str(error)}
    budget = cel.Budget(per_call=case.get("limit", cel.PER_CALL_LIMIT))
    try:
        value = program.evaluate(bindings, budget)
    except cel.EvaluationError as error:
        return {"type": str(program.type), "error": str(error)}
    found: dict[str, Any] = {"type": str(program.type), "value": render(value)}
    if "cost" in case:
        found["cost"] = budget.last
    return found


@pytest.mark.parametrize(("group", "case"), list(cases()))
def test_the_answer_is_that_of_cel_go(group: dict[str, Any], case: dict[str, Any]) -> None:
    expected = {key: case[key] for key in ("compile", "instantiation", "type", "value", "error", "cost") if key in case}
    assert answer(group, case) == expected


def test_the_table_is_large_and_has_errors_of_every_sort() -> None:
    every = [case for group in TABLE for case in group["cases"]]
    assert len(every) > 500
    assert sum("error" in case for case in every) > 80
    assert sum("compile" in case for case in every) > 100
