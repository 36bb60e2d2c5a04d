"""Plain objects to protobuf messages, byte for byte as Go's generated code writes them.

Fields go by ascending number. One that is no pointer is written even when it is zero, maps by sorted key.
An encoder is compiled per struct when it is first needed, and those behind pointers, lists and maps when
they are first met.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from clusters.kube.protobuf import encode_forms
from clusters.kube.protobuf.messages import SCHEMA_PROPS, FieldNumber, Message, Messages, is_wrapped
from clusters.kube.protobuf.wire import BYTES, FIXED64, VARINT, tag, varint
from clusters.kube.schema import ListType, MapType, Scalar, Struct, Type

Write: TypeAlias = Callable[[Any], bytes]

#: What stands for a missing value that is no pointer.
_ZERO = {
    "string": b"",
    "int32": b"\x00",
    "int64": b"\x00",
    "bool": b"\x00",
    "float64": bytes(8),
    "resource.Quantity": encode_forms.write_quantity("0"),
    "intstr.IntOrString": encode_forms.write_int_or_string(0),
}


def encode_message(messages: Messages, struct: Struct, obj: dict[str, Any]) -> bytes:
    return _of_struct(messages, struct)(obj)


def _of_struct(messages: Messages, struct: Struct) -> Write:
    compiled: Write | None = messages.encoders.get(struct.name)
    if compiled is None:
        compiled = messages.encoders[struct.name] = _compile(messages, messages.message(struct))
    return compiled


def _compile(messages: Messages, message: Message) -> Write:
    #: (name, how a value is written, what is written without one); an inlined message has no name.
    rows: list[tuple[str | None, Write, bytes]] = [_row(messages, each) for each in message.fields]

    def write(obj: Any) -> bytes:
        parts = []
        for name, write_value, missing in rows:
            if name is None:
                parts.append(write_value(obj))
                continue
            value = obj.get(name)
            if value is not None:
                parts.append(write_value(value))
            elif missing:
                parts.append(missing)
        return b"".join(parts)

    return write


def _row(messages: Messages, each: FieldNumber) -> tuple[str | None, Write, bytes]:
    if each.inlined is not None:
        return None, _delimited(tag(each.number, BYTES), _compile(messages, each.inlined)), b""
    field = each.field
    assert field is not None
    kind = field.type
    if isinstance(kind, MapType):
        return field.name, _map(messages, each.number, kind), b""
    if isinstance(kind, ListType) and not is_wrapped(kind):
        write = _field(messages, each.number, kind.element)
        return field.name, lambda values: b"".join([write(value) for value in values]), b""
    return field.name, _field(messages, each.number, kind, eager=not field.pointer), _missing(messages, each)


def _missing(messages: Messages, each: FieldNumber) -> bytes:
    field = each.field
    assert field is not None
    kind = field.type
    # In Go, byte strings and lists are slices: they can be nil.
    if field.pointer or isinstance(kind, ListType) or (isinstance(kind, Scalar) and kind.kind == "bytes"):
        return b""
    if isinstance(kind, Struct):
        return _field(messages, each.number, kind, eager=True)({})
    assert isinstance(kind, Scalar)
    if kind.kind in ("int32", "int64", "bool", "float64"):
        return tag(each.number, FIXED64 if kind.kind == "float64" else VARINT) + _ZERO[kind.kind]
    zero = _ZERO.get(kind.kind, b"")
    return tag(each.number, BYTES) + varint(len(zero)) + zero


def _field(messages: Messages, number: int, kind: Type, *, eager: bool = False) -> Write:
    """Writes one value with its tag."""
    if isinstance(kind, Scalar):
        if kind.kind == "string":
            return _text(tag(number, BYTES))
        if kind.kind == "bool":
            true, false = tag(number, VARINT) + b"\x01", tag(number, VARINT) + b"\x00"
            return lambda value: true if value else false
        if kind.kind in ("int32", "int64"):
            prefix = tag(number, VARINT)
            return lambda value: prefix + varint(value)
        if kind.kind == "float64":
            prefix = tag(number, FIXED64)
            return lambda value: prefix + encode_forms.write_double(value)
    return _delimited(tag(number, BYTES), _content(messages, kind, eager=eager))


def _content(messages: Messages, kind: Type, *, eager: bool) -> Write:
    """Writes what is inside a delimited field."""
    if isinstance(kind, Struct):
        # A struct that is no pointer cannot contain itself; any other may, and is compiled later.
        return _of_struct(messages, kind) if eager else _nested(messages, kind)
    if isinstance(kind, ListType):
        return encode_forms.write_items
    assert isinstance(kind, Scalar)
    schema_props = encode_forms.SCHEMA_PROPS_WRITERS.get(kind.kind)
    if schema_props is not None:
        return schema_props(_nested(messages, messages.catalogue.struct(SCHEMA_PROPS)))
    return encode_forms.WRITERS[kind.kind]


def _nested(messages: Messages, struct: Struct) -> Write:
    write: Write | None = None

    def write_struct(obj: Any) -> bytes:
        nonlocal write
        if write is None:
            write = _of_struct(messages, struct)
        return write(obj)

    return write_struct


def _delimited(prefix: bytes, content: Write) -> Write:
    def write(value: Any) -> bytes:
        data = content(value)
        return b"".join((prefix, varint(len(data)), data))

    return write


def _text(prefix: bytes) -> Write:
    def write(value: Any) -> bytes:
        data = value.encode()
        return b"".join((prefix, varint(len(data)), data))

    return write


def _map(messages: Messages, number: int, kind: MapType) -> Write:
    prefix = tag(number, BYTES)
    write_key = _text(tag(1, BYTES))
    write_value = _field(messages, 2, kind.element)

    def write(values: Any) -> bytes:
        parts: list[bytes] = []
        for key in sorted(values):
            value = values[key]
            entry = write_key(key) if value is None else write_key(key) + write_value(value)
            parts += (prefix, varint(len(entry)), entry)
        return b"".join(parts)

    return write
