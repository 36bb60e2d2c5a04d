"""How values merge: what is a leaf, what is merged by key, what is declared.

There are two sources: the shapes of built-in kinds (`of_struct`) and the structural schemas of custom
resources (`of_schema`).

A type may accept more than one kind of value (anything goes in `x-kubernetes-preserve-unknown-fields`), so it
has up to three faces: scalar, list, map.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias

from clusters.kube.schema.model import Field, ListType, MapType, Scalar, Struct
from clusters.kube.schema.model import Type as ModelType
from clusters.kube.schema.shape import shape

ScalarKind: TypeAlias = Literal["numeric", "string", "boolean", "untyped"]


@dataclass(slots=True, eq=False)
class MapFace:
    """`fields` are declared by name, `element` is the type of all others (None: there must not be others)."""

    fields: dict[str, Type] = field(default_factory=dict)
    element: Type | None = None
    atomic: bool = False
    #: Fields that Go writes even when nobody set them, with the zero value it writes.
    zeros: dict[str, Any] = field(default_factory=dict)
    #: Types of a struct's fields are built when first met: JSONSchemaProps contains itself.
    struct: Struct | None = None

    def declared(self, name: str) -> bool:
        return name in self.fields or (self.struct is not None and name in self.struct.fields)

    def omits(self, name: str, value: Any) -> bool:
        """Whether Go leaves the field out: an empty map that is optional."""
        if value or value.__class__ is not dict or self.struct is None:
            return False
        declared = self.struct.fields.get(name)
        return declared is not None and declared.omit_empty and isinstance(declared.type, MapType)

    def of(self, name: str) -> Type | None:
        """The type of the field `name`."""
        found = self.fields.get(name)
        if found is not None:
            return found
        if self.struct is not None:
            declared = self.struct.fields.get(name)
            if declared is not None:
                found = self.fields[name] = _of_field(declared)
                return found
        return self.element


@dataclass(slots=True, eq=False)
class ListFace:
    """Associative lists have `keys` (a map list) or none (a set); the others are atomic."""

    element: Type
    atomic: bool = True
    keys: tuple[str, ...] = ()
    #: Declared defaults of the keys: a port without a protocol is a TCP port.
    key_defaults: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Type:
    scalar: ScalarKind | None = None
    list: ListFace | None = None
    map: MapFace | None = None
    #: Whether every value of this type is one field for ownership: scalars and atomic lists and maps.
    leaf: bool = field(init=False)

    def __post_init__(self) -> None:
        self.leaf = (self.list is None or self.list.atomic) and (self.map is None or self.map.atomic)


def _untyped() -> Type:
    """Any value, always one field."""
    made = Type("untyped")
    made.list, made.map = ListFace(made), MapFace(element=made, atomic=True)
    return made


def _deduced() -> Type:
    """Any value: maps are merged, lists are one field."""
    made = Type("untyped")
    made.list, made.map = ListFace(UNTYPED), MapFace(element=made)
    made.leaf = False
    return made


UNTYPED = _untyped()
DEDUCED = _deduced()
_SCALARS: dict[str, Type] = {
    "string": Type("string"), "bytes": Type("string"), "bool": Type("boolean"), "int32": Type("numeric"),
    "int64": Type("numeric"), "float64": Type("numeric"),
}  # fmt: skip
_TEXT = Type("untyped")  # Quantities, times, int-or-string: a scalar, number or string.
_FREE_FORM = Type(map=MapFace(element=DEDUCED))
_ANY = Type("untyped", ListFace(UNTYPED), MapFace(element=DEDUCED))


@cache
def of_struct(struct: Struct, atomic: bool | None = None) -> Type:
    """The type of a built-in struct; `atomic` is a field's own word about it and wins over the struct's."""
    is_atomic = struct.map_type == "atomic" if atomic is None else atomic
    return Type(map=MapFace(atomic=is_atomic, zeros={} if is_atomic else shape(struct, {}), struct=struct))


def _of_field(declared: Field) -> Type:
    kind = declared.type
    if isinstance(kind, Struct):
        return of_struct(kind, declared.map_type == "atomic" if declared.map_type else None)
    if isinstance(kind, MapType):
        return Type(map=MapFace(element=_of_model(kind.element), atomic=declared.map_type == "atomic"))
    if isinstance(kind, ListType):
        return _list_of_field(declared, kind)
    return _of_model(kind)


def _list_of_field(declared: Field, kind: ListType) -> Type:
    """The list type says how it merges; where there is none, strategic merge patch's strategy does."""
    element = _of_model(kind.element)
    if declared.list_type:
        associative, keys = declared.list_type != "atomic", declared.list_map_keys
    else:
        associative = "merge" in declared.patch_strategy.split(",")
        keys = (declared.patch_merge_key,) if associative and declared.patch_merge_key else ()
    defaults = _key_defaults(kind.element, keys) if isinstance(kind.element, Struct) else {}
    return Type(list=ListFace(element, not associative, tuple(sorted(keys)) if associative else (), defaults))


def _key_defaults(struct: Struct, keys: tuple[str, ...]) -> dict[str, Any]:
    """A key's declared default; a key that Go always writes has its zero value for one."""
    zeros = shape(struct, {})
    defaults = {}
    for key in keys:
        declared = struct.fields[key].default
        default = zeros.get(key) if declared is None else declared
        if default is not None:
            defaults[key] = default
    return defaults


@cache
def _of_model(kind: ModelType) -> Type:
    if isinstance(kind, Struct):
        return of_struct(kind)
    if isinstance(kind, MapType):
        return Type(map=MapFace(element=_of_model(kind.element)))
    if isinstance(kind, ListType):
        return Type(list=ListFace(_of_model(kind.element)))
    return _of_scalar(kind)


def _of_scalar(kind: Scalar) -> Type:
    known = _SCALARS.get(kind.kind)
    if known is not None:
        return known
    if kind.kind in ("v1.Time", "v1.MicroTime", "resource.Quantity", "intstr.IntOrString", "v1.Duration"):
        return _TEXT
    if kind.kind == "runtime.RawExtension":
        return UNTYPED
    return _FREE_FORM if kind.kind == "v1.FieldsV1" else _ANY


def of_schema(schema: dict[str, Any], object_meta: Struct) -> Type:
    """The type of a custom resource's root, from its structural schema (`openAPIV3Schema`)."""
    return _resource(schema, object_meta, preserve=False)


def _resource(schema: dict[str, Any], object_meta: Struct, *, preserve: bool) -> Type:
    made = _of_schema(schema, object_meta, preserve)
    if made.map is not None:
        text = _SCALARS["string"]
        made.map.fields.update({"apiVersion": text, "kind": text, "metadata": of_struct(object_meta)})
        if made.map.element is DEDUCED and not schema.get("properties") and not _preserves(schema, preserve):
            made.map.element = None  # With the three above it has properties, and so no others.
    return made


def _preserves(schema: dict[str, Any], inherited: bool) -> bool:
    return inherited or schema.get("x-kubernetes-preserve-unknown-fields") is True


def _of_schema(schema: dict[str, Any], object_meta: Struct, inherited: bool) -> Type:
    preserve = _preserves(schema, inherited)
    kind = schema.get("type", "")
    if kind in ("integer", "number"):
        return _SCALARS["int64"]
    if kind == "boolean":
        return _SCALARS["bool"]
    if kind == "string":
        return _SCALARS["string"] if schema.get("format", "") in ("", "byte") else _TEXT
    made = Type("untyped" if kind == "" else None)
    if kind != "object":
        made.list = _list_face(schema, object_meta, preserve)
    if kind != "array":
        made.map = _map_face(schema, object_meta, preserve)
    made.__post_init__()
    return made


def _map_face(schema: dict[str, Any], object_meta: Struct, preserve: bool) -> MapFace:
    properties: dict[str, Any] = schema.get("properties") or {}
    face = MapFace(atomic=schema.get("x-kubernetes-map-type") == "atomic")
    for name, below in properties.items():
        embedded = below.get("x-kubernetes-embedded-resource") is True
        face.fields[name] = (
            _resource(below, object_meta, preserve=preserve) if embedded else _of_schema(below, object_meta, preserve)
        )
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        face.element = _of_schema(additional, object_meta, preserve)
    elif additional is True or (additional is None and (preserve or not properties)):
        face.element = DEDUCED
    return face


def _list_face(schema: dict[str, Any], object_meta: Struct, preserve: bool) -> ListFace:
    items = schema.get("items")
    element = UNTYPED
    if isinstance(items, dict):
        embedded = items.get("x-kubernetes-embedded-resource") is True
        element = (
            _resource(items, object_meta, preserve=preserve) if embedded else _of_schema(items, object_meta, preserve)
        )
    list_type = schema.get("x-kubernetes-list-type", "atomic")
    if list_type == "atomic":
        return ListFace(element)
    keys = tuple(sorted(schema.get("x-kubernetes-list-map-keys") or ())) if list_type == "map" else ()
    properties = (items or {}).get("properties") or {}
    defaults = {key: (properties.get(key) or {}).get("default") for key in keys}
    defaults = {key: default for key, default in defaults.items() if default is not None}
    return ListFace(element, atomic=False, keys=keys, key_defaults=defaults)
