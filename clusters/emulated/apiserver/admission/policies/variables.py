"""`variables` of policies: named expressions, evaluated when an expression first asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clusters.emulated.apiserver.admission.expressions import Expression, compile_expression

if TYPE_CHECKING:
    from clusters.kube.cel import Budget, Environment, Type

_TYPE_NAME = "kubernetes.variables"
_DECLARABLE = frozenset(
    (
        "bool",
        "bytes",
        "double",
        "duration",
        "int",
        "null",
        "string",
        "timestamp",
        "uint",
        "list",
        "map",
        "any",
    )
)


class VariableSet:
    """The compiled variables of one policy; each may use those before it."""

    __slots__ = ("_expressions", "_fields")

    def __init__(self, env: Environment, variables: Sequence[Mapping[str, Any]]) -> None:
        from clusters.kube.cel import ANY, DYN

        self._expressions: dict[str, Expression] = {}
        self._fields: dict[str, tuple[Type, str]] = {}
        for variable in variables:
            name = variable.get("name", "")
            compiled = compile_expression(self.extended(env), variable.get("expression", ""), ANY)
            kind = DYN
            if compiled.program is not None and compiled.program.type.kind in _DECLARABLE:
                kind = compiled.program.type
            self._expressions[name] = compiled
            self._fields[name] = (kind, name)

    def extended(self, env: Environment) -> Environment:
        """The environment with `variables` as far as they are compiled."""
        from clusters.kube.cel import types

        return env.extend({"variables": types.struct(_TYPE_NAME, dict(self._fields))})

    def bind(self, bindings: dict[str, Any], budget: Budget) -> None:
        """Makes `variables` available to expressions that are evaluated with these bindings."""
        bindings["variables"] = LazyVariables(self._expressions, bindings, budget)


class LazyVariables:
    """What CEL selects from; evaluates a variable at its first use and keeps the outcome."""

    __slots__ = ("_bindings", "_expressions", "_outcomes", "budget")

    def __init__(self, expressions: Mapping[str, Expression], bindings: Mapping[str, Any], budget: Budget) -> None:
        self._expressions = expressions
        self._bindings = bindings
        self._outcomes: dict[str, tuple[Any, str]] = {}
        self.budget = budget

    def cel_has(self, name: str) -> bool:
        return name in self._expressions

    def cel_lookup(self, name: Any) -> Any:
        from clusters.kube.cel import EvaluationError
        from clusters.kube.cel.values import ABSENT

        expression = self._expressions.get(name)
        if expression is None:
            return ABSENT
        outcome = self._outcomes.get(name)
        if outcome is None:
            outcome = self._outcomes[name] = self._evaluate(name, expression)
        value, error = outcome
        if error:
            raise EvaluationError(error)
        return value

    def _evaluate(self, name: str, expression: Expression) -> tuple[Any, str]:
        from clusters.kube.cel import EvaluationError

        if expression.program is None:
            return None, f'composited variable "{name}" fails to compile: {expression.error}'
        try:
            return expression.program.evaluate(self._bindings, self.budget), ""
        except EvaluationError as error:
            return None, f'composited variable "{name}" fails to evaluate: {error}'
