"""The rules of one version of a custom resource: its schema's, and what every custom resource has to obey."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.customresources.cel_rules import rule_tree
from clusters.emulated.apiserver.customresources.correlation import Correlation
from clusters.emulated.apiserver.customresources.go_numbers import go_float
from clusters.emulated.apiserver.customresources.jsonpath import JsonPath, JsonPathError
from clusters.emulated.apiserver.customresources.list_types import list_errors
from clusters.emulated.apiserver.customresources.object_meta import embedded_errors
from clusters.emulated.apiserver.customresources.openapi import NO_PATH, SchemaValidator
from clusters.emulated.apiserver.customresources.structural import Structural
from clusters.emulated.apiserver.validation.metadata import object_meta_errors, object_meta_update_errors
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, invalid
from clusters.kube.gostring import quote

_MAX_INT32 = 2**31 - 1
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")
# While one of these is wrong, the rules in CEL are not evaluated: they count on types and sizes being right.
_BLOCKING = frozenset(
    ("FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid")
)
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)


class CustomResourceRules(KindRules):
    """Built per version and CRD generation by `custom_resource_rules`."""

    allow_unconditional_update = False
    validates_metadata = True
    checks_finalizer_names = False
    metadata_on_status = "nothing"

    def __init__(
        self, schema: Mapping[str, Any] | None, version: Mapping[str, Any], api_version: str, namespaced: bool
    ) -> None:
        self.structural = None if schema is None else Structural(schema)
        self._api_version = api_version
        self._namespaced = namespaced
        subresources = version.get("subresources") or {}
        self.has_status = subresources.get("status") is not None
        self.scale: Mapping[str, Any] | None = subresources.get("scale")
        self._validator: SchemaValidator | None = None
        self._status_validator: SchemaValidator | None = None
        self._schema = schema or {}
        self._rules = rule_tree(self.structural)
        self._selectable = [_selectable(field["jsonPath"]) for field in version.get("selectableFields") or ()]
        # What the last validation tolerated because it was so before; asked for right after it.
        self._tolerated: list[str] = []

    def tolerated(self) -> list[str]:
        return self._tolerated

    # Create

    def prepare_create(self, obj: Object) -> None:
        if self.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def validate_create(self, obj: Object) -> list[FieldError]:
        self._tolerated = []
        errors = self._type_errors(obj)
        if errors:
            return errors
        errors = object_meta_errors(obj.get("metadata") or {}, self._namespaced, names.dns_subdomain)
        errors += self._whole().errors(obj)
        errors += self._scale_spec_errors(obj) + self._scale_status_errors(obj)
        errors += embedded_errors(obj, self.structural)
        errors += list_errors(obj, self.structural)
        return errors + self._rule_errors(errors, obj, None, None)

    def warnings_create(self, obj: Object) -> list[str]:
        return _finalizer_warnings(obj, None)

    # Update

    def prepare_update(self, obj: Object, old: Object) -> None:
        if self.has_status:
            if "status" in old:
                obj["status"] = old["status"]
            else:
                obj.pop("status", None)
        if _without_metadata(obj) != _without_metadata(old):
            obj["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        self._tolerated = []
        errors = self._type_errors(obj)
        if errors:
            return errors
        correlation = Correlation(obj, old, self.structural)
        errors = object_meta_update_errors(obj, old)
        errors += self._whole().errors(obj, correlation=correlation)
        errors += self._scale_spec_errors(obj) + self._scale_status_errors(obj)
        errors += embedded_errors(obj, self.structural)
        if not list_errors(old, self.structural):
            errors += list_errors(obj, self.structural)
        return errors + self._rule_errors(errors, obj, old, correlation)

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return _finalizer_warnings(obj, old)

    # Status

    def prepare_status(self, obj: Object, old: Object) -> None:
        """Everything but the status and who owns it comes from what is stored."""
        status, has_status = obj.get("status"), "status" in obj
        managed = obj["metadata"].get("managedFields")
        obj.clear()
        obj.update({**old, "metadata": dict(old["metadata"])})
        obj["metadata"].pop("managedFields", None)
        if managed:
            obj["metadata"]["managedFields"] = managed
        obj.pop("status", None)
        if has_status:
            obj["status"] = status

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        self._tolerated = []
        errors = self._type_errors(obj)
        if errors:
            return errors
        correlation = Correlation(obj, old, self.structural)
        errors = object_meta_update_errors(obj, old)
        status = (self._schema.get("properties") or {}).get("status")
        if "status" in obj and status is not None:
            if self._status_validator is None:
                self._status_validator = SchemaValidator(status)
            errors += self._status_validator.errors(obj["status"], "status", correlation.field("status"))
        errors += self._scale_status_errors(obj)
        found = list_errors(obj, self.structural)
        if found and not list_errors(old, self.structural):
            errors += found
        return errors + self._rule_errors(errors, obj, old, correlation)

    # Parts

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        return {name: _selected(path, obj) for name, path in self._selectable}

    def _whole(self) -> SchemaValidator:
        if self._validator is None:
            self._validator = SchemaValidator(self._schema)
        return self._validator

    def _type_errors(self, obj: Object) -> list[FieldError]:
        errors: list[FieldError] = []
        if obj.get("kind") != self.kind:
            errors.append(invalid("kind", obj.get("kind", ""), f"must be {self.kind}"))
        if obj.get("apiVersion") != self._api_version:
            errors.append(invalid("apiVersion", obj.get("apiVersion", ""), f"must be {self._api_version}"))
        return errors

    def _rule_errors(
        self, found: list[FieldError], obj: Object, old: Object | None, correlation: Correlation | None
    ) -> list[FieldError]:
        if self._rules is None:
            return []
        if any(error.type in _BLOCKING for error in found):
            return [invalid(NO_PATH, None, _NOT_CHECKED)]
        errors, tolerated = self._rules.errors(obj, old, correlation)
        self._tolerated = [str(error) for error in tolerated]
        return errors

    def _scale_spec_errors(self, obj: Object) -> list[FieldError]:
        return [] if self.scale is None else _replicas_errors(obj, self.scale["specReplicasPath"])

    def _scale_status_errors(self, obj: Object) -> list[FieldError]:
        if self.scale is None:
            return []
        errors = _replicas_errors(obj, self.scale["statusReplicasPath"])
        selector_path = self.scale.get("labelSelectorPath")
        if selector_path:
            _, problem = nested(obj, selector_path, str, "string")
            if problem:
                errors.append(invalid(selector_path, "", problem))
        return errors


def custom_resource_rules(
    group: str, kind: str, schema: Mapping[str, Any] | None, version: Mapping[str, Any], *, namespaced: bool
) -> CustomResourceRules:
    has_status = (version.get("subresources") or {}).get("status") is not None
    reset = {"": (("status",),), "status": (("metadata",), ("spec",))} if has_status else {}
    made = type(f"{kind}Rules", (CustomResourceRules,), {"group": group, "kind": kind, "reset_fields": reset})
    rules: CustomResourceRules = made(schema, version, f"{group}/{version['name']}", namespaced)
    return rules


def _without_metadata(obj: Object) -> Object:
    return {name: value for name, value in obj.items() if name != "metadata"}


def _finalizer_warnings(obj: Object, old: Object | None) -> list[str]:
    added = set(obj["metadata"].get("finalizers") or ())
    if old is not None:
        added -= set(old["metadata"].get("finalizers") or ())
    warnings: list[str] = []
    for name in sorted(added):
        warnings += [f"metadata.finalizers: {quote(name)}: {text}" for text in names.qualified_name(name)]
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in name else ""
            text = f"prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer"
            warnings.append(f"metadata.finalizers: {quote(name)}: {text} writers")
    return warnings


def _selectable(json_path: str) -> tuple[str, JsonPath | None]:
    try:
        return json_path.removeprefix("."), JsonPath.parse(json_path)
    except JsonPathError:
        return json_path.removeprefix("."), None


def _selected(path: JsonPath | None, obj: Object) -> str:
    values = [] if path is None else path.find(obj)
    if not values or values[0] is None:
        return ""
    value = values[0]
    if isinstance(value, bool):
        return "true" if value else "false"
    return go_float(value) if isinstance(value, (int, float)) else str(value)


def nested(obj: Object, json_path: str, wanted: type, go_name: str) -> tuple[Any, str]:
    """(the value or None, why it cannot be read), as Go's unstructured accessors say it."""
    value: Any = obj
    steps = json_path.removeprefix(".").split(".")
    for position, step in enumerate(steps):
        if value.__class__ is not dict:
            place = "." + ".".join(steps[: position + 1])
            shown = f"{_go_value(value)} is of the type {_go_type(value)}"
            return None, f"{place} accessor error: {shown}, expected map[string]interface{{}}"
        if step not in value:
            return None, ""
        value = value[step]
    if value.__class__ is not wanted:
        place = "." + ".".join(steps)
        return None, f"{place} accessor error: {_go_value(value)} is of the type {_go_type(value)}, expected {go_name}"
    return value, ""


def _replicas_errors(obj: Object, json_path: str) -> list[FieldError]:
    value, problem = nested(obj, json_path, int, "int64")
    if problem:
        return [invalid(json_path, 0, problem)]
    if value is not None and value < 0:
        return [invalid(json_path, value, "should be a non-negative integer")]
    if value is not None and value > _MAX_INT32:
        return [invalid(json_path, value, f"should be less than or equal to {_MAX_INT32}")]
    return []


def _go_type(value: Any) -> str:
    if value is None:
        return "<nil>"
    names_of = {str: "string", bool: "bool", int: "int64", float: "float64", list: "[]interface {}"}
    return names_of.get(value.__class__, "map[string]interface {}")


def _go_value(value: Any) -> str:
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return go_float(value)
    if isinstance(value, list):
        return "[" + " ".join(map(_go_value, value)) + "]"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{name}:{_go_value(value[name])}" for name in sorted(value)) + "]"
    return str(value)
