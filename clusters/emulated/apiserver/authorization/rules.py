"""PolicyRules: what one rule allows, what a set of rules covers, and how a rule is written in messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from clusters.emulated.apiserver.authorization.attributes import Attributes
from clusters.kube.gostring import quoted_list

PolicyRule = dict[str, Any]


def rule_allows(rule: PolicyRule, attributes: Attributes) -> bool:
    if not attributes.is_resource:
        return verb_matches(rule, attributes.verb) and url_matches(rule, attributes.path)
    names = rule.get("resourceNames")
    return (
        verb_matches(rule, attributes.verb)
        and group_matches(rule, attributes.group)
        and resource_matches(rule, attributes.resource, attributes.subresource)
        and (not names or attributes.name in names)
    )


def verb_matches(rule: PolicyRule, verb: str) -> bool:
    verbs = rule.get("verbs") or ()
    return verb in verbs or "*" in verbs


def group_matches(rule: PolicyRule, group: str) -> bool:
    groups = rule.get("apiGroups") or ()
    return group in groups or "*" in groups


def resource_matches(rule: PolicyRule, resource: str, subresource: str) -> bool:
    """`*` is every resource with every subresource; `*/scale` is that subresource of every resource."""
    resources = rule.get("resources") or ()
    if "*" in resources:
        return True
    if not subresource:
        return resource in resources
    return f"{resource}/{subresource}" in resources or f"*/{subresource}" in resources


def url_matches(rule: PolicyRule, path: str) -> bool:
    for url in rule.get("nonResourceURLs") or ():
        if url == path or (url.endswith("*") and path.startswith(url.rstrip("*"))):
            return True
    return False


def covers(held: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """The parts of `wanted` that no single held rule covers, each with one verb, resource and name."""
    return [
        part for rule in wanted for part in _breakdown(rule) if not any(_covers_part(owner, part) for owner in held)
    ]


def _breakdown(rule: PolicyRule) -> list[PolicyRule]:
    parts: list[PolicyRule] = []
    verbs = rule.get("verbs") or ()
    names = rule.get("resourceNames") or ()
    for group in rule.get("apiGroups") or ():
        for resource in rule.get("resources") or ():
            for verb in verbs:
                part = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                parts.extend(part | {"resourceNames": [name]} for name in names)
                if not names:
                    parts.append(part)
    parts.extend(
        {"nonResourceURLs": [url], "verbs": [verb]} for url in rule.get("nonResourceURLs") or () for verb in verbs
    )
    return parts


def _covers_part(owner: PolicyRule, part: PolicyRule) -> bool:
    """`part` has at most one of everything. Owner names restrict, so they never cover a part without a name."""
    verbs = owner.get("verbs") or ()
    if part["verbs"][0] not in verbs and "*" not in verbs:
        return False
    owner_names = owner.get("resourceNames")
    names = part.get("resourceNames")
    if owner_names and (not names or names[0] not in owner_names):
        return False
    if "nonResourceURLs" in part:
        return url_matches(owner, part["nonResourceURLs"][0])
    resource, _, subresource = part["resources"][0].partition("/")
    if "/" in part["resources"][0]:
        return group_matches(owner, part["apiGroups"][0]) and _names_resource(owner, resource, subresource)
    return group_matches(owner, part["apiGroups"][0]) and resource_matches(owner, part["resources"][0], "")


def _names_resource(owner: PolicyRule, resource: str, subresource: str) -> bool:
    resources = owner.get("resources") or ()
    return "*" in resources or f"{resource}/{subresource}" in resources or f"*/{subresource}" in resources


def compact(parts: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Joins parts that differ only in their verb: `get` and `list` of one resource are one rule."""
    joined: dict[tuple[str, str, str | None], PolicyRule] = {}
    others = []
    for part in parts:
        if "nonResourceURLs" in part:
            others.append(part)
            continue
        name = part["resourceNames"][0] if "resourceNames" in part else None
        identity = (part["apiGroups"][0], part["resources"][0], name)
        if identity in joined:
            joined[identity]["verbs"].extend(part["verbs"])
        else:
            joined[identity] = part | {"verbs": list(part["verbs"])}
    return [*others, *joined.values()]


_FIELDS = (
    ("apiGroups", "APIGroups"), ("resources", "Resources"), ("nonResourceURLs", "NonResourceURLs"),
    ("resourceNames", "ResourceNames"), ("verbs", "Verbs"),
)  # fmt: skip


def describe(rule: PolicyRule) -> str:
    """`{APIGroups:["apps"], Resources:["deployments"], Verbs:["get" "list"]}`."""
    shown = [f"{title}:{quoted_list(rule[field])}" for field, title in _FIELDS if rule.get(field)]
    return "{" + ", ".join(shown) + "}"
