"""Names, selectors and lists that the kinds of dynamic resource allocation share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from clusters.emulated.apiserver.validation.fields import named
from clusters.emulated.apiserver.validation.rules import Object
from clusters.emulated.apiserver.validation.storage.csi import csi_driver_name_errors
from clusters.kube import names
from clusters.kube.field import (
    FieldError,
    duplicate,
    index,
    internal,
    invalid,
    key,
    not_supported,
    required,
    too_long,
    too_many,
)
from clusters.kube.gostring import to_json

if TYPE_CHECKING:
    from clusters.kube.cel import Environment

GROUP = "resource.k8s.io"
SELECTORS_MAX = 32
CONFIGS_MAX = 32
_POOL_NAME_MAX = 253
_ID_MAX = 32
_EXPRESSION_BYTES_MAX = 10 * 1024
_PARAMETERS_BYTES_MAX = 10 * 1024
_TAINT_EFFECTS = ("NoExecute", "NoSchedule", "None")
_QUALIFIED = "a fully qualified name must be a domain and a name separated by a slash"

ItemErrors = Callable[[Any, str], list[FieldError]]


def list_errors(items: Sequence[Any], path: str, maximum: int, errors_of: ItemErrors) -> list[FieldError]:
    if 0 <= maximum < len(items):
        return [too_many(path, len(items), maximum)]
    errors: list[FieldError] = []
    for position, item in enumerate(items):
        errors += errors_of(item, index(path, position))
    return errors


def set_errors(
    items: Sequence[Any], path: str, maximum: int, errors_of: ItemErrors, key_of: Callable[[Any], str]
) -> list[FieldError]:
    """A list whose items differ in their keys; duplicates are told after all else."""
    errors = list_errors(items, path, maximum, errors_of)
    if 0 <= maximum < len(items):
        return errors
    keys = [key_of(item) for item in items]
    return errors + [
        duplicate(index(path, position), each) for position, each in enumerate(keys) if each in keys[:position]
    ]


def pool_name_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [too_long(path, _POOL_NAME_MAX)] if len(name.encode()) > _POOL_NAME_MAX else []
    for part in name.split("/"):
        errors += named(path, part, names.dns_subdomain)
    return errors


def qualified_name_errors(name: str, path: str) -> list[FieldError]:
    """`domain/c_identifier`, the domain optional."""
    parts = name.split("/")
    if len(parts) == 1:
        return _identifier_errors(parts[0], path)
    errors: list[FieldError] = []
    if len(parts) == 2:
        domain, identifier = parts
        errors += (
            csi_driver_name_errors(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
        )
        errors += (
            _identifier_errors(identifier, path) if identifier else [invalid(path, "", "the name must not be empty")]
        )
    return errors


def fully_qualified_name_errors(name: str, path: str) -> list[FieldError]:
    errors = qualified_name_errors(name, path)
    return errors if "/" in name else [*errors, invalid(path, name, _QUALIFIED)]


def _identifier_errors(identifier: str, path: str) -> list[FieldError]:
    errors = [too_long(path, _ID_MAX)] if len(identifier.encode()) > _ID_MAX else []
    return errors + named(path, identifier, names.c_identifier)


def map_errors(
    values: Mapping[str, Any], path: str, maximum: int, key_errors: ItemErrors, errors_of: ItemErrors
) -> list[FieldError]:
    if 0 <= maximum < len(values):
        return [too_many(path, len(values), maximum)]
    errors: list[FieldError] = []
    for name, value in values.items():
        errors += key_errors(name, path)
        errors += errors_of(value, key(path, name))
    return errors


def configuration_errors(config: Object, path: str) -> list[FieldError]:
    """Opaque parameters for a driver."""
    opaque = config.get("opaque")
    if opaque is None:
        return [required(f"{path}.opaque")]
    errors = csi_driver_name_errors(opaque.get("driver") or "", f"{path}.opaque.driver")
    return errors + raw_object_errors(opaque.get("parameters"), f"{path}.opaque.parameters")


def raw_object_errors(value: Any, path: str) -> list[FieldError]:
    if value is None:
        return [required(path)]
    if len(to_json(value).encode()) > _PARAMETERS_BYTES_MAX:
        return [too_long(path, _PARAMETERS_BYTES_MAX)]
    if not isinstance(value, dict):
        return [invalid(path, "<value omitted>", "must be a valid JSON object")]
    return []


def selector_errors(selector: Object, path: str) -> list[FieldError]:
    cel = selector.get("cel")
    if cel is None:
        return [required(f"{path}.cel")]
    from clusters.kube.cel import CompileError, InstantiationError

    path, expression = f"{path}.cel.expression", cel.get("expression") or ""
    if len(expression.encode()) > _EXPRESSION_BYTES_MAX:
        return [too_long(path, _EXPRESSION_BYTES_MAX)]
    try:
        program = device_environment().compile(expression)
    except InstantiationError as error:
        return [internal(path, error.detail)]
    except CompileError as error:
        return [invalid(path, expression, error.detail)]
    if str(program.type) not in ("bool", "google.protobuf.Any"):
        return [invalid(path, expression, f"must evaluate to bool or the unknown type, not {program.type}")]
    return []


@cache
def device_environment() -> Environment:
    """What a device selector sees: `device.driver`, `device.attributes`, `device.capacity`."""
    from clusters.kube.cel import ANY, BOOL, STRING, Environment, Type, map_of
    from clusters.kube.cel.types import QUANTITY

    fields = {
        "driver": STRING,
        "attributes": map_of(STRING, map_of(STRING, ANY)),
        "capacity": map_of(STRING, map_of(STRING, QUANTITY)),
        "allowMultipleAllocations": BOOL,
    }
    device = Type("struct", "kubernetes.DRADevice", fields={name: (each, name) for name, each in fields.items()})
    return Environment({"device": device})


def taint_errors(taint: Object, path: str) -> list[FieldError]:
    errors = named(f"{path}.key", taint.get("key") or "", names.qualified_name)
    if taint.get("value"):
        errors += named(f"{path}.value", taint["value"], names.label_value)
    effect = taint.get("effect") or ""
    if not effect:
        errors.append(required(f"{path}.effect"))
    elif effect not in _TAINT_EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, _TAINT_EFFECTS))
    return errors


def toleration_errors(toleration: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if toleration.get("key"):
        errors += named(f"{path}.key", toleration["key"], names.qualified_name)
    operator, value = toleration.get("operator") or "", toleration.get("value") or ""
    if operator == "Exists":
        if value:
            errors.append(invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        errors += named(f"{path}.value", value, names.label_value)
    elif not operator:
        errors.append(required(f"{path}.operator"))
    else:
        errors.append(not_supported(f"{path}.operator", operator, ("Equal", "Exists")))
    effect = toleration.get("effect") or ""
    if effect and effect not in _TAINT_EFFECTS:
        errors.append(not_supported(f"{path}.effect", effect, _TAINT_EFFECTS))
    return errors


def binding_condition_errors(holder: Object, path: str) -> list[FieldError]:
    conditions, failures = holder.get("bindingConditions") or [], holder.get("bindingFailureConditions") or []
    errors: list[FieldError] = []
    for name in ("bindingConditions", "bindingFailureConditions"):
        errors += list_errors(
            holder.get(name) or [], f"{path}.{name}", 4, lambda each, at: named(at, each, names.qualified_name)
        )
    for position, condition in enumerate(conditions):
        if condition in conditions[:position]:
            errors.append(duplicate(index(f"{path}.bindingConditions", position), condition))
    for position, condition in enumerate(failures):
        at = index(f"{path}.bindingFailureConditions", position)
        if condition in failures[:position]:
            errors.append(duplicate(at, condition))
        if condition in conditions:
            text = "bindingFailureConditions must not overlap with bindingConditions"
            errors.append(invalid(at, condition, text))
    if failures and not conditions:
        text = "bindingConditions are required to use bindingFailureConditions"
        errors.append(invalid(f"{path}.bindingConditions", holder.get("bindingConditions"), text))
    if conditions and not failures:
        text = "bindingFailureConditions are required to use bindingConditions"
        errors.append(invalid(f"{path}.bindingFailureConditions", holder.get("bindingFailureConditions"), text))
    return errors
