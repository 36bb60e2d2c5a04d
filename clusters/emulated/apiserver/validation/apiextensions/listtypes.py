"""x-kubernetes-list-type and x-kubernetes-list-map-keys: lists that are merged as sets or maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.kube.field import FieldError, forbidden, invalid, key, not_supported, required
from clusters.kube.internal import printed

Schema = Mapping[str, Any]

_LIST_TYPE, _MAP_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_ATOMIC_ITEM = "must be atomic as item of a list with x-kubernetes-list-type=set"


def list_type_errors(schema: Schema, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    list_type, kind, keys = schema.get(_LIST_TYPE), schema.get("type") or "", schema.get(_MAP_KEYS) or []
    items = schema.get("items")
    if list_type is not None and kind != "array":
        text = f"must be array if {_LIST_TYPE} is specified"
        errors.append(invalid(f"{path}.type", kind, text) if kind else required(f"{path}.type", text))
    elif list_type == "set" and isinstance(items, Mapping):
        errors += _set_item_errors(items, f"{path}.items")
    if list_type is not None and list_type not in ("atomic", "set", "map"):
        errors.append(not_supported(f"{path}.{_LIST_TYPE}", list_type, ("atomic", "set", "map")))
    if keys and list_type != "map":
        text = f"must be map if {_MAP_KEYS} is non-empty"
        type_path = f"{path}.{_LIST_TYPE}"
        errors.append(required(type_path, text) if list_type is None else invalid(type_path, list_type, text))
    if list_type == "map":
        errors += _map_errors(items, keys, path)
    if list_type in ("set", "map") and isinstance(items, Mapping):
        errors += _key_errors(items, keys if list_type == "map" else [], str(list_type), f"{path}.items")
    return errors


def _set_item_errors(items: Schema, path: str) -> list[FieldError]:
    list_type = items.get(_LIST_TYPE)
    if items.get("type") == "array" and list_type not in (None, "atomic"):
        return [invalid(f"{path}.{_LIST_TYPE}", list_type, _ATOMIC_ITEM)]
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        # Kubernetes shows the item's list type here, not its map type.
        return [invalid(f"{path}.x-kubernetes-map-type", list_type, _ATOMIC_ITEM)]
    return []


def _map_errors(items: Any, keys: list[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not keys:
        errors.append(required(f"{path}.{_MAP_KEYS}", f"must not be empty if {_LIST_TYPE} is map"))
    if items is None:
        errors.append(required(f"{path}.items", f"must have a schema if {_LIST_TYPE} is map"))
    elif not isinstance(items, Mapping):
        value = printed("*apiextensions.JSONSchemaPropsOrArray", items)
        errors.append(invalid(f"{path}.items", value, f"must only have a single schema if {_LIST_TYPE} is map"))
    elif items.get("type") != "object":
        text = f"must be object if parent array's {_LIST_TYPE} is map"
        errors.append(invalid(f"{path}.items.type", items.get("type") or "", text))
    else:
        properties = items.get("properties") or {}
        for position, name in enumerate(keys):
            if name not in properties:
                text = "entries must all be names of item properties"
                errors.append(invalid(f"{path}.{_MAP_KEYS}", keys, text))
            elif properties[name].get("type") in ("array", "object"):
                text = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
                type_path = f"{key(f'{path}.items.properties', name)}.type"
                errors.append(invalid(type_path, items.get("type"), text))
            if name in keys[:position]:
                errors.append(invalid(f"{path}.{_MAP_KEYS}", keys, "must not contain duplicate entries"))
    return errors


def _key_errors(items: Schema, keys: list[str], list_type: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if items.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", f"cannot be nullable when {_LIST_TYPE} is {list_type}"))
    properties, needed = items.get("properties") or {}, items.get("required") or ()
    for name in keys:
        part = properties.get(name)
        if part is None:
            continue
        part_path = key(f"{path}.properties", name)
        if name not in needed and part.get("default") is None:
            text = f"this property is in {_MAP_KEYS}, so it must have a default or be a required property"
            errors.append(required(f"{part_path}.default", text))
        if part.get("nullable"):
            text = f"this property is in {_MAP_KEYS}, so it cannot be nullable"
            errors.append(forbidden(f"{part_path}.nullable", text))
    return errors
