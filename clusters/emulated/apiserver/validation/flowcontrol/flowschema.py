"""FlowSchema: which requests go to which priority level."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.validation.fields import equal, named, required_named
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import FieldError, duplicate, forbidden, index, invalid, not_supported, required
from clusters.kube.internal import printed

GROUP = "flowcontrol.apiserver.k8s.io"
_PRECEDENCE_MAX = 10000
_DISTINGUISHERS = ("ByNamespace", "ByUser")
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = (("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group"))
_EVERYTHING: dict[str, Any] = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}


def _groups(*members: str) -> list[Object]:
    return [{"kind": "Group", "group": {"name": name}} for name in members]


# Two schemas that must be as the server made them.
_MANDATORY: dict[str, Object] = {
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": [{"subjects": _groups("system:masters")} | _EVERYTHING],
    },
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": 10000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": [{"subjects": _groups("system:unauthenticated", "system:authenticated")} | _EVERYTHING],
    },
}


class FlowSchemaRules(LifecycleRules):
    group, kind = GROUP, "FlowSchema"
    metadata_on_update = "whole"
    zero_status = ()
    generation_fields = ("spec",)
    status_keeps_metadata = True

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("matchingPrecedence"):
            spec["matchingPrecedence"] = 1000

    def validate_create(self, obj: Object) -> list[FieldError]:
        name, spec = (obj.get("metadata") or {}).get("name") or "", obj.get("spec") or {}
        errors = _spec_errors(name, spec)
        fixed = _MANDATORY.get(name)
        if fixed is not None and not equal(spec, fixed):
            value = printed("flowcontrol.FlowSchemaSpec", spec)
            errors.append(invalid("spec", value, f"spec of '{name}' must equal the fixed value"))
        return errors + typed_condition_errors(obj.get("status") or {})

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return typed_condition_errors(obj.get("status") or {})


def typed_condition_errors(status: Object) -> list[FieldError]:
    """Conditions need a type, each another one."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, condition in enumerate(status.get("conditions") or ()):
        path, kind = f"{index('status.conditions', position)}.type", condition.get("type") or ""
        if kind in seen:
            errors.append(duplicate(path, kind))
        seen.add(kind)
        if not kind:
            errors.append(required(path))
    return errors


def _spec_errors(name: str, spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    precedence, path = spec.get("matchingPrecedence") or 0, "spec.matchingPrecedence"
    if precedence <= 0:
        errors.append(invalid(path, precedence, "must be a positive value"))
    if precedence > _PRECEDENCE_MAX:
        errors.append(invalid(path, precedence, f"must not be greater than {_PRECEDENCE_MAX}"))
    if precedence == 1 and name != "exempt":
        text = "only the schema named 'exempt' may have matchingPrecedence 1"
        errors.append(invalid(path, precedence, text))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _DISTINGUISHERS:
        value = printed("*flowcontrol.FlowDistinguisherMethod", method)
        errors.append(not_supported("spec.distinguisherMethod.type", value, _DISTINGUISHERS))
    level = (spec.get("priorityLevelConfiguration") or {}).get("name")
    if level:
        errors += named("spec.priorityLevelConfiguration.name", level, names.dns_subdomain)
    else:
        errors.append(required("spec.priorityLevelConfiguration.name", "must reference a priority level"))
    for position, rule in enumerate(spec.get("rules") or ()):
        errors += _rule_errors(rule, index("spec.rules", position))
    return errors


def _rule_errors(rule: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    subjects = rule.get("subjects") or ()
    for position, subject in enumerate(subjects):
        errors += _subject_errors(subject, index(f"{path}.subjects", position))
    if not subjects:
        errors.append(required(f"{path}.subjects", "subjects must contain at least one value"))
    resource_rules, other_rules = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    if not resource_rules and not other_rules:
        text = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(required(path, text))
    for position, each in enumerate(resource_rules):
        errors += _resource_rule_errors(each, index(f"{path}.resourceRules", position))
    for position, each in enumerate(other_rules):
        errors += _non_resource_rule_errors(each, index(f"{path}.nonResourceRules", position))
    return errors


def _subject_errors(subject: Object, path: str) -> list[FieldError]:
    kind = subject.get("kind") or ""
    fields = dict(_SUBJECTS)
    if kind not in fields:
        return [not_supported(f"{path}.kind", kind, ("Group", "ServiceAccount", "User"))]
    errors = _named_subject_errors(kind, fields[kind], subject.get(fields[kind]), path)
    for other, name in _SUBJECTS:
        if other != kind and subject.get(name) is not None:
            text = f"{name} is forbidden when subject kind is not '{other}'"
            errors.append(forbidden(f"{path}.{name}", text))
    return errors


def _named_subject_errors(kind: str, name: str, subject: Object | None, path: str) -> list[FieldError]:
    path = f"{path}.{name}"
    if subject is None:
        return [required(path, f"{name} is required when subject kind is '{kind}'")]
    value = subject.get("name") or ""
    errors = [] if value else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        if value and value != "*":
            errors += named(f"{path}.name", value, names.dns_subdomain)
        if subject.get("namespace"):
            errors += required_named(f"{path}.namespace", subject["namespace"], names.dns_label)
        else:
            errors.append(required(f"{path}.namespace", "must specify namespace for service account"))
    return errors


def _verb_errors(rule: Object, path: str) -> list[FieldError]:
    verbs, path = rule.get("verbs") or [], f"{path}.verbs"
    if not verbs:
        return [required(path, "verbs must contain at least one value")]
    if "*" in verbs:
        return [invalid(path, verbs, "if '*' is present, must not specify other verbs")] if len(verbs) > 1 else []
    return [] if set(verbs) <= set(_VERBS) else [not_supported(path, verbs, _VERBS)]


def _resource_rule_errors(rule: Object, path: str) -> list[FieldError]:
    errors = _verb_errors(rule, path)
    for name, one, many in (
        ("apiGroups", "api group", "api groups"), ("resources", "resource", "resources"),
    ):  # fmt: skip
        values = rule.get(name) or []
        if not values:
            errors.append(required(f"{path}.{name}", f"resource rules must supply at least one {one}"))
        elif len(values) > 1 and "*" in values:
            text = f"if '*' is present, must not specify other {many}"
            errors.append(invalid(f"{path}.{name}", values, text))
    namespaces, path = rule.get("namespaces") or [], f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        errors.append(required(path, text))
    elif "*" in namespaces:
        if len(namespaces) > 1:
            errors.append(invalid(path, namespaces, "if '*' is present, must not specify other namespaces"))
    else:
        for position, namespace in enumerate(namespaces):
            for text in names.dns_label(namespace):
                intro = "each member of this list must be '*' or a DNS-1123 label; "
                errors.append(invalid(index(path, position), namespace, intro + text))
    return errors


def _non_resource_rule_errors(rule: Object, path: str) -> list[FieldError]:
    errors = _verb_errors(rule, path)
    urls, path = rule.get("nonResourceURLs") or [], f"{path}.nonResourceURLs"
    if not urls:
        errors.append(required(path, "nonResourceURLs must contain at least one value"))
    elif "*" in urls:
        if len(urls) > 1:
            text = "if '*' is present, must not specify other non-resource URLs"
            errors.append(invalid(path, urls, text))
    else:
        for position, url in enumerate(urls):
            why = _url_error(url)
            if why:
                errors.append(invalid(index(path, position), url, why))
    return errors


def _url_error(url: str) -> str:
    if not url:
        return "must not be empty"
    if url == "/":
        return ""
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    stars = url.count("*")
    return "wildcard can only do suffix matching" if stars > 1 or (stars == 1 and url[-2:] != "/*") else ""
