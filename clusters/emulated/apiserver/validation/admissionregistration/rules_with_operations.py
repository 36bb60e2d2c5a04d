"""Which requests a webhook or a policy looks at: operations, groups, versions, resources, scope, conditions."""

from __future__ import annotations

from collections.abc import Sequence

from clusters.emulated.apiserver.validation.fields import named, required_named
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import FieldError, duplicate, index, invalid, not_supported, required, too_many

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_CONDITIONS_MAX = 64


def default_rule(rule: Object) -> None:
    rule.setdefault("scope", "*")


def rule_errors(rule: Object, path: str) -> list[FieldError]:
    """A RuleWithOperations."""
    operations = rule.get("operations") or []
    errors = [] if operations else [required(f"{path}.operations")]
    if len(operations) > 1 and "*" in operations:
        text = "if '*' is present, must not specify other operations"
        errors.append(invalid(f"{path}.operations", operations, text))
    for position, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            errors.append(not_supported(index(f"{path}.operations", position), operation, _OPERATIONS))
    for name, many in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(name) or []
        if not values:
            errors.append(required(f"{path}.{name}"))
        if len(values) > 1 and "*" in values:
            errors.append(invalid(f"{path}.{name}", values, f"if '*' is present, must not specify other {many}"))
    for position, version in enumerate(rule.get("apiVersions") or ()):
        if not version:
            errors.append(required(index(f"{path}.apiVersions", position)))
    errors += _resource_errors(rule.get("resources") or [], f"{path}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        errors.append(not_supported(f"{path}.scope", scope, _SCOPES))
    return errors


def _resource_errors(resources: Sequence[str], path: str) -> list[FieldError]:
    errors = [] if resources else [required(path)]
    any_subresource: set[str] = set()  # x/*
    any_resource: set[str] = set()  # */x
    plain = False
    for position, each in enumerate(resources):
        each_path = index(path, position)
        if not each:
            errors.append(required(each_path))
            continue
        resource, slash, subresource = each.partition("/")
        if not slash:
            plain = each != "*"
            continue
        if resource in any_subresource:
            errors.append(invalid(each_path, each, f"if '{resource}/*' is present, must not specify {each}"))
        if subresource in any_resource:
            errors.append(invalid(each_path, each, f"if '*/{subresource}' is present, must not specify {each}"))
        if subresource == "*":
            any_subresource.add(resource)
        if resource == "*":
            any_resource.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and plain:
        text = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, resources, text))
    return errors


def named_rule_errors(rule: Object, path: str) -> list[FieldError]:
    """A NamedRuleWithOperations, as policies have it."""
    errors: list[FieldError] = []
    resource_names = rule.get("resourceNames") or []
    for position, name in enumerate(resource_names):
        name_path = index(f"{path}.resourceNames", position)
        errors += named(name_path, name, names.path_segment_name)
        if name in resource_names[:position]:
            errors.append(duplicate(name_path, name))
    return errors + rule_errors(rule, path)


def match_condition_errors(conditions: Sequence[Object], path: str, *, params: bool) -> list[FieldError]:
    if not conditions:
        return []
    from clusters.emulated.apiserver.validation.admissionregistration.expressions import (
        BOOL,
        compile_errors,
        environment,
    )

    errors: list[FieldError] = []
    if len(conditions) > _CONDITIONS_MAX:
        errors.append(too_many(path, len(conditions), _CONDITIONS_MAX))
    seen: set[str] = set()
    for position, condition in enumerate(conditions):
        condition_path = index(path, position)
        expression = (condition.get("expression") or "").strip()
        if not expression:
            errors.append(required(f"{condition_path}.expression"))
        else:
            env = environment(params=params)
            errors += compile_errors(f"{condition_path}.expression", expression, env, BOOL)
        name = condition.get("name") or ""
        errors += required_named(f"{condition_path}.name", name, names.qualified_name)
        if name and name in seen:
            errors.append(duplicate(f"{condition_path}.name", name))
        seen.add(name)
    return errors
