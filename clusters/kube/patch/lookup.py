"""How strategic merge patch finds a field's strategy and merge key in the shapes of the built-in types."""

from __future__ import annotations

from typing import NamedTuple

from clusters.kube.gostring import quote
from clusters.kube.patch.errors import PatchError
from clusters.kube.schema.model import Field, ListType, MapType, Scalar, Struct, Type

_STRUCT_SCALARS = frozenset(
    ("v1.Time", "v1.MicroTime", "resource.Quantity", "intstr.IntOrString", "runtime.RawExtension",
     "v1.FieldsV1", "v1.JSON", "v1.JSONSchemaPropsOrBool", "v1.JSONSchemaPropsOrArray")
)  # fmt: skip


class Place(NamedTuple):
    """A type that is not a struct of ours: merging goes on, but no field can be looked up in it."""

    kind_name: str
    name: str = ""


Lookup = Struct | Place


def kind_name(lookup: Lookup) -> str:
    """The Go kind, as messages print it."""
    return lookup.kind_name if isinstance(lookup, Place) else "struct"


class Found(NamedTuple):
    type: Lookup
    strategy: str
    merge_key: str


def field_of(lookup: Lookup, key: str) -> Found:
    """The field `key` for merging a map into it."""
    field = _field(lookup, key)
    return Found(_lookup(field.type), _strategy(field), field.patch_merge_key)


def list_field_of(lookup: Lookup, key: str) -> Found:
    """The field `key` for merging a list into it; the type is that of its elements."""
    field = _field(lookup, key)
    if not isinstance(field.type, ListType):
        # Kubernetes names the kind of the type that holds the field, not of the field.
        raise PatchError(f"expected slice or array type, but got: {kind_name(lookup)}", "internal")
    if isinstance(field.type.element, ListType):
        raise PatchError("unexpected slice of slice", "internal")
    return Found(_lookup(field.type.element), _strategy(field), field.patch_merge_key)


def _field(lookup: Lookup, key: str) -> Field:
    if isinstance(lookup, Place):
        if lookup.kind_name != "struct":
            text = f"merging an object in json but data type is not struct, instead is: {lookup.kind_name}"
            raise PatchError(text, "internal")
        raise _not_found(lookup.name, key)
    field = lookup.fields.get(key)
    if field is None:
        folded = key.casefold()
        field = next((each for each in lookup.fields.values() if each.name.casefold() == folded), None)
    if field is None:
        raise _not_found(lookup.short_name, key)
    return field


def _not_found(struct: str, key: str) -> PatchError:
    text = f"unable to find api field in struct {struct} for the json field {quote(key)}"
    return PatchError(text, "internal")


def _strategy(field: Field) -> str:
    """`retainKeys` only says that patches of this field may carry `$retainKeys`; the other word decides."""
    return next((each for each in field.patch_strategy.split(",") if each != "retainKeys"), "")


def _lookup(kind: Type) -> Lookup:
    if isinstance(kind, Struct):
        return kind
    if isinstance(kind, MapType):
        return Place("map")
    if isinstance(kind, ListType):
        return Place("slice")
    return Place(_scalar_kind(kind), kind.go_name.rpartition(".")[2])


def _scalar_kind(kind: Scalar) -> str:
    if kind.kind in _STRUCT_SCALARS:
        return "struct"
    return {"bytes": "slice", "any": "interface"}.get(kind.kind, kind.kind)
