"""The OpenAPI schema of a CustomResourceDefinition: what may stand in it, and its CEL rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from clusters.emulated.apiserver.validation.apiextensions.costs import (
    cost_errors,
    occurrences_below,
    total_cost_errors,
)
from clusters.emulated.apiserver.validation.apiextensions.fieldpath import FieldPathError, resolve
from clusters.emulated.apiserver.validation.apiextensions.listtypes import list_type_errors
from clusters.kube.field import FieldError, forbidden, index, internal, invalid, key, not_supported, required
from clusters.kube.internal import printed

Schema = Mapping[str, Any]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_RULES = "x-kubernetes-validations"
_QUADRATIC = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the schema we are, as far as it changes what is allowed."""

    root: bool = False
    no_defaults: str | None = None
    inside_metadata: bool = False
    # The list or map below which an old value cannot be found again.
    uncorrelatable: str | None = None
    # Rules are compiled only where the structure is known to be sound.
    compile_rules: bool = True
    # How often this part can occur in one object; None if nothing bounds it.
    occurrences: int | None = 1


@dataclass(slots=True)
class Found:
    """Errors of the schema come before those of all CEL rules; `costs` are (path, estimated cost) of each rule."""

    schema: list[FieldError]
    rules: list[FieldError]
    costs: list[tuple[str, int]]

    def all(self) -> list[FieldError]:
        return self.schema + self.rules


def openapi_schema_errors(schema: Schema, path: str, *, compile_rules: bool) -> list[FieldError]:
    found = _errors(schema, path, Place(root=True, compile_rules=compile_rules))
    return found.all() + total_cost_errors(found.costs, path)


def _errors(schema: Schema, path: str, place: Place) -> Found:
    found = Found(_standard_errors(schema, path, place), [], [])
    if schema.get("uniqueItems"):
        found.schema.append(forbidden(f"{path}.uniqueItems", _QUADRATIC))
    for part, part_path, part_place in _children(schema, path, place, found):
        inner = _errors(part, part_path, part_place)
        found.schema += inner.schema
        found.rules += inner.rules
        found.costs += inner.costs
    found.schema += _extension_errors(schema, path)
    found.schema += list_type_errors(schema, path)
    rules = schema.get(_RULES) or ()
    for position, rule in enumerate(rules):
        found.schema += _rule_errors(schema, rule, index(f"{path}.{_RULES}", position))
    if rules and not found.schema and place.compile_rules:
        found.rules += _compile_errors(schema, f"{path}.{_RULES}", place, found.costs)
    return found


def _children(schema: Schema, path: str, place: Place, found: Found) -> list[tuple[Schema, str, Place]]:
    children: list[tuple[Schema, str, Place]] = []
    inner = replace(place, root=False, occurrences=occurrences_below(schema, place.occurrences))
    nested = replace(inner, compile_rules=False)
    additional, properties = schema.get("additionalProperties"), schema.get("properties") or {}
    if additional is not None and properties and additional is not True:
        text = "additionalProperties and properties are mutual exclusive"
        found.schema.append(forbidden(f"{path}.additionalProperties", text))
    if isinstance(additional, Mapping):
        reason = "inside additionalProperties applying to object metadata"
        below = replace(inner, no_defaults=reason) if place.inside_metadata else inner
        children.append((additional, f"{path}.additionalProperties", below))
    correlatable = schema.get("x-kubernetes-map-type") in (None, "granular")
    for name, part in properties.items():
        below = inner
        if not correlatable and below.uncorrelatable is None:
            below = replace(below, uncorrelatable=path)
        resource = place.root or schema.get("x-kubernetes-embedded-resource")
        if resource and name in ("metadata", "kind", "apiVersion"):
            below = replace(below, inside_metadata=True)
            if place.root:
                below = replace(below, no_defaults=f"in top-level {name}")
        children.append((part, key(f"{path}.properties", name), below))
    if schema.get("not") is not None:
        children.append((schema["not"], f"{path}.not", nested))
    for name in ("allOf", "oneOf", "anyOf"):
        parts = schema.get(name) or ()
        children += [(part, index(f"{path}.{name}", at), nested) for at, part in enumerate(parts)]
    for name, part in (schema.get("definitions") or {}).items():
        children.append((part, key(f"{path}.definitions", name), nested))
    items = schema.get("items")
    if schema.get("x-kubernetes-list-type") != "map" and inner.uncorrelatable is None:
        inner = replace(inner, uncorrelatable=path)
    if isinstance(items, Mapping):
        children.append((items, f"{path}.items", inner))
    elif isinstance(items, list):
        children += [(part, index(f"{path}.items", at), inner) for at, part in enumerate(items)]
    for name, part in (schema.get("dependencies") or {}).items():
        if isinstance(part, Mapping):
            children.append((part, key(f"{path}.dependencies", name), nested))
    return children


def _standard_errors(schema: Schema, path: str, place: Place) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = schema.get("type") or ""
    if kind and kind not in _TYPES:
        errors.append(not_supported(f"{path}.type", kind, _TYPES))
    if schema.get("default") is not None and place.no_defaults is not None:
        errors.append(forbidden(f"{path}.default", f"must not be set {place.no_defaults}".rstrip()))
    for name in ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"):
        there = schema.get(name)
        if there or (there is not None and name in ("additionalItems", "dependencies", "$ref")):
            errors.append(forbidden(f"{path}.{name}", f"{name} is not supported"))
    if kind == "null":
        text = "type cannot be set to null, use nullable as an alternative"
        errors.append(forbidden(f"{path}.type", text))
    if isinstance(schema.get("items"), list) and schema["items"]:
        errors.append(forbidden(f"{path}.items", "items must be a schema object and not an array"))
    if place.inside_metadata and schema.get("x-kubernetes-embedded-resource"):
        text = "must not be used inside of resource meta"
        errors.append(forbidden(f"{path}.x-kubernetes-embedded-resource", text))
    return errors


def _extension_errors(schema: Schema, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        name = "x-kubernetes-preserve-unknown-fields"
        errors.append(invalid(f"{path}.{name}", False, "must be true or undefined"))
    map_type, kind = schema.get("x-kubernetes-map-type"), schema.get("type") or ""
    if map_type is not None and kind != "object":
        text = "must be object if x-kubernetes-map-type is specified"
        errors.append(invalid(f"{path}.type", kind, text) if kind else required(f"{path}.type", text))
    if map_type is not None and map_type not in ("atomic", "granular"):
        errors.append(not_supported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular")))
    return errors


def _breaks(text: str) -> bool:
    return "\n" in text or "\r" in text


def _rule_errors(schema: Schema, rule: Schema, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    text, message = rule.get("rule") or "", rule.get("message") or ""
    if not text.strip():
        errors.append(required(f"{path}.rule", "rule is not specified"))
    elif message and not message.strip():
        errors.append(invalid(f"{path}.message", message, "must be non-empty if specified"))
    elif _breaks(message.strip()):
        errors.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    elif _breaks(text.strip()) and not message.strip():
        why = "message must be specified if rule contains line breaks"
        errors.append(required(f"{path}.message", why))
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        why = "messageExpression must be non-empty if specified"
        errors.append(required(f"{path}.messageExpression", why))
    reason, field_path = rule.get("reason"), rule.get("fieldPath") or ""
    if reason is not None and reason not in _REASONS:
        errors.append(not_supported(f"{path}.reason", reason, _REASONS))
    if field_path and not field_path.strip():
        errors.append(invalid(f"{path}.fieldPath", field_path, "must be non-empty if specified"))
    if _breaks(field_path):
        errors.append(invalid(f"{path}.fieldPath", field_path, "must not contain line breaks"))
    if field_path:
        try:
            resolve(field_path, schema)
        except FieldPathError:
            errors.append(invalid(f"{path}.fieldPath", field_path, "must be a valid path"))
    return errors


def _compile_errors(schema: Schema, path: str, place: Place, costs: list[tuple[str, int]]) -> list[FieldError]:
    from clusters.kube.cel import CompileError, InstantiationError
    from clusters.kube.cel.schema import rule_environment

    errors: list[FieldError] = []
    for position, rule in enumerate(schema[_RULES]):
        rule_path = index(path, position)
        optional = bool(rule.get("optionalOldSelf"))
        env = rule_environment(schema, root=place.root, optional_old_self=optional)
        shown = printed("apiextensions.ValidationRule", rule)
        uses_old_self = False
        try:
            program = env.compile(rule["rule"])
        except InstantiationError as error:
            errors.append(invalid(f"{rule_path}.rule", shown, error.detail))
        except CompileError as error:
            errors.append(invalid(f"{rule_path}.rule", shown, error.detail))
        except RecursionError:
            errors.append(internal(f"{rule_path}.rule", "expression too deep"))
        else:
            uses_old_self = "oldSelf" in program.references
            errors += cost_errors(program, schema, place.root, place.occurrences, f"{rule_path}.rule", costs)
            if str(program.type) != "bool":
                errors.append(invalid(f"{rule_path}.rule", shown, "cel expression must evaluate to a bool"))
            elif rule.get("messageExpression"):
                errors += _message_errors(rule, env, f"{rule_path}.messageExpression", shown)
        if uses_old_self:
            if place.uncorrelatable is not None:
                text = (
                    f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelatable}"
                )
                errors.append(invalid(f"{rule_path}.rule", rule["rule"], text))
        elif rule.get("optionalOldSelf") is not None:
            text = "may not be set if oldSelf is not used in rule"
            errors.append(invalid(f"{rule_path}.optionalOldSelf", optional, text))
    return errors


def _message_errors(rule: Schema, env: Any, path: str, shown: str) -> list[FieldError]:
    from clusters.kube.cel import CompileError

    try:
        program = env.compile(rule["messageExpression"])
    except CompileError as error:
        return [invalid(path, shown, f"messageExpression {error.detail}")]
    if str(program.type) != "string":
        return [invalid(path, shown, "messageExpression must evaluate to a string")]
    return []
