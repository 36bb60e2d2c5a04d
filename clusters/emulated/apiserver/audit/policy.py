"""Which requests are noted, and how much of each: a Policy of audit.k8s.io/v1, compiled once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from clusters.emulated.apiserver.request import RequestInfo, UserInfo

Object = dict[str, Any]
Level = Literal["None", "Metadata", "Request", "RequestResponse"]

RECEIVED, STARTED, COMPLETE, PANIC = "RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"


@dataclass(frozen=True, slots=True)
class Decision:
    """What is noted of a request."""

    level: Level = "None"
    omitted_stages: frozenset[str] = frozenset()
    omits_managed_fields: bool = False


class AuditPolicy:
    """The first rule that matches decides; without one nothing is noted.

    >>> policy = AuditPolicy({"rules": [{"level": "None", "verbs": ["watch"]}, {"level": "Request"}]})
    """

    def __init__(self, document: Object) -> None:
        stages = frozenset(document.get("omitStages") or ())
        omits = bool(document.get("omitManagedFields"))
        self._rules = [
            (
                _matcher(rule),
                Decision(
                    rule.get("level", "None"),
                    stages | frozenset(rule.get("omitStages") or ()),
                    bool(rule.get("omitManagedFields", omits)),
                ),
            )
            for rule in document.get("rules") or ()
        ]
        self._otherwise = Decision("None", stages)

    @classmethod
    def everything(cls, level: Level = "Metadata") -> AuditPolicy:
        """Every request once it is answered, as most clusters are set up."""
        return cls({"omitStages": [RECEIVED], "rules": [{"level": level}]})

    def decide(self, user: UserInfo, info: RequestInfo) -> Decision:
        for matches, decision in self._rules:
            if matches(user, info):
                return decision
        return self._otherwise


def _matcher(rule: Object) -> Callable[[UserInfo, RequestInfo], bool]:
    users, groups = frozenset(rule.get("users") or ()), frozenset(rule.get("userGroups") or ())
    verbs, namespaces = frozenset(rule.get("verbs") or ()), frozenset(rule.get("namespaces") or ())
    resources = rule.get("resources") or ()
    urls = rule.get("nonResourceURLs") or ()

    def matches(user: UserInfo, info: RequestInfo) -> bool:
        if users and user.name not in users:
            return False
        if groups and groups.isdisjoint(user.groups):
            return False
        if verbs and info.verb not in verbs:
            return False
        if namespaces or resources:
            if not info.is_resource or (namespaces and info.namespace not in namespaces):
                return False
            return not resources or any(_names_resource(each, info) for each in resources)
        if urls:
            return not info.is_resource and any(_names_path(url, info.path) for url in urls)
        return True

    return matches


def _names_resource(entry: Object, info: RequestInfo) -> bool:
    if entry.get("group", "") not in (info.group, "*"):
        return False
    names = entry.get("resources")
    if not names:
        return True
    if entry.get("resourceNames") and info.name not in entry["resourceNames"]:
        return False
    whole = f"{info.resource}/{info.subresource}" if info.subresource else info.resource
    wanted = {whole, "*", f"{info.resource}/*"}
    if info.subresource:
        wanted.add(f"*/{info.subresource}")
    return not wanted.isdisjoint(names)


def _names_path(url: str, path: str) -> bool:
    return url in ("*", path) or (url.endswith("*") and path.startswith(url.rstrip("*")))
