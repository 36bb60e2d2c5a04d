"""StorageClass, VolumeAttributesClass and CSIStorageCapacity: what volumes can be had."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.deprecations import node_label_deprecation, selector_warnings
from clusters.emulated.apiserver.validation.fields import NOT_NEGATIVE, equal, named, unchanged
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import (
    FieldError,
    duplicate,
    forbidden,
    index,
    invalid,
    not_supported,
    required,
    too_long,
)
from clusters.kube.internal import printed
from clusters.kube.quantity import parse as parse_quantity
from clusters.kube.selectors import validate_label_selector

GROUP = "storage.k8s.io"
_PARAMETERS_MAX = 512
_PARAMETERS_BYTES_MAX = 256 * 1024
_RECLAIM_POLICIES = ("Delete", "Retain")
_BINDING_MODES = ("Immediate", "WaitForFirstConsumer")


class StorageClassRules(KindRules):
    group, kind = GROUP, "StorageClass"
    metadata_on_update = "both"

    def default(self, obj: Object) -> None:
        obj.setdefault("reclaimPolicy", "Delete")
        obj.setdefault("volumeBindingMode", "Immediate")

    def validate_create(self, obj: Object) -> list[FieldError]:
        errors = _driver_errors(obj.get("provisioner"), "provisioner")
        errors += _parameter_errors(obj.get("parameters") or {}, allow_empty=True)
        policy, mode = obj.get("reclaimPolicy"), obj.get("volumeBindingMode")
        if policy and policy not in _RECLAIM_POLICIES:
            errors.append(not_supported("reclaimPolicy", policy, _RECLAIM_POLICIES))
        if mode is None:
            errors.append(required("volumeBindingMode"))
        elif mode not in _BINDING_MODES:
            errors.append(not_supported("volumeBindingMode", mode, _BINDING_MODES))
        return errors + _topology_errors(obj.get("allowedTopologies") or [], "allowedTopologies")

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = self.validate_create(obj)
        if (obj.get("parameters") or {}) != (old.get("parameters") or {}):
            errors.append(invalid("parameters", obj.get("parameters"), "field is immutable"))
        for name in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
            errors += unchanged(obj.get(name), old.get(name), name)
        return errors

    def warnings_create(self, obj: Object) -> list[str]:
        warnings: list[str] = []
        for position, term in enumerate(obj.get("allowedTopologies") or ()):
            for number, expression in enumerate(term.get("matchLabelExpressions") or ()):
                text = node_label_deprecation(expression.get("key") or "")
                if text:
                    path = index(f"{index('allowedTopologies', position)}.matchLabelExpressions", number)
                    warnings.append(f"{path}.key: {text}")
        return warnings

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return self.warnings_create(obj)


def _driver_errors(name: str | None, path: str) -> list[FieldError]:
    # The name is judged, and shown, in lower case.
    return named(path, name.lower(), names.qualified_name) if name else [required(path)]


def _parameter_errors(parameters: dict[str, str], *, allow_empty: bool) -> list[FieldError]:
    if len(parameters) > _PARAMETERS_MAX:
        return [too_long("parameters", _PARAMETERS_MAX)]
    errors = [invalid("parameters", name, "field can not be empty.") for name in parameters if not name]
    size = sum(len(name.encode()) + len(value.encode()) for name, value in parameters.items())
    if size > _PARAMETERS_BYTES_MAX:
        errors.append(too_long("parameters", _PARAMETERS_BYTES_MAX))
    if not allow_empty and not parameters:
        errors.append(required("parameters", "must contain at least one key/value pair"))
    return errors


def _topology_errors(terms: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    # Kubernetes compares each term with as many empty ones as there are terms, so an empty term is a duplicate.
    seen: list[dict[str, frozenset[str]]] = []
    for position, term in enumerate(terms):
        expressions_path = f"{index(path, position)}.matchLabelExpressions"
        expressions: dict[str, frozenset[str]] = {}
        for number, expression in enumerate(term.get("matchLabelExpressions") or ()):
            expression_path = index(expressions_path, number)
            key = expression.get("key") or ""
            errors += _topology_expression_errors(expression, expression_path)
            if key in expressions:
                errors.append(duplicate(f"{expression_path}.key", key))
            expressions[key] = frozenset(expression.get("values") or ())
        matches = seen.count(expressions) + (len(terms) if not expressions else 0)
        errors += [duplicate(expressions_path, "")] * matches
        seen.append(expressions)
    return errors


def _topology_expression_errors(expression: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    values = expression.get("values") or []
    if not values:
        errors.append(required(f"{path}.values"))
    for position, value in enumerate(values):
        if value in values[:position]:
            errors.append(duplicate(index(f"{path}.values", position), value))
    return errors + named(f"{path}.key", expression.get("key") or "", names.qualified_name)


class VolumeAttributesClassRules(KindRules):
    group, kind = GROUP, "VolumeAttributesClass"
    metadata_on_update = "both"

    def validate_create(self, obj: Object) -> list[FieldError]:
        errors = _driver_errors(obj.get("driverName"), "driverName")
        return errors + _parameter_errors(obj.get("parameters") or {}, allow_empty=False)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors: list[FieldError] = []
        if obj.get("driverName") != old.get("driverName"):
            errors.append(forbidden("driverName", "updates to driverName are forbidden."))
        if obj.get("parameters") != old.get("parameters"):
            errors.append(forbidden("parameters", "updates to parameters are forbidden."))
        return errors + self.validate_create(obj)


class CSIStorageCapacityRules(KindRules):
    group, kind = GROUP, "CSIStorageCapacity"
    metadata_on_update = "both"
    allow_unconditional_update = False

    def validate_create(self, obj: Object) -> list[FieldError]:
        return self._errors(obj, allow_invalid=False)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        allow_invalid = bool(validate_label_selector(old.get("nodeTopology"), ""))
        errors = self._errors(obj, allow_invalid=allow_invalid)
        topology, class_name = obj.get("nodeTopology"), obj.get("storageClassName") or ""
        if not equal(topology, old.get("nodeTopology")):
            value = printed("*meta.LabelSelector", topology)
            errors.append(invalid("nodeTopology", value, "field is immutable"))
        return errors + unchanged(class_name, old.get("storageClassName") or "", "storageClassName")

    def _errors(self, obj: Object, *, allow_invalid: bool) -> list[FieldError]:
        errors = validate_label_selector(obj.get("nodeTopology"), "nodeTopology", allow_invalid_values=allow_invalid)
        errors += named("storageClassName", obj.get("storageClassName") or "", names.dns_subdomain)
        capacity = obj.get("capacity")
        if capacity is not None and parse_quantity(str(capacity)) < parse_quantity("0"):
            errors.append(invalid("capacity", str(capacity), NOT_NEGATIVE))
        return errors

    def warnings_create(self, obj: Object) -> list[str]:
        return selector_warnings(obj.get("nodeTopology") or {}, "nodeTopology")

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return self.warnings_create(obj)
