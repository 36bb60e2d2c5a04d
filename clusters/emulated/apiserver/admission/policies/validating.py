"""ValidatingAdmissionPolicy: every policy that matches is evaluated; the first denial is the answer."""

from __future__ import annotations

from typing import Any

import orjson

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.authorizing import Authorize
from clusters.emulated.apiserver.admission.denial import forbidden
from clusters.emulated.apiserver.admission.expressions import Activation
from clusters.emulated.apiserver.admission.matching import Equivalents, Resource
from clusters.emulated.apiserver.admission.policies.parameters import ConfigurationError, Parameters
from clusters.emulated.apiserver.admission.policies.source import (
    Binding,
    BoundPolicy,
    PolicySource,
    is_out_of_reach,
)
from clusters.emulated.apiserver.admission.policies.validation import (
    Decision,
    ValidationProgram,
    Verdict,
)
from clusters.emulated.apiserver.admission.shapes import Convert, Versioned
from clusters.emulated.apiserver.objects import Object, Objects
from clusters.kube import errors
from clusters.kube.errors import StatusError

_POLICIES = "validatingadmissionpolicies.admissionregistration.k8s.io"
_BINDINGS = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
_FAILURE_ANNOTATION = "validation.policy.admission.k8s.io/validation_failure"
_ANNOTATION_BYTES_MAX = 10 * 1024
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}


class ValidatingAdmissionPolicy(AdmissionPlugin):
    name = "ValidatingAdmissionPolicy"

    def __init__(
        self,
        objects: Objects,
        authorize: Authorize,
        convert: Convert,
        equivalents: Equivalents,
        parameters: Parameters,
    ) -> None:
        self._objects = objects
        self._authorize = authorize
        self._convert = convert
        self._equivalents = equivalents
        self._parameters = parameters
        self._source = PolicySource(objects, _POLICIES, _BINDINGS, ValidationProgram)

    async def validate(self, attributes: Attributes) -> None:
        policies = self._source.policies()
        if not policies or is_out_of_reach(attributes):
            return
        versioned = Versioned(attributes, self._convert)
        answers: dict[Any, bool] = {}
        denial: str = ""
        reason = ""
        for policy in policies:
            found = await self._evaluate(policy, versioned, answers)
            if found is not None and not denial:
                denial, reason = found
        if denial:
            raise _denied(attributes, denial, reason or "Invalid")

    async def _evaluate(
        self, policy: BoundPolicy[ValidationProgram], versioned: Versioned, answers: dict[Any, bool]
    ) -> tuple[str, str] | None:
        """The first denial of the policy: its whole message, and the reason."""
        attributes = versioned.attributes
        subject = f"ValidatingAdmissionPolicy '{policy.name}'"
        try:
            resource = await policy.resources.match(attributes, self._objects, self._equivalents)
            if resource is None:
                return None
            param_resource = self._parameters.resource(policy.param_kind)
        except (ConfigurationError, StatusError) as error:
            if not policy.fails_closed:
                return None
            return f"{subject} denied request: failed to configure policy: {error}", ""
        first: tuple[str, str] | None = None
        annotations: dict[str, list[str]] = {}
        for binding in policy.bindings:
            prefix = f"{subject} with binding '{binding.name}' denied request: "
            try:
                if not await binding.matches(attributes, self._objects, self._equivalents):
                    continue
                params = self._parameters.collect(
                    policy.param_kind, param_resource, binding.param_ref, attributes.namespace
                )
            except (ConfigurationError, StatusError) as error:
                if policy.fails_closed:
                    first = first or (f"{prefix}failed to configure binding: {error}", "")
                continue
            namespace = await self._namespace(attributes)
            for param in params:
                activation = self._activation(versioned, resource, param, namespace, answers)
                verdict = await policy.program.run(activation)
                for decision in self._act(attributes, policy, binding, verdict, annotations):
                    first = first or (prefix + decision.message, decision.reason)
        for key, values in annotations.items():
            attributes.request.audit_annotations.setdefault(f"{policy.name}/{key}", ", ".join(values))
        return first

    def _activation(
        self,
        versioned: Versioned,
        resource: Resource,
        param: Object | None,
        namespace: Object | None,
        answers: dict[Any, bool],
    ) -> Activation:
        return Activation(versioned, resource, self._authorize, params=param, namespace=namespace, answers=answers)

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

    def _act(
        self,
        attributes: Attributes,
        policy: BoundPolicy[ValidationProgram],
        binding: Binding,
        verdict: Verdict,
        annotations: dict[str, list[str]],
    ) -> list[Decision]:
        """Carries out Warn and Audit; gives back what Deny is to refuse."""
        denied: list[Decision] = []
        actions = list(binding.spec.get("validationActions") or ())
        for decision in verdict.denials:
            for action in actions:
                if action == "Deny":
                    denied.append(decision)
                elif action == "Warn":
                    attributes.request.warn(
                        f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' "
                        f"with binding '{binding.name}': {decision.message}"
                    )
                elif action == "Audit":
                    failure = {
                        "message": decision.message,
                        "policy": policy.name,
                        "binding": binding.name,
                        "expressionIndex": decision.position,
                        "validationActions": actions,
                    }
                    text = orjson.dumps([failure]).decode()
                    attributes.request.audit_annotations.setdefault(_FAILURE_ANNOTATION, text)
        for key, value in verdict.annotations.items():
            cut = value.encode()[:_ANNOTATION_BYTES_MAX].decode("utf-8", "ignore")
            values = annotations.setdefault(key, [])
            if cut not in values:
                values.append(cut)
        denied += [Decision(0, error) for error in verdict.annotation_errors]
        return denied


def _denied(attributes: Attributes, message: str, reason: str) -> StatusError:
    error = forbidden(attributes, message)
    error.reason = reason
    error.code = _CODES.get(reason, 422)
    error.details = {**(error.details or {}), "causes": [{"message": message}]}
    return error
