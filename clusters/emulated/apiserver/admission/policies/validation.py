"""The expressions of a ValidatingAdmissionPolicy, and what they decide about one request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clusters.emulated.apiserver.admission.expressions import (
    COST_BUDGET,
    Activation,
    BudgetSpentError,
    Conditions,
    ConditionsError,
    Expression,
    compile_expression,
    environment,
)
from clusters.emulated.apiserver.admission.policies.variables import VariableSet
from clusters.emulated.apiserver.objects import Object

if TYPE_CHECKING:
    from clusters.kube.cel import Budget

_MESSAGE_BYTES_MAX = 5 * 1024


@dataclass(slots=True)
class Decision:
    """One validation that did not hold (or could not be evaluated under failurePolicy Fail)."""

    position: int
    message: str
    reason: str = ""


@dataclass(slots=True)
class Verdict:
    """What one evaluation with one parameter found."""

    denials: list[Decision] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    annotation_errors: list[str] = field(default_factory=list)


class ValidationProgram:
    """Compiled once per generation of the policy."""

    def __init__(self, policy: Object) -> None:
        from clusters.kube.cel import BOOL, NULL, STRING

        spec: Mapping[str, Any] = policy.get("spec") or {}
        params = spec.get("paramKind") is not None
        plain = environment(params=params, authorizer=True)
        self._fails_closed = spec.get("failurePolicy") != "Ignore"
        self._variables = VariableSet(plain, spec.get("variables") or ())
        env = self._variables.extended(plain)
        quiet = self._variables.extended(environment(params=params, authorizer=False))
        conditions = spec.get("matchConditions") or ()
        failure_policy = spec.get("failurePolicy") or "Fail"
        self._conditions = Conditions(env, conditions, failure_policy) if conditions else None
        self._validations = [
            (
                each,
                compile_expression(env, each.get("expression", ""), BOOL),
                compile_expression(quiet, each["messageExpression"], STRING) if each.get("messageExpression") else None,
            )
            for each in spec.get("validations") or ()
        ]
        self._annotations = [
            (
                each.get("key", ""),
                compile_expression(env, each.get("valueExpression", ""), (STRING, NULL)),
            )
            for each in spec.get("auditAnnotations") or ()
        ]

    async def run(self, activation: Activation) -> Verdict:
        from clusters.kube.cel import Budget

        budget = Budget(COST_BUDGET)
        self._variables.bind(activation.bindings, budget)
        verdict = Verdict()
        if self._conditions is not None:
            try:
                if not await self._conditions.hold(activation):
                    return verdict
            except ConditionsError as failed:
                return self._failed(str(failed))
        try:
            for position, (validation, expression, message) in enumerate(self._validations):
                value, error = await activation.evaluate(expression, budget)
                if error:
                    if self._fails_closed:
                        verdict.denials.append(Decision(position, error))
                elif value is not True:
                    text = await _message(activation, budget, validation, message)
                    verdict.denials.append(Decision(position, text, validation.get("reason") or "Invalid"))
            await self._annotate(activation, verdict)
        except BudgetSpentError as spent:
            return self._failed(str(spent))
        return verdict

    def _failed(self, message: str) -> Verdict:
        return Verdict([Decision(0, message)] if self._fails_closed else [])

    async def _annotate(self, activation: Activation, verdict: Verdict) -> None:
        from clusters.kube.cel import Budget

        budget = Budget(COST_BUDGET)
        for key, expression in self._annotations:
            value, error = await activation.evaluate(expression, budget)
            if error:
                if self._fails_closed:
                    verdict.annotation_errors.append(error)
            elif isinstance(value, str) and value.strip():
                verdict.annotations[key] = value.strip()


async def _message(
    activation: Activation, budget: Budget, validation: Mapping[str, Any], expression: Expression | None
) -> str:
    """messageExpression, else message, else the expression itself."""
    text = ""
    if expression is not None:
        value, error = await activation.evaluate(expression, budget)
        if not error and isinstance(value, str):
            text = value.strip()
        if len(text.encode("utf-8", "surrogatepass")) > _MESSAGE_BYTES_MAX or "\n" in text:
            text = ""
    text = text or (validation.get("message") or "").strip()
    return text or f"failed expression: {validation.get('expression', '').strip()}"
