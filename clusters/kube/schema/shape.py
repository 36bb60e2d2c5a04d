"""Writing an object the way Go's encoder does: fields in Kubernetes' order, zero values where it has them.

>>> shape(role, {"metadata": {"name": "r"}})      # a Role without rules
{'metadata': {'name': 'r'}, 'rules': None}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from clusters.kube.schema.model import Field, ListType, MapType, Scalar, Struct, Type

Shaper: TypeAlias = Callable[[Any], Any]
_MISSING: Any = object()
_OMIT: Any = object()
# Kinds that are answered but not stored, or stored as JSON.
_NOT_STORED_AS_PROTOBUF = ("apiextensions/", "apiregistration/", "authentication/", "authorization/", "meta/")


def shape(struct: Struct, obj: dict[str, Any]) -> dict[str, Any]:
    """A copy of `obj` in encoding order. Keys that are no fields of the struct are dropped."""
    shaped: dict[str, Any] = (struct.shaper or _compile_struct(struct))(obj)
    return shaped


def _compile_struct(struct: Struct) -> Shaper:
    rows: list[tuple[str, Shaper | None, Any, bool]] = []

    def shape_struct(obj: Any) -> Any:
        shaped = {}
        for name, shaper, zero, drop_empty in rows:
            value = obj.get(name, _MISSING)
            if value is _MISSING or value is None or (drop_empty and not value):
                if zero is not _OMIT:
                    shaped[name] = zero() if callable(zero) else zero
            else:
                shaped[name] = value if shaper is None else shaper(value)
        return shaped

    struct.shaper = shape_struct  # Set before its fields are compiled: a struct may contain itself.
    for each in struct.fields.values():
        rows.append((each.name, _compile(each.type), _zero(each), _drops_empty(struct, each)))
    return shape_struct


def _compile(kind: Type) -> Shaper | None:
    """None where a value is written as it is."""
    if isinstance(kind, Struct):
        return kind.shaper or _compile_struct(kind)
    if isinstance(kind, Scalar):
        return None
    element = _compile(kind.element)
    if isinstance(kind, ListType):
        return None if element is None else lambda items: [element(item) for item in items]
    if element is None:
        return lambda values: {key: values[key] for key in sorted(values)}
    return lambda values: {key: element(values[key]) for key in sorted(values)}


def _zero(field: Field) -> Any:
    """What stands for a missing value: `_OMIT`, None (null), a zero, or a callable that makes a fresh one."""
    if field.pointer:
        return _OMIT if field.omit_empty or field.omit_zero else None
    if field.omit_zero:
        return _OMIT
    kind = field.type
    if isinstance(kind, Struct):
        return lambda: (kind.shaper or _compile_struct(kind))({})  # omitempty never omits a Go struct.
    if isinstance(kind, Scalar) and kind.kind == "resource.Quantity":
        return "0"
    if isinstance(kind, Scalar) and kind.kind == "intstr.IntOrString":
        return 0
    if isinstance(kind, Scalar) and kind.kind in ("v1.Time", "v1.MicroTime", "runtime.RawExtension", "v1.JSON"):
        return None
    if field.omit_empty:
        return _OMIT
    if isinstance(kind, (ListType, MapType)):
        return None
    return {"string": "", "bool": False, "int32": 0, "int64": 0, "float64": 0}.get(kind.kind)


def _drops_empty(struct: Struct, field: Field) -> bool:
    """Whether an explicit zero is as good as none: of an optional list, map or non-pointer scalar. A list or map
    that is always written becomes null when it is empty, because protobuf, which Kubernetes stores, has no empty
    ones."""
    if isinstance(field.type, (ListType, MapType)):
        return field.omit_empty or not struct.name.startswith(_NOT_STORED_AS_PROTOBUF)
    if not field.omit_empty:
        return False
    # Types with a text form of their own (quantities, ports by number or name, raw JSON) are Go structs.
    return isinstance(field.type, Scalar) and not field.pointer and "." not in field.type.kind
