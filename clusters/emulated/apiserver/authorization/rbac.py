"""RBAC: who is bound to which role, compiled per user and kept until a role or binding changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from clusters.emulated.apiserver.authorization.attributes import (
    NO_OPINION,
    Attributes,
    Decision,
    Rules,
    Verdict,
)
from clusters.emulated.apiserver.authorization.rules import (
    PolicyRule,
    group_matches,
    resource_matches,
    url_matches,
    verb_matches,
)
from clusters.emulated.apiserver.objects import Object, Objects
from clusters.emulated.apiserver.request import UserInfo
from clusters.kube.gostring import quote

GROUP = "rbac.authorization.k8s.io"
CLUSTER_ROLES = f"clusterroles.{GROUP}"
CLUSTER_ROLE_BINDINGS = f"clusterrolebindings.{GROUP}"
ROLES = f"roles.{GROUP}"
ROLE_BINDINGS = f"rolebindings.{GROUP}"

SUBJECTS_MAX = 4096
QUESTIONS_MAX = 4096


@dataclass(slots=True)
class Grants:
    """The rules that apply to one user in one namespace, in the order they are tried, and their sources."""

    rules: list[PolicyRule] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    # Question without the object's name → the rules that may answer it. One user asks few different ones.
    answers: dict[tuple[str, str, str, str], tuple[tuple[frozenset[str] | None, Verdict], ...]] = field(
        default_factory=dict
    )
    url_answers: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    refusal: Verdict = NO_OPINION


class RbacAuthorizer:
    """Allows what a rule of a bound role allows; has no opinion about anything else."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._revision: tuple[int, int, int, int] | None = None
        self._grants: dict[tuple[str, tuple[str, ...], str], Grants] = {}

    def decide(self, attributes: Attributes) -> Verdict:
        grants = self.grants(attributes.user, attributes.namespace)
        if not attributes.is_resource:
            return self._decide_url(grants, attributes)
        question = (attributes.verb, attributes.group, attributes.resource, attributes.subresource)
        candidates = grants.answers.get(question)
        if candidates is None:
            candidates = self._candidates(grants, question)
        for names, verdict in candidates:
            if names is None or attributes.name in names:
                return verdict
        return grants.refusal

    def _candidates(
        self, grants: Grants, question: tuple[str, str, str, str]
    ) -> tuple[tuple[frozenset[str] | None, Verdict], ...]:
        verb, group, resource, subresource = question
        found: list[tuple[frozenset[str] | None, Verdict]] = []
        for rule, source in zip(grants.rules, grants.sources, strict=True):
            if (
                verb_matches(rule, verb)
                and group_matches(rule, group)
                and resource_matches(rule, resource, subresource)
            ):
                names = rule.get("resourceNames")
                found.append((frozenset(names) if names else None, _allowed_by(source)))
                if not names:
                    break  # Whatever comes after an unrestricted rule is never asked.
        if len(grants.answers) >= QUESTIONS_MAX:
            grants.answers.clear()
        answer = grants.answers[question] = tuple(found)
        return answer

    def _decide_url(self, grants: Grants, attributes: Attributes) -> Verdict:
        question = (attributes.verb, attributes.path)
        verdict = grants.url_answers.get(question)
        if verdict is None:
            verdict = grants.refusal
            for rule, source in zip(grants.rules, grants.sources, strict=True):
                if verb_matches(rule, attributes.verb) and url_matches(rule, attributes.path):
                    verdict = _allowed_by(source)
                    break
            if len(grants.url_answers) >= QUESTIONS_MAX:
                grants.url_answers.clear()
            grants.url_answers[question] = verdict
        return verdict

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        grants = self.grants(user, namespace)
        resource_rules = [
            {name: rule[name] for name in ("verbs", "apiGroups", "resources", "resourceNames") if rule.get(name)}
            for rule in grants.rules
            if rule.get("resources")
        ]
        url_rules = [
            {"verbs": rule.get("verbs") or [], "nonResourceURLs": rule["nonResourceURLs"]}
            for rule in grants.rules
            if rule.get("nonResourceURLs")
        ]
        return Rules(resource_rules, url_rules, False, _aggregate(grants.errors))

    def grants(self, user: UserInfo, namespace: str) -> Grants:
        """What applies to the user there; an empty namespace means cluster-wide bindings only."""
        revision_of = self._objects.revision_of
        revision = (
            revision_of(CLUSTER_ROLES),
            revision_of(CLUSTER_ROLE_BINDINGS),
            revision_of(ROLES),
            revision_of(ROLE_BINDINGS),
        )
        if revision != self._revision:
            self._grants.clear()
            self._revision = revision
        identity = (user.name, user.groups, namespace)
        grants = self._grants.get(identity)
        if grants is None:
            if len(self._grants) >= SUBJECTS_MAX:
                self._grants.clear()
            grants = self._grants[identity] = self._resolve(user, namespace)
        return grants

    def _resolve(self, user: UserInfo, namespace: str) -> Grants:
        grants = Grants()
        for binding in self._objects.list(CLUSTER_ROLE_BINDINGS):
            self._add(grants, user, binding, "")
        if namespace:
            for binding in self._objects.list(ROLE_BINDINGS, namespace):
                self._add(grants, user, binding, namespace)
        if grants.errors:
            grants.refusal = Verdict(Decision.NO_OPINION, f"RBAC: {_aggregate(grants.errors)}")
        return grants

    def _add(self, grants: Grants, user: UserInfo, binding: Object, namespace: str) -> None:
        subject = applying_subject(user, binding.get("subjects") or (), namespace)
        if subject is None:
            return
        rules, error = self.role_rules(binding["roleRef"], namespace)
        if error:
            grants.errors.append(error)
            return
        source = _describe_binding(binding, subject, namespace)
        for rule in rules:
            grants.rules.append(rule)
            grants.sources.append(source)

    def role_rules(self, role_ref: dict[str, str], namespace: str) -> tuple[list[PolicyRule], str]:
        """The rules of the role referred to, or why there are none."""
        kind, name = role_ref.get("kind", ""), role_ref.get("name", "")
        if kind == "Role":
            role = self._objects.get(ROLES, namespace, name)
        elif kind == "ClusterRole":
            role = self._objects.get(CLUSTER_ROLES, "", name)
        else:
            return [], f"unsupported role reference kind: {quote(kind)}"
        if role is None:
            return [], f"{kind.lower()}.{GROUP} {quote(name)} not found"
        return role.get("rules") or [], ""


def applying_subject(user: UserInfo, subjects: Any, namespace: str) -> dict[str, str] | None:
    """The first subject of a binding that is this user; `namespace` is the binding's own."""
    for subject in subjects:
        kind, name = subject.get("kind"), subject.get("name", "")
        if kind == "User":
            if user.name == name:
                return dict(subject)
        elif kind == "Group":
            if name in user.groups:
                return dict(subject)
        elif kind == "ServiceAccount":
            home = subject.get("namespace") or namespace
            if home and user.name == f"system:serviceaccount:{home}:{name}":
                return dict(subject)
    return None


def _describe_binding(binding: Object, subject: dict[str, str], namespace: str) -> str:
    role_ref = binding["roleRef"]
    name = binding["metadata"]["name"]
    kind = "ClusterRoleBinding"
    if namespace:
        kind, name = "RoleBinding", f"{name}/{namespace}"
    who = subject.get("name", "")
    if subject["kind"] == "ServiceAccount":
        who = f"{who}/{subject.get('namespace') or namespace}"
    role = f"{role_ref.get('kind')} {quote(role_ref.get('name', ''))}"
    return f"{kind} {quote(name)} of {role} to {subject['kind']} {quote(who)}"


def _allowed_by(source: str) -> Verdict:
    return Verdict(Decision.ALLOW, f"RBAC: allowed by {source}")


def _aggregate(errors: list[str]) -> str:
    unique = list(dict.fromkeys(errors))
    if not unique:
        return ""
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
