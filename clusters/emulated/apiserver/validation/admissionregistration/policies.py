"""ValidatingAdmissionPolicy and MutatingAdmissionPolicy: rules in CEL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusters.emulated.apiserver.validation.admissionregistration.matchresources import (
    default_match_resources,
    match_resources_errors,
    mutating_operation_errors,
    param_kind_errors,
)
from clusters.emulated.apiserver.validation.admissionregistration.rules_with_operations import (
    match_condition_errors,
)
from clusters.emulated.apiserver.validation.admissionregistration.webhooks import GROUP, static_suffix_warnings
from clusters.emulated.apiserver.validation.conditions import condition_errors
from clusters.emulated.apiserver.validation.fields import equal, named
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import FieldError, duplicate, index, invalid, not_supported, required
from clusters.kube.internal import printed

if TYPE_CHECKING:
    from clusters.kube.cel import Environment, Type

_FAILURE_POLICIES = ("Fail", "Ignore")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_REINVOCATION_POLICIES = ("IfNeeded", "Never")
_AUDIT_ANNOTATIONS_MAX = 20
_AUDIT_EXPRESSION_BYTES_MAX = 5 * 1024
_NOTHING_TO_DO = "validations or auditAnnotations must contain at least one item"
_is_identifier = re.compile("[_a-zA-Z][_a-zA-Z0-9]*").fullmatch
_RESERVED = frozenset(
    (
        "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if",
        "import", "let", "loop", "package", "namespace", "return", "var", "void", "while",
    )
)  # fmt: skip


class _PolicyRules(LifecycleRules):
    group = GROUP
    checks_finalizer_names = False
    metadata_on_update = "whole"
    generation_fields = ("spec",)
    allow_unconditional_update = False

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("failurePolicy", "Fail")
        if spec.get("matchConstraints") is not None:
            default_match_resources(spec["matchConstraints"])

    def warnings_create(self, obj: Object) -> list[str]:
        return static_suffix_warnings(obj)

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return static_suffix_warnings(obj)


class ValidatingAdmissionPolicyRules(_PolicyRules):
    kind = "ValidatingAdmissionPolicy"
    zero_status = ()
    status_keeps_metadata = True

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _validating_errors(obj, check_conditions=True)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return _validating_errors(obj, check_conditions=_conditions_changed(obj, old))

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        status = obj.get("status") or {}
        errors: list[FieldError] = []
        warnings = (status.get("typeChecking") or {}).get("expressionWarnings") or ()
        for position, warning in enumerate(warnings):
            path = index("status.typeChecking.expressionWarnings", position)
            for name in ("warning", "fieldRef"):
                if not (warning.get(name) or "").strip():
                    errors.append(required(f"{path}.{name}"))
        return errors + condition_errors(status.get("conditions") or (), "status.conditions")


class MutatingAdmissionPolicyRules(_PolicyRules):
    kind = "MutatingAdmissionPolicy"

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _mutating_errors(obj, check_conditions=True)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return _mutating_errors(obj, check_conditions=_conditions_changed(obj, old))


def _conditions_changed(obj: Object, old: Object) -> bool:
    spec, old_spec = obj.get("spec") or {}, old.get("spec") or {}
    return not all(equal(spec.get(name), old_spec.get(name)) for name in ("paramKind", "matchConditions"))


def _common_errors(spec: Object, *, check_conditions: bool, mutating: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    policy = spec.get("failurePolicy")
    if policy is None:
        errors.append(required("spec.failurePolicy"))
    elif policy not in _FAILURE_POLICIES:
        errors.append(not_supported("spec.failurePolicy", policy, _FAILURE_POLICIES))
    if spec.get("paramKind") is not None:
        errors += param_kind_errors(spec["paramKind"], "spec.paramKind")
    constraints = spec.get("matchConstraints")
    if constraints is None:
        errors.append(required("spec.matchConstraints"))
    else:
        errors += match_resources_errors(constraints, "spec.matchConstraints")
        if not constraints.get("resourceRules"):
            errors.append(required("spec.matchConstraints.resourceRules"))
        if mutating:
            errors += mutating_operation_errors(constraints, "spec.matchConstraints")
    if check_conditions:
        conditions, params = spec.get("matchConditions") or (), spec.get("paramKind") is not None
        errors += match_condition_errors(conditions, "spec.matchConditions", params=params)
    return errors


def _variable_errors(spec: Object, types: dict[str, Type]) -> list[FieldError]:
    """Each variable may use those before it; `types` collects what they evaluate to."""
    from clusters.emulated.apiserver.validation.admissionregistration.expressions import (
        compile_errors,
        environment,
        with_variables,
    )
    from clusters.kube.cel import ANY, DYN, CompileError

    errors: list[FieldError] = []
    base = environment(params=spec.get("paramKind") is not None)
    for position, variable in enumerate(spec.get("variables") or ()):
        path = index("spec.variables", position)
        name, expression = variable.get("name") or "", variable.get("expression") or ""
        if not name.strip():
            errors.append(required(f"{path}.name", "name is not specified"))
        elif not _is_identifier(name) or name in _RESERVED:
            errors.append(invalid(f"{path}.name", name, "must be a valid CEL identifier"))
        if not expression.strip():
            errors.append(required(f"{path}.expression", "expression is not specified"))
            continue
        env = with_variables(base, types)
        errors += compile_errors(f"{path}.expression", expression, env, ANY)
        try:
            types[name] = env.compile(expression).type
        except CompileError:
            types[name] = DYN
    return errors


def _environment(spec: Object, types: dict[str, Type], *, authorizer: bool = True, patch: bool = False) -> Environment:
    from clusters.emulated.apiserver.validation.admissionregistration.expressions import (
        environment,
        with_variables,
    )

    params = spec.get("paramKind") is not None
    base = environment(params=params, authorizer=authorizer, patch_types=patch)
    return with_variables(base, types) if types or patch else base


def _validating_errors(policy: Object, *, check_conditions: bool) -> list[FieldError]:
    spec = policy.get("spec") or {}
    errors = _common_errors(spec, check_conditions=check_conditions, mutating=False)
    types: dict[str, Type] = {}
    if spec.get("variables"):
        errors += _variable_errors(spec, types)
    validations, annotations = spec.get("validations") or (), spec.get("auditAnnotations") or ()
    if not validations and not annotations:
        errors.append(required("spec.validations", _NOTHING_TO_DO))
        errors.append(required("spec.auditAnnotations", _NOTHING_TO_DO))
    for position, validation in enumerate(validations):
        errors += _validation_errors(spec, validation, types, index("spec.validations", position))
    return errors + _audit_errors(policy, spec, types)


def _validation_errors(spec: Object, validation: Object, types: dict[str, Type], path: str) -> list[FieldError]:
    from clusters.emulated.apiserver.validation.admissionregistration.expressions import compile_errors
    from clusters.kube.cel import BOOL, STRING

    errors: list[FieldError] = []
    expression = validation.get("expression") or ""
    message, message_expression = validation.get("message") or "", validation.get("messageExpression") or ""
    if not expression.strip():
        errors.append(required(f"{path}.expression", "expression is not specified"))
    else:
        errors += compile_errors(f"{path}.expression", expression, _environment(spec, types), BOOL)
    if message_expression and not message_expression.strip():
        text = "must be non-empty if specified"
        errors.append(invalid(f"{path}.messageExpression", message_expression, text))
    elif message_expression:
        env = _environment(spec, types, authorizer=False)
        errors += compile_errors(f"{path}.messageExpression", message_expression, env, STRING)
    if message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif "\n" in message.strip() or "\r" in message.strip():
        errors.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(not_supported(f"{path}.reason", reason, _REASONS))
    return errors


def _audit_errors(policy: Object, spec: Object, types: dict[str, Type]) -> list[FieldError]:
    annotations = spec.get("auditAnnotations") or ()
    if not annotations:
        return []
    from clusters.emulated.apiserver.validation.admissionregistration.expressions import compile_errors
    from clusters.kube.cel import NULL, STRING

    errors: list[FieldError] = []
    if len(annotations) > _AUDIT_ANNOTATIONS_MAX:
        value = printed("[]admissionregistration.AuditAnnotation", annotations)
        text = f"must not have more than {_AUDIT_ANNOTATIONS_MAX} auditAnnotations"
        errors.append(invalid("spec.auditAnnotations", value, text))
    name = (policy.get("metadata") or {}).get("name") or ""
    seen: set[str] = set()
    for position, annotation in enumerate(annotations):
        path, key = index("spec.auditAnnotations", position), annotation.get("key") or ""
        if name:
            errors += named(f"{path}.key", f"{name}/{key}", names.qualified_name)
        else:
            errors.append(invalid(f"{path}.key", key, "requires metadata.name be non-empty"))
        given = annotation.get("valueExpression") or ""
        expression, value_path = given.strip(), f"{path}.valueExpression"
        if not expression:
            errors.append(required(value_path, "valueExpression is not specified"))
        elif len(expression.encode()) > _AUDIT_EXPRESSION_BYTES_MAX:
            text = f"must not exceed {_AUDIT_EXPRESSION_BYTES_MAX} bytes in length"
            errors.append(required(value_path, text))
        else:
            env = _environment(spec, types)
            errors += compile_errors(value_path, expression, env, (STRING, NULL), shown=given)
        if key in seen:
            errors.append(duplicate(f"{path}.key", key))
        seen.add(key)
    return errors


def _mutating_errors(policy: Object, *, check_conditions: bool) -> list[FieldError]:
    spec = policy.get("spec") or {}
    errors = _common_errors(spec, check_conditions=check_conditions, mutating=True)
    types: dict[str, Type] = {}
    if spec.get("variables"):
        errors += _variable_errors(spec, types)
    mutations = spec.get("mutations") or ()
    if not mutations:
        errors.append(required("spec.mutations", "mutations must contain at least one item"))
    for position, mutation in enumerate(mutations):
        errors += _mutation_errors(spec, mutation, types, index("spec.mutations", position))
    reinvocation = spec.get("reinvocationPolicy") or ""
    if not reinvocation:
        errors.append(required("spec.reinvocationPolicy"))
    elif reinvocation not in _REINVOCATION_POLICIES:
        errors.append(not_supported("spec.reinvocationPolicy", reinvocation, _REINVOCATION_POLICIES))
    return errors


def _mutation_errors(spec: Object, mutation: Object, types: dict[str, Type], path: str) -> list[FieldError]:
    from clusters.emulated.apiserver.validation.admissionregistration.expressions import compile_errors
    from clusters.kube.cel import Type, list_of

    kind = mutation.get("patchType") or ""
    if not kind:
        return [required(f"{path}.patchType")]
    sources = {"JSONPatch": "jsonPatch", "ApplyConfiguration": "applyConfiguration"}
    if kind not in sources:
        return [not_supported(f"{path}.patchType", kind, ("ApplyConfiguration", "JSONPatch"))]
    errors: list[FieldError] = []
    name = sources[kind]
    if mutation.get(name) is None:
        errors.append(required(f"{path}.{name}", f"must be specified when patchType is {kind}"))
    else:
        expression = (mutation[name].get("expression") or "").strip()
        if not expression:
            errors.append(required(f"{path}.{name}.expression"))
        else:
            expect = list_of(Type("struct", "JSONPatch")) if kind == "JSONPatch" else Type("struct", "Object")
            env = _environment(spec, types, patch=True)
            errors += compile_errors(f"{path}.{name}.expression", expression, env, expect)
    for other in sources.values():
        if other != name and mutation.get(other) is not None:
            text = f"must not be specified when patchType is {kind}"
            errors.append(invalid(f"{path}.{other}", f"{{{other}}}", text))
    return errors
