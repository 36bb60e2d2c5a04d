"""Policies with their bindings, in the order of their names, compiled once per generation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.admission.matching import (
    Equivalents,
    Resource,
    Rule,
    Selectors,
    find_rule,
    is_exempt,
    requested,
)
from clusters.emulated.apiserver.objects import Object, Objects

Program = TypeVar("Program")

# Intercepting these could lock everybody out.
_EXCLUDED = frozenset(
    (
        "selfsubjectreviews.authentication.k8s.io", "tokenreviews.authentication.k8s.io",
        "localsubjectaccessreviews.authorization.k8s.io", "selfsubjectaccessreviews.authorization.k8s.io",
        "selfsubjectrulesreviews.authorization.k8s.io", "subjectaccessreviews.authorization.k8s.io",
    )
)  # fmt: skip


def is_out_of_reach(attributes: Attributes) -> bool:
    """Policies never see admission's own configuration, nor reviews."""
    return is_exempt(attributes) or attributes.group_resource in _EXCLUDED


class MatchResources:
    """matchConstraints of a policy, or matchResources of a binding."""

    __slots__ = ("_equivalent", "_excluded", "_rules", "_selectors")

    def __init__(self, resources: Mapping[str, Any]) -> None:
        self._rules = tuple(Rule(rule) for rule in resources.get("resourceRules") or ())
        self._excluded = tuple(Rule(rule) for rule in resources.get("excludeResourceRules") or ())
        self._equivalent = resources.get("matchPolicy", "Equivalent") == "Equivalent"
        self._selectors = Selectors(resources)

    async def match(self, attributes: Attributes, objects: Objects, equivalents: Equivalents) -> Resource | None:
        found: Resource | None = requested(attributes)
        if self._rules:
            found = find_rule(self._rules, attributes, self._equivalent, equivalents, check_names=True)
        if found is None or not self._selectors.match_object(attributes):
            return None
        if self._excluded and find_rule(self._excluded, attributes, self._equivalent, equivalents, check_names=True):
            return None
        return found if await self._selectors.match_namespace(attributes, objects) else None


class Binding:
    """One binding of a policy."""

    __slots__ = ("_resources", "name", "param_ref", "spec")

    def __init__(self, binding: Object) -> None:
        self.name: str = binding["metadata"]["name"]
        self.spec: Mapping[str, Any] = binding.get("spec") or {}
        self.param_ref: Mapping[str, Any] | None = self.spec.get("paramRef")
        resources = self.spec.get("matchResources")
        self._resources = MatchResources(resources) if resources else None

    async def matches(self, attributes: Attributes, objects: Objects, equivalents: Equivalents) -> bool:
        if self._resources is None:
            return True
        return await self._resources.match(attributes, objects, equivalents) is not None


class BoundPolicy(Generic[Program]):
    """A policy that has bindings, ready to be asked."""

    __slots__ = ("bindings", "fails_closed", "name", "param_kind", "program", "resources", "spec")

    def __init__(self, policy: Object, program: Program, bindings: Sequence[Binding]) -> None:
        self.name: str = policy["metadata"]["name"]
        self.spec: Mapping[str, Any] = policy.get("spec") or {}
        self.program = program
        self.bindings = bindings
        self.fails_closed = self.spec.get("failurePolicy") != "Ignore"
        self.param_kind: Mapping[str, Any] | None = self.spec.get("paramKind")
        self.resources = MatchResources(self.spec.get("matchConstraints") or {})


class PolicySource(Generic[Program]):
    """Follows the policies and bindings of one kind."""

    def __init__(
        self, objects: Objects, policies: str, bindings: str, compile_policy: Callable[[Object], Program]
    ) -> None:
        self._objects = objects
        self._policies = policies
        self._bindings = bindings
        self._compile = compile_policy
        self._revision = (-1, -1)
        self._bound: tuple[BoundPolicy[Program], ...] = ()
        self._programs: dict[tuple[str, object, object], Program] = {}

    def policies(self) -> tuple[BoundPolicy[Program], ...]:
        objects = self._objects
        revision = (objects.revision_of(self._policies), objects.revision_of(self._bindings))
        if revision != self._revision:
            self._bound = self._rebuild()
            self._revision = revision
        return self._bound

    def _rebuild(self) -> tuple[BoundPolicy[Program], ...]:
        bindings: dict[str, list[Binding]] = {}
        for each in sorted(self._objects.list(self._bindings), key=_name):
            bindings.setdefault((each.get("spec") or {}).get("policyName", ""), []).append(Binding(each))
        programs: dict[tuple[str, object, object], Program] = {}
        bound = []
        for policy in sorted(self._objects.list(self._policies), key=_name):
            metadata = policy["metadata"]
            if metadata["name"] not in bindings:
                continue
            key = (metadata["name"], metadata.get("uid"), metadata.get("generation"))
            program = self._programs.get(key)
            if program is None:
                program = self._compile(policy)
            programs[key] = program
            bound.append(BoundPolicy(policy, program, bindings[metadata["name"]]))
        self._programs = programs
        return tuple(bound)


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
