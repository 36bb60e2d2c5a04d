"""The ResourceQuota kind."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.lifecycle import keep_field
from clusters.emulated.apiserver.validation.pod.defaults import default_resource_list
from clusters.emulated.apiserver.validation.pod.resources import (
    amount,
    is_standard_quota_resource,
    quota_resource_name_errors,
    resource_value_errors,
)
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube.field import FieldError, invalid, key, required
from clusters.kube.internal import printed

_POD_SCOPES = ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity")
_SCOPES = (*_POD_SCOPES, "BestEffort", "VolumeAttributesClass")
_COMPUTE = ("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
_EXISTS_ONLY = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_CONFLICTS = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_EXISTS_TEXT = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def _scope_fits(scope: str, resource: str) -> bool:
    if scope in _POD_SCOPES:
        return resource == "pods" or resource in _COMPUTE
    if scope == "BestEffort":
        return resource == "pods"
    if scope == "VolumeAttributesClass":
        return resource in ("persistentvolumeclaims", "requests.storage")
    return True


def _misfits(scope: str, hard: Object) -> int:
    return sum(is_standard_quota_resource(resource) and not _scope_fits(scope, resource) for resource in sorted(hard))


def _amounts(amounts: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, text in amounts.items():
        errors += quota_resource_name_errors(name, key(path, name))
        errors += resource_value_errors(name, text, key(path, name))
    return errors


def _scopes(spec: Object, hard: Object) -> list[FieldError]:
    scopes, at = spec.get("scopes") or [], "spec.scopes"
    errors: list[FieldError] = []
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid(at, scopes, "unsupported scope"))
        errors += [invalid(at, scopes, "unsupported scope applied to resource")] * _misfits(scope, hard)
    errors += [
        invalid(at, scopes, "conflicting scopes") for one, other in _CONFLICTS if one in scopes and other in scopes
    ]
    return errors


def _scope_selector(spec: Object, hard: Object) -> list[FieldError]:
    selector = spec.get("scopeSelector")
    if selector is None:
        return []
    at = "spec.scopeSelector.matchExpressions"
    errors: list[FieldError] = []
    seen: set[str] = set()
    for expression in selector.get("matchExpressions") or ():
        scope, operator = expression.get("scopeName", ""), expression.get("operator", "")
        values = expression.get("values") or []
        if scope not in _SCOPES:
            errors.append(invalid(f"{at}.scopeName", scope, "unsupported scope"))
        shown = printed("core.ScopeSelector", selector)
        errors += [invalid(at, shown, "unsupported scope applied to resource")] * _misfits(scope, hard)
        if scope in _EXISTS_ONLY and operator != "Exists":
            errors.append(invalid(f"{at}.operator", operator, _EXISTS_TEXT))
        if operator in ("In", "NotIn"):
            if not values:
                text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                errors.append(required(f"{at}.values", text))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                errors.append(invalid(f"{at}.values", values, text))
        else:
            errors.append(invalid(f"{at}.operator", operator, "not a valid selector operator"))
        seen.add(scope)
    errors += [
        invalid(at, spec.get("scopes"), "conflicting scopes")
        for one, other in _CONFLICTS
        if one in seen and other in seen
    ]
    return errors


class ResourceQuotaRules(KindRules):
    kind = "ResourceQuota"

    def default(self, obj: Object) -> None:
        default_resource_list(obj.setdefault("spec", {}).get("hard"))
        status = obj.setdefault("status", {})
        default_resource_list(status.get("hard"))
        default_resource_list(status.get("used"))

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {}

    def validate_create(self, obj: Object) -> list[FieldError]:
        return self._spec_errors(obj) + self._status_errors(obj)

    def _spec_errors(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        hard = spec.get("hard") or {}
        return _amounts(hard, "spec.hard") + _scopes(spec, hard) + _scope_selector(spec, hard)

    def _status_errors(self, obj: Object) -> list[FieldError]:
        status = obj.get("status") or {}
        return _amounts(status.get("hard") or {}, "status.hard") + _amounts(status.get("used") or {}, "status.used")

    def prepare_update(self, obj: Object, old: Object) -> None:
        keep_field(obj, old, "status")

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = self._spec_errors(obj)
        scopes, stored = ((each.get("spec") or {}).get("scopes") for each in (obj, old))
        if set(scopes or ()) != set(stored or ()):
            errors.append(invalid("spec.scopes", scopes, "field is immutable"))
        return errors

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        missing = not (obj.get("metadata") or {}).get("resourceVersion")
        return ([required("resourceVersion")] if missing else []) + self._status_errors(obj)

    def warnings_create(self, obj: Object) -> list[str]:
        hard, warnings = (obj.get("spec") or {}).get("hard") or {}, []
        for resource in ("cpu", "memory", "storage", "ephemeral-storage"):
            request, limit = f"requests.{resource}", f"limits.{resource}"
            if request not in hard and resource in ("cpu", "memory") and resource in hard:
                request = resource
            if request in hard and limit in hard and amount(hard[request]) > amount(hard[limit]):
                warnings.append(
                    f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})"
                )
        return warnings
