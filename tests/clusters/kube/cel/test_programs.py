"""How the rest of the project uses CEL: compile once, evaluate often, budgets, lazy variables, schemas."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from clusters.kube import cel
from clusters.kube.cel import library, policy
from clusters.kube.cel.escaping import escape, unescape
from clusters.kube.cel.library import mutation
from clusters.kube.cel.regex import compile_re2
from clusters.kube.cel.schema import ABSENT_OLD_SELF, from_schema, rule_environment

DYNAMIC = cel.Environment({"object": cel.DYN, "oldObject": cel.DYN})


def test_a_program_is_compiled_once_and_evaluated_on_plain_json() -> None:
    program = DYNAMIC.compile("object.spec.replicas <= 5", expect=cel.BOOL)
    assert program.evaluate({"object": {"spec": {"replicas": 3}}}) is True
    assert program.evaluate({"object": {"spec": {"replicas": 8}}}) is False
    assert program.references == {"object"}


def test_the_result_type_must_be_the_expected_one() -> None:
    with pytest.raises(cel.ResultTypeError, match=r"^must evaluate to bool but got string$") as caught:
        DYNAMIC.compile("'a'", expect=cel.BOOL)
    assert caught.value.detail == "must evaluate to bool but got string"
    with pytest.raises(cel.ResultTypeError, match=r"^must evaluate to one of \[string null_type\] but got int$"):
        DYNAMIC.compile("1", expect=(cel.STRING, cel.NULL))


def test_the_sentence_for_the_user_says_what_failed() -> None:
    with pytest.raises(cel.CompileError) as caught:
        DYNAMIC.compile("object.nope(1)")
    assert caught.value.detail == (
        "compilation failed: ERROR: <input>:1:12: undeclared reference to 'nope' (in container '')\n"
        " | object.nope(1)\n | ...........^"
    )
    with pytest.raises(cel.InstantiationError) as instantiation:
        DYNAMIC.compile("int('x')")
    assert instantiation.value.detail == ("program instantiation failed: type conversion error from 'string' to 'int'")


def test_an_unbound_variable_is_an_evaluation_error() -> None:
    with pytest.raises(cel.EvaluationError, match=r"^no such attribute\(s\): oldObject$"):
        DYNAMIC.compile("oldObject.a == 1").evaluate({"object": {}})


def test_a_budget_counts_across_calls_and_stops_one_that_is_too_dear() -> None:
    budget = cel.Budget(total=10, per_call=50)
    program = DYNAMIC.compile("object.items.all(i, i > 0)")
    assert program.evaluate({"object": {"items": [1]}}, budget) is True
    assert (budget.last, budget.spent, budget.remaining) == (8, 8, 2)
    with pytest.raises(cel.CostExceeded, match=r"^operation cancelled: actual cost limit exceeded$"):
        program.evaluate({"object": {"items": [1] * 100}}, budget)
    assert budget.exhausted


def test_no_logical_operator_absorbs_an_exceeded_budget() -> None:
    program = DYNAMIC.compile("object.items.all(i, i > 0) || true")
    with pytest.raises(cel.CostExceeded):
        program.evaluate({"object": {"items": [1] * 100}}, cel.Budget(per_call=50))


def test_composited_variables_are_computed_once_and_only_when_used() -> None:
    calls: list[str] = []

    def count() -> int:
        calls.append("count")
        return 2

    def broken() -> int:
        raise cel.EvaluationError("index out of bounds: 9")

    environment = policy.with_variables(policy.environment(), {"count": cel.INT, "broken": cel.INT})
    variables = policy.LazyVariables({"count": count, "broken": broken})
    assert environment.compile("true || variables.broken > 1").evaluate({"variables": variables}) is True
    assert environment.compile("variables.count + variables.count == 4").evaluate({"variables": variables}) is True
    assert calls == ["count"]
    with pytest.raises(
        cel.EvaluationError, match=r'^composited variable "broken" fails to evaluate: index out of bounds: 9$'
    ):
        environment.compile("variables.broken == 1").evaluate({"variables": variables})
    with pytest.raises(cel.CompileError, match="undefined field 'other'"):
        environment.compile("variables.other")


def test_params_and_authorizer_exist_only_where_they_are_allowed() -> None:
    bare = policy.environment(params=False, authorizer=False)
    for expression in ("params.a", "authorizer.path('/a')"):
        with pytest.raises(cel.CompileError, match="undeclared reference"):
            bare.compile(expression)
        policy.environment().compile(expression)


def test_a_mutation_knows_where_its_objects_belong() -> None:
    environment = policy.environment(patch_types=True)
    good = environment.compile("Object{spec: Object.spec{replicas: 3}}").evaluate({})
    assert mutation.type_name_errors(good) == []
    assert mutation.plain(good) == {"spec": {"replicas": 3}}
    wrong = environment.compile("Object{spec: Object.status{replicas: 3}}").evaluate({})
    assert mutation.type_name_errors(wrong) == [
        'unexpected type name "Object.status", expected "Object.spec", which matches field name path from root'
        " Object type"
    ]
    patch = environment.compile("[JSONPatch{op: 'add', path: '/a', value: {'x': 1}}]").evaluate({})
    assert [each.as_json() for each in patch] == [{"op": "add", "path": "/a", "value": {"x": 1}}]


RULE_SCHEMA = {
    "type": "object",
    "properties": {
        "foo-bar": {"type": "number"},
        "at": {"type": "string", "format": "date-time"},
        "port": {"x-kubernetes-int-or-string": True},
    },
}


def test_a_schema_without_conversions_binds_nothing() -> None:
    declared = from_schema({"type": "object", "properties": {"a": {"type": "string"}}})
    assert declared is not None
    value = {"a": "x"}
    assert declared.value(value) is value


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ("self.foo__dash__bar > 1.5", {"foo-bar": 2}, True),
        ("self.at < timestamp('2024-01-01T00:00:00Z')", {"at": "2023-05-05T10:00:00Z"}, True),
        ("type(self.port) == int ? self.port > 80 : self.port.endsWith('%')", {"port": "50%"}, True),
    ],
)
def test_rules_see_the_types_of_the_schema(rule: str, value: dict[str, Any], expected: bool) -> None:
    assert rule_environment(RULE_SCHEMA).compile(rule, expect=cel.BOOL).evaluate({"self": value}) is expected


def test_an_optional_old_self_is_none_on_create() -> None:
    environment = rule_environment(RULE_SCHEMA, optional_old_self=True)
    program = environment.compile("oldSelf.optMap(o, o.at < self.at).orValue(true)", expect=cel.BOOL)
    new = {"at": "2023-05-05T10:00:00Z"}
    assert program.evaluate({"self": new, "oldSelf": ABSENT_OLD_SELF}) is True
    assert program.evaluate({"self": new, "oldSelf": {"at": "2024-05-05T10:00:00Z"}}) is False


def test_metadata_is_visible_at_the_root_only() -> None:
    rule_environment({"type": "object"}, root=True).compile("self.metadata.name.size() < 10 && self.kind == 'X'")
    with pytest.raises(cel.CompileError, match="undefined field 'metadata'"):
        rule_environment({"type": "object"}).compile("self.metadata.name")


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("plain", "plain"),
        ("foo-bar", "foo__dash__bar"),
        ("a.b/c", "a__dot__b__slash__c"),
        ("a__b", "a__underscores__b"),
        ("namespace", "__namespace__"),
        ("$ref", None),
        ("1st", None),
    ],
)
def test_property_names_are_escaped_as_kubernetes_escapes_them(name: str, identifier: str | None) -> None:
    assert escape(name) == identifier
    if identifier is not None:
        assert unescape(identifier) == name


def test_patterns_mean_what_re2_means_by_them() -> None:
    assert compile_re2("a$").search("a\n") is None
    assert compile_re2(r"^\w$").search("é") is None
    assert compile_re2(r"[^\D]").search("5") is not None
    assert compile_re2("(?i)abc").search("xABC") is not None
    with pytest.raises(cel.EvaluationError, match="invalid or unsupported Perl syntax"):
        compile_re2("a(?=b)")


def test_the_index_of_functions_is_complete() -> None:
    for module, names in library.NAMES.items():
        assert sorted(import_module(f"clusters.kube.cel.library.{module}").FUNCTIONS) == sorted(names.split())
