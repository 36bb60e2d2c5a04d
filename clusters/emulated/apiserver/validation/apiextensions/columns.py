"""Printer columns, selectable fields and the scale subresource: JSON paths into a custom resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.validation.apiextensions.fieldpath import FieldPathError, resolve
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube.field import FieldError, duplicate, index, invalid, required, too_many

_TYPES = ("boolean", "date", "integer", "number", "string")
_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE_MAX = 8
_SELECTABLE_TYPES = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)


def column_errors(column: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not column.get("name"):
        errors.append(required(f"{path}.name"))
    kind, form = column.get("type") or "", column.get("format") or ""
    types = f"must be one of {','.join(_TYPES)}"
    if not kind:
        errors.append(required(f"{path}.type", types))
    elif kind not in _TYPES:
        errors.append(invalid(f"{path}.type", kind, types))
    if form and form not in _FORMATS:
        errors.append(invalid(f"{path}.format", form, f"must be one of {','.join(_FORMATS)}"))
    json_path = column.get("jsonPath") or ""
    if not json_path:
        errors.append(required(f"{path}.JSONPath"))
    return errors + _path_errors(json_path, f"{path}.JSONPath")


def _path_errors(json_path: str, path: str) -> list[FieldError]:
    if json_path and not json_path.startswith("."):
        return [invalid(path, json_path, "must be a simple json path starting with .")]
    return []


def subresource_errors(subresources: Object, path: str) -> list[FieldError]:
    scale = subresources.get("scale")
    if scale is None:
        return []
    errors: list[FieldError] = []
    for name, prefix in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        value, value_path = scale.get(name) or "", f"{path}.scale.{name}"
        wrong = _path_errors(value, value_path)
        if not value:
            errors.append(required(value_path))
        elif wrong:
            errors += wrong
        elif not value.startswith(f"{prefix}."):
            errors.append(invalid(value_path, value, f"should be a json path under {prefix}"))
    selector, selector_path = scale.get("labelSelectorPath") or "", f"{path}.scale.labelSelectorPath"
    wrong = _path_errors(selector, selector_path)
    if wrong:
        errors += wrong
    elif selector and not selector.startswith((".spec.", ".status.")):
        text = "should be a json path under either .spec or .status"
        errors.append(invalid(selector_path, selector, text))
    return errors


def selectable_field_errors(fields: list[Object], schema: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, field in enumerate(fields):
        field_path, json_path = f"{index(path, position)}.jsonPath", field.get("jsonPath") or ""
        if not json_path:
            errors.append(required(field_path))
            continue
        try:
            normalised, found = resolve(json_path, schema, brackets=False)
        except FieldPathError as error:
            errors.append(invalid(field_path, json_path, f"is an invalid path: {error}"))
            continue
        if normalised.split(".")[0] == "metadata":
            errors.append(invalid(field_path, json_path, "must not point to fields in metadata"))
        if found is None or found.get("type") not in ("string", "boolean", "integer"):
            errors.append(invalid(field_path, json_path, _SELECTABLE_TYPES))
        if normalised in seen:
            errors.append(duplicate(field_path, json_path))
        seen.add(normalised)
    if len(seen) > _SELECTABLE_MAX:
        errors.append(too_many(path, len(seen), _SELECTABLE_MAX))
    return errors
