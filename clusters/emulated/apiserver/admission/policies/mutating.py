"""MutatingAdmissionPolicy: policies change the object one after the other, by their names' order."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.authorizing import Authorize
from clusters.emulated.apiserver.admission.denial import requested_name
from clusters.emulated.apiserver.admission.expressions import Activation, ConditionsError
from clusters.emulated.apiserver.admission.matching import Equivalents, Resource
from clusters.emulated.apiserver.admission.policies.mutation import (
    MergeConfiguration,
    MutationError,
    MutationProgram,
)
from clusters.emulated.apiserver.admission.policies.parameters import ConfigurationError, Parameters
from clusters.emulated.apiserver.admission.policies.source import (
    Binding,
    BoundPolicy,
    PolicySource,
    is_out_of_reach,
)
from clusters.emulated.apiserver.admission.reinvocation import Reinvocation
from clusters.emulated.apiserver.admission.shapes import Convert, Redecode, Versioned
from clusters.emulated.apiserver.objects import Object, Objects
from clusters.kube import errors
from clusters.kube.errors import StatusError, split_resource
from clusters.kube.gostring import quote

_POLICIES = "mutatingadmissionpolicies.admissionregistration.k8s.io"
_BINDINGS = "mutatingadmissionpolicybindings.admissionregistration.k8s.io"


class Invocation(NamedTuple):
    """A policy, one of its bindings, and one of the parameters that binding chose."""

    policy: BoundPolicy[MutationProgram]
    binding: Binding
    resource: Resource
    param: Object | None

    @property
    def key(self) -> str:
        metadata = {} if self.param is None else self.param["metadata"]
        where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        return f"{self.policy.name}/{self.binding.name}/{where}"


class PolicyProblem(NamedTuple):
    """Why a policy could not do its work; only of policies that fail closed."""

    message: str
    reason: str


class MutatingAdmissionPolicy(AdmissionPlugin):
    name = "MutatingAdmissionPolicy"
    operations = frozenset(("CREATE", "UPDATE", "CONNECT", "DELETE"))

    def __init__(
        self,
        objects: Objects,
        authorize: Authorize,
        convert: Convert,
        redecode: Redecode,
        equivalents: Equivalents,
        parameters: Parameters,
        merge: MergeConfiguration,
    ) -> None:
        self._objects = objects
        self._authorize = authorize
        self._convert = convert
        self._redecode = redecode
        self._equivalents = equivalents
        self._parameters = parameters
        self._merge = merge
        self._source = PolicySource(objects, _POLICIES, _BINDINGS, MutationProgram)

    async def admit(self, attributes: Attributes) -> None:
        policies = self._source.policies()
        if not policies or is_out_of_reach(attributes):
            return
        problems: list[PolicyProblem] = []
        invocations: list[Invocation] = []
        for policy in policies:
            await self._select(policy, attributes, invocations, problems)
        if invocations:
            await self._invoke(attributes, invocations, problems)
        if problems:
            raise _denied(attributes, problems)

    async def _select(
        self,
        policy: BoundPolicy[MutationProgram],
        attributes: Attributes,
        invocations: list[Invocation],
        problems: list[PolicyProblem],
    ) -> None:
        try:
            resource = await policy.resources.match(attributes, self._objects, self._equivalents)
            if resource is None:
                return
            param_resource = self._parameters.resource(policy.param_kind)
        except (ConfigurationError, StatusError) as error:
            if policy.fails_closed:
                text = f"policy {quote(policy.name)} denied request: failed to configure policy: {error}"
                problems.append(PolicyProblem(text, ""))
            return
        for binding in policy.bindings:
            try:
                if not await binding.matches(attributes, self._objects, self._equivalents):
                    continue
                params = self._parameters.collect(
                    policy.param_kind, param_resource, binding.param_ref, attributes.namespace
                )
            except (ConfigurationError, StatusError) as error:
                _note_problem(problems, policy, binding, f"failed to configure binding: {error}", "")
                continue
            invocations += [Invocation(policy, binding, resource, param) for param in params]

    async def _invoke(
        self, attributes: Attributes, invocations: list[Invocation], problems: list[PolicyProblem]
    ) -> None:
        reinvocation = attributes.reinvocation
        if reinvocation is None:
            reinvocation = attributes.reinvocation = Reinvocation()
        tracker = reinvocation.tracker(self.name)
        if reinvocation.is_reinvoke and tracker.last_output != orjson.dumps(attributes.object):
            tracker.require_reinvoking_previous()
        versioned = Versioned(attributes, self._convert)
        namespace = await self._namespace(attributes)
        answers: dict[Any, bool] = {}
        mutated = False
        for each in invocations:
            if await self._skips(each, versioned, namespace, answers, problems):
                continue
            if reinvocation.is_reinvoke and not tracker.should_reinvoke(each.key):
                continue
            before = attributes.object
            if await self._mutate(each, versioned, namespace, answers, problems):
                mutated = True
            if before != attributes.object:
                tracker.require_reinvoking_previous()
                reinvocation.should_reinvoke = True
            if each.policy.program.reinvocation_policy == "IfNeeded":
                tracker.note_invoked(each.key)
        if mutated:
            # Whatever ran counts as a change, even one that left the object as it was.
            tracker.require_reinvoking_previous()
            reinvocation.should_reinvoke = True
        if tracker.previously_invoked or tracker.to_reinvoke:
            tracker.last_output = orjson.dumps(attributes.object)

    def _activation(
        self, each: Invocation, versioned: Versioned, namespace: Object | None, answers: dict[Any, bool]
    ) -> Activation:
        activation = Activation(
            versioned,
            each.resource,
            self._authorize,
            params=each.param,
            namespace=namespace,
            answers=answers,
        )
        each.policy.program.bind(activation)
        return activation

    async def _skips(
        self,
        each: Invocation,
        versioned: Versioned,
        namespace: Object | None,
        answers: dict[Any, bool],
        problems: list[PolicyProblem],
    ) -> bool:
        conditions = each.policy.program.conditions
        if conditions is None:
            return False
        try:
            return not await conditions.hold(self._activation(each, versioned, namespace, answers))
        except ConditionsError as failed:
            _note_problem(problems, each.policy, each.binding, str(failed), "Invalid")
            return True

    async def _mutate(
        self,
        each: Invocation,
        versioned: Versioned,
        namespace: Object | None,
        answers: dict[Any, bool],
        problems: list[PolicyProblem],
    ) -> bool:
        """Whether any of its mutations could be carried out."""
        attributes = versioned.attributes
        program = each.policy.program
        mutated = False
        for kind, expression in program.mutations:
            current = versioned.new(each.resource)
            if current is None:
                continue
            activation = self._activation(each, versioned, namespace, answers)
            try:
                new = await program.mutate(kind, expression, activation, current, self._merge)
                if new is not current:
                    attributes.object = self._redecode(attributes, new)
                mutated = True
            except MutationError as failed:
                _note_problem(problems, each.policy, each.binding, str(failed), "Invalid")
            except StatusError:
                raise
            except ValueError as error:
                raise errors.internal(str(error)) from error
        return mutated

    async def _namespace(self, attributes: Attributes) -> Object | None:
        name = attributes.namespace
        if not name or (attributes.kind == "Namespace" and not attributes.group):
            return None
        found = self._objects.get("namespaces", "", name)
        if found is None:
            found = await self._objects.get_live("namespaces", "", name)
        if found is None:
            raise errors.not_found("namespaces", name)
        return found


def _note_problem(
    problems: list[PolicyProblem],
    policy: BoundPolicy[MutationProgram],
    binding: Binding,
    text: str,
    reason: str,
) -> None:
    if policy.fails_closed:
        message = f"policy '{policy.name}' with binding '{binding.name}' denied request: {text}"
        problems.append(PolicyProblem(message, reason))


def _denied(attributes: Attributes, problems: list[PolicyProblem]) -> StatusError:
    plural, group = split_resource(attributes.group_resource)
    causes = [{"message": each.message} for each in problems]
    details = {"name": requested_name(attributes), "group": group, "kind": plural, "causes": causes}
    return StatusError(403, problems[0].reason or "Forbidden", problems[0].message, details)
