"""The expressions of a MutatingAdmissionPolicy: what to change, as JSONPatch or as an apply configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from clusters.emulated.apiserver.admission.expressions import (
    COST_BUDGET,
    Activation,
    BudgetSpentError,
    Conditions,
    Expression,
    compile_expression,
    environment,
)
from clusters.emulated.apiserver.admission.policies.variables import VariableSet
from clusters.emulated.apiserver.objects import Object
from clusters.kube.patch import json_patch
from clusters.kube.patch.errors import PatchError


class MutationError(Exception):
    """The policy's mutation cannot be carried out; the failurePolicy decides what that means."""


class MergeConfiguration(Protocol):
    """`configuration` merged into `obj` by the rules of server-side apply; both are of one apiVersion
    and kind. Raises ValueError with Kubernetes' text."""

    def __call__(self, obj: Object, configuration: Object) -> Object: ...


class MutationProgram:
    """Compiled once per generation of the policy."""

    def __init__(self, policy: Object) -> None:
        from clusters.kube.cel import list_of
        from clusters.kube.cel.library.mutation import JSON_PATCH_TYPE, object_type

        spec: Mapping[str, Any] = policy.get("spec") or {}
        params = spec.get("paramKind") is not None
        plain = environment(params=params, authorizer=True)
        self._variables = VariableSet(plain, spec.get("variables") or ())
        conditions = spec.get("matchConditions") or ()
        failure_policy = spec.get("failurePolicy") or "Fail"
        self.conditions = (
            Conditions(self._variables.extended(plain), conditions, failure_policy) if conditions else None
        )
        env = self._variables.extended(environment(params=params, authorizer=True, patch_types=True))
        self.reinvocation_policy: str = spec.get("reinvocationPolicy") or "Never"
        self.mutations: list[tuple[str, Expression]] = []
        for each in spec.get("mutations") or ():
            kind = each.get("patchType", "")
            if kind == "JSONPatch":
                text = (each.get("jsonPatch") or {}).get("expression", "")
                self.mutations.append((kind, compile_expression(env, text, list_of(JSON_PATCH_TYPE))))
            elif kind == "ApplyConfiguration":
                text = (each.get("applyConfiguration") or {}).get("expression", "")
                self.mutations.append((kind, compile_expression(env, text, object_type("Object"))))

    def bind(self, activation: Activation) -> None:
        from clusters.kube.cel import Budget

        self._variables.bind(activation.bindings, Budget(COST_BUDGET))

    async def mutate(
        self,
        kind: str,
        expression: Expression,
        activation: Activation,
        obj: Object,
        merge: MergeConfiguration,
    ) -> Object:
        """The changed object (or the same, when a `test` operation says so). Raises MutationError."""
        from clusters.kube.cel import Budget

        if expression.program is None:
            raise MutationError(expression.error)
        budget = Budget(COST_BUDGET)
        self._variables.bind(activation.bindings, budget)
        try:
            value, error = await activation.evaluate(expression, budget)
        except BudgetSpentError as spent:
            raise MutationError(str(spent)) from spent
        if error:
            raise MutationError(error)
        return _patched(obj, value) if kind == "JSONPatch" else _merged(obj, value, merge)


def _patched(obj: Object, value: Any) -> Object:
    from clusters.kube.cel.library.mutation import ObjectValue, type_name_errors

    for operation in value:
        if isinstance(operation.value, ObjectValue):
            wrong = type_name_errors(operation.value)
            if wrong:
                raise MutationError("type mismatch: " + "\n".join(wrong))
    try:
        patched: Object = json_patch.apply(obj, [operation.as_json() for operation in value])
    except PatchError as error:
        if error.text.endswith("test failed"):
            return obj
        raise MutationError(f"JSON Patch: {error}") from error
    return patched


def _merged(obj: Object, value: Any, merge: MergeConfiguration) -> Object:
    from clusters.kube.cel.library.mutation import plain, type_name_errors

    wrong = type_name_errors(value)
    if wrong:
        raise MutationError("type mismatch: " + "\n".join(wrong))
    configuration = {**plain(value), "apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    try:
        return merge(obj, configuration)
    except ValueError as error:
        raise MutationError(f"error applying patch: {error}") from error
