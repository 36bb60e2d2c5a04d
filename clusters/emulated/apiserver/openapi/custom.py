"""Schemas of custom resources, named and wrapped as the real server publishes them."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.openapi.definitions import V2_PREFIX
from clusters.emulated.apiserver.openapi.schemas import META
from clusters.emulated.apiserver.registry.resources import Resource

Object = dict[str, Any]

_TYPE_META = {
    "apiVersion": (
        "APIVersion defines the versioned schema of this representation of an object. Servers should convert "
        "recognized schemas to the latest internal value, and may reject unrecognized values. More info: "
        "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources"
    ),
    "kind": (
        "Kind is a string value representing the REST resource this object represents. Servers may infer this "
        "from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: "
        "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds"
    ),
}
_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_OBJECT_META = f"Standard object's metadata. More info: {_CONVENTIONS}#metadata"
_LIST_META = f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds"


def schema_name(resource: Resource, kind: str) -> str:
    """`CronTab` of stable.example.com/v1 is `com.example.stable.v1.CronTab`."""
    return ".".join((*reversed(resource.group.split(".")), resource.version, kind))


def schemas_of(resource: Resource, schema: Object | None) -> dict[str, Object]:
    """The kind's schema and its list's; `schema` is the version's openAPIV3Schema, or None."""
    name = schema_name(resource, resource.kind)
    described = {key: {"description": text, "type": "string"} for key, text in _TYPE_META.items()}
    own: Object = dict(schema or {"type": "object"})
    if schema is None or not schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("properties"):
        metadata = {"description": _OBJECT_META, "$ref": f"{V2_PREFIX}{META}.ObjectMeta"}
        own["properties"] = {**own.get("properties", {}), **described, "metadata": metadata}
    own["x-kubernetes-group-version-kind"] = [_gvk(resource, resource.kind)]
    items = {"description": _items_text(resource), "type": "array", "items": {"$ref": f"{V2_PREFIX}{name}"}}
    many: Object = {
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            **described,
            "items": items,
            "metadata": {"description": _LIST_META, "$ref": f"{V2_PREFIX}{META}.ListMeta"},
        },
        "x-kubernetes-group-version-kind": [_gvk(resource, resource.list_kind)],
    }
    return {name: own, schema_name(resource, resource.list_kind): many}


def _items_text(resource: Resource) -> str:
    return f"List of {resource.plural}. More info: {_CONVENTIONS}"


def _gvk(resource: Resource, kind: str) -> Object:
    return {"group": resource.group, "kind": kind, "version": resource.version}
