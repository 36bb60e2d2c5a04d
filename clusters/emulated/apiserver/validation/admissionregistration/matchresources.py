"""What policies and their bindings match, and the parameters they refer to."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.admissionregistration.rules_with_operations import (
    default_rule,
    named_rule_errors,
)
from clusters.emulated.apiserver.validation.fields import named
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, index, invalid, not_supported, required
from clusters.kube.selectors import validate_label_selector

_MATCH_POLICIES = ("Equivalent", "Exact")
_MUTATING_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
_EXCLUSIVE = "name and selector are mutually exclusive"


def default_match_resources(resources: Object) -> None:
    resources.setdefault("matchPolicy", "Equivalent")
    resources.setdefault("namespaceSelector", {})
    resources.setdefault("objectSelector", {})
    for part in ("resourceRules", "excludeResourceRules"):
        for rule in resources.get(part) or ():
            default_rule(rule)


def match_resources_errors(resources: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    policy = resources.get("matchPolicy")
    if policy is None:
        errors.append(required(f"{path}.matchPolicy"))
    elif policy not in _MATCH_POLICIES:
        errors.append(not_supported(f"{path}.matchPolicy", policy, _MATCH_POLICIES))
    for name in ("namespaceSelector", "objectSelector"):
        if resources.get(name) is None:
            errors.append(required(f"{path}.{name}"))
        else:
            errors += validate_label_selector(resources[name], f"{path}.{name}")
    for part in ("resourceRules", "excludeResourceRules"):
        for position, rule in enumerate(resources.get(part) or ()):
            errors += named_rule_errors(rule, index(f"{path}.{part}", position))
    return errors


def mutating_operation_errors(resources: Object, path: str) -> list[FieldError]:
    """Nothing is left to mutate in a DELETE."""
    return [
        not_supported(f"{path}.resourceRules.operations", operation, _MUTATING_OPERATIONS)
        for rule in resources.get("resourceRules") or ()
        for operation in rule.get("operations") or ()
        if operation not in _MUTATING_OPERATIONS
    ]


def param_kind_errors(kind: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    api_version, version_path = kind.get("apiVersion") or "", f"{path}.apiVersion"
    if not api_version:
        errors.append(required(version_path))
    elif api_version.count("/") > 1:
        errors.append(invalid(version_path, api_version, f"unexpected GroupVersion string: {api_version}"))
    else:
        group, _, version = api_version.rpartition("/")
        texts = names.dns_subdomain(group) if group else []
        if texts:
            errors.append(invalid(version_path, group, ",".join(texts)))
        if not version:
            errors.append(invalid(version_path, api_version, "version must be specified"))
        elif names.dns1035_label(version):
            errors.append(invalid(version_path, version, ",".join(names.dns1035_label(version))))
    name = kind.get("kind") or ""
    if not name:
        errors.append(required(f"{path}.kind"))
    elif names.dns1035_label(name.lower()):
        texts = names.dns1035_label(name.lower())
        text = f"may have mixed case, but should otherwise match: {','.join(texts)}"
        errors.append(invalid(f"{path}.kind", name, text))
    return errors


def param_ref_errors(reference: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name, selector = reference.get("name") or "", reference.get("selector")
    if name:
        errors += named(f"{path}.name", name, names.path_segment_name)
        if selector is not None:
            errors.append(forbidden(f"{path}.name", _EXCLUSIVE))
    if selector is not None:
        errors += validate_label_selector(selector, f"{path}.selector")
        if name:
            errors.append(forbidden(f"{path}.selector", _EXCLUSIVE))
    if not name and selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    action = reference.get("parameterNotFoundAction")
    if not action:
        errors.append(required(f"{path}.parameterNotFoundAction"))
    elif action not in ("Deny", "Allow"):
        errors.append(not_supported(f"{path}.parameterNotFoundAction", action, ("Deny", "Allow")))
    return errors
