"""ValidatingAdmissionPolicyBinding and MutatingAdmissionPolicyBinding: where a policy applies, with which params."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.admissionregistration.matchresources import (
    default_match_resources,
    match_resources_errors,
    mutating_operation_errors,
    param_ref_errors,
)
from clusters.emulated.apiserver.validation.admissionregistration.webhooks import GROUP, static_suffix_warnings
from clusters.emulated.apiserver.validation.fields import required_named
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import FieldError, duplicate, index, invalid, not_supported, required

_ACTIONS = ("Audit", "Deny", "Warn")
_DENY_AND_WARN = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response "
    "and headers serves no purpose)"
)


class MutatingAdmissionPolicyBindingRules(LifecycleRules):
    group, kind = GROUP, "MutatingAdmissionPolicyBinding"
    checks_finalizer_names = False
    metadata_on_update = "whole"
    generation_fields = ("spec",)
    allow_unconditional_update = False

    def default(self, obj: Object) -> None:
        resources = (obj.get("spec") or {}).get("matchResources")
        if resources is not None:
            default_match_resources(resources)

    def validate_create(self, obj: Object) -> list[FieldError]:
        errors, resources = _binding_errors(obj), (obj.get("spec") or {}).get("matchResources")
        return errors + (mutating_operation_errors(resources, "spec.matchResources") if resources else [])

    def warnings_create(self, obj: Object) -> list[str]:
        return static_suffix_warnings(obj)

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return static_suffix_warnings(obj)


class ValidatingAdmissionPolicyBindingRules(MutatingAdmissionPolicyBindingRules):
    kind = "ValidatingAdmissionPolicyBinding"

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _binding_errors(obj) + _action_errors((obj.get("spec") or {}).get("validationActions") or [])


def _binding_errors(binding: Object) -> list[FieldError]:
    spec = binding.get("spec") or {}
    errors = required_named("spec.policyName", spec.get("policyName"), names.dns_subdomain)
    if spec.get("paramRef") is not None:
        errors += param_ref_errors(spec["paramRef"], "spec.paramRef")
    if spec.get("matchResources") is not None:
        errors += match_resources_errors(spec["matchResources"], "spec.matchResources")
    return errors


def _action_errors(actions: list[str]) -> list[FieldError]:
    path = "spec.validationActions"
    errors: list[FieldError] = []
    for position, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(not_supported(index(path, position), action, _ACTIONS))
        if action in actions[:position]:
            errors.append(duplicate(index(path, position), action))
    if "Deny" in actions and "Warn" in actions:
        errors.append(invalid(path, actions, _DENY_AND_WARN))
    if not actions:
        errors.append(required(path, "at least one validation action is required"))
    return errors
