"""Which requests a FlowSchema is for: compiled once per schema into a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clusters.emulated.apiserver.request import RequestInfo, UserInfo

Object = dict[str, Any]
Matches = Callable[[UserInfo, RequestInfo], bool]
_Contains = Callable[[str], bool]

_SERVICE_ACCOUNT = "system:serviceaccount:"


def matcher(schema: Object) -> Matches:
    """Any rule whose subjects and resources (or paths) both match is enough."""
    rules = [_rule(each) for each in (schema.get("spec") or {}).get("rules") or ()]

    def matches(user: UserInfo, info: RequestInfo) -> bool:
        return any(rule(user, info) for rule in rules)

    return matches


def _rule(rule: Object) -> Matches:
    subjects = [_subject(each) for each in rule.get("subjects") or ()]
    resources = [_resource_rule(each) for each in rule.get("resourceRules") or ()]
    paths = [_path_rule(each) for each in rule.get("nonResourceRules") or ()]

    def matches(user: UserInfo, info: RequestInfo) -> bool:
        if not any(subject(user) for subject in subjects):
            return False
        return any(each(info) for each in (resources if info.is_resource else paths))

    return matches


def _subject(subject: Object) -> Callable[[UserInfo], bool]:
    kind = subject.get("kind")
    if kind == "User":
        name = (subject.get("user") or {}).get("name", "")
        return (lambda user: True) if name == "*" else (lambda user: user.name == name)
    if kind == "Group":
        group = (subject.get("group") or {}).get("name", "")
        return (lambda user: True) if group == "*" else (lambda user: group in user.groups)
    account = subject.get("serviceAccount") or {}
    name = account.get("name", "")
    prefix = f"{_SERVICE_ACCOUNT}{account.get('namespace', '')}:"
    if name == "*":
        return lambda user: user.name.startswith(prefix)
    return lambda user: user.name == prefix + name


def _resource_rule(rule: Object) -> Callable[[RequestInfo], bool]:
    verbs, resources = _contains(rule.get("verbs")), _contains(rule.get("resources"))
    groups, namespaces = _contains(rule.get("apiGroups")), _contains(rule.get("namespaces"))
    cluster_scope = bool(rule.get("clusterScope"))

    def matches(info: RequestInfo) -> bool:
        resource = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
        if not (verbs(info.verb) and resources(resource) and groups(info.group)):
            return False
        return namespaces(info.namespace) if info.namespace else cluster_scope

    return matches


def _path_rule(rule: Object) -> Callable[[RequestInfo], bool]:
    verbs = _contains(rule.get("verbs"))
    urls: Sequence[str] = rule.get("nonResourceURLs") or ()
    exact = frozenset(urls)
    prefixes = tuple(_prefix(url) for url in urls)

    def matches(info: RequestInfo) -> bool:
        if not verbs(info.verb):
            return False
        return "*" in exact or info.path in exact or info.path.startswith(prefixes)

    return matches


def _prefix(url: str) -> str:
    """`/healthz` and `/healthz/*` are both for everything below."""
    stem = url.removesuffix("*")
    return stem if stem.endswith("/") else f"{stem}/"


def _contains(values: Sequence[str] | None) -> _Contains:
    known = frozenset(values or ())
    return (lambda value: True) if "*" in known else known.__contains__
