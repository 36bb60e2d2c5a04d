"""Protobuf messages to plain objects, the same ones that their JSON would give.

    >>> decode_message(messages, config_map, b"\\n\\x05\\n\\x01a2\\x00…")
    {'metadata': {'name': 'a'}}

Protobuf has a value for every field that is no pointer; zeros that Go's JSON leaves out are left out here too.
A decoder is compiled per struct when it is first needed, and nested ones when they are first met.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from clusters.kube.protobuf import decode_forms
from clusters.kube.protobuf.messages import SCHEMA_PROPS, FieldNumber, Message, Messages, is_wrapped
from clusters.kube.protobuf.wire import (
    BYTES,
    FIXED64,
    VARINT,
    ProtobufError,
    check_tag,
    read_length,
    read_varint,
    signed,
    skip,
)
from clusters.kube.schema import Field, ListType, MapType, Scalar, Struct, Type

#: Reads the value in data[start:end].
ReadBytes: TypeAlias = Callable[[bytes, int, int], Any]
#: Puts the fields found in data[start:end] into an object.
ReadInto: TypeAlias = Callable[[bytes, int, int, dict[str, Any]], None]
#: Puts one value, given as the decoder of its wire type hands it over, into an object.
Put: TypeAlias = Callable[[dict[str, Any], Any], None]


def decode_message(messages: Messages, struct: Struct, data: bytes) -> dict[str, Any]:
    """The object that `data` holds; raises ProtobufError."""
    obj: dict[str, Any] = {}
    try:
        _of_struct(messages, struct)(data, 0, len(data), obj)
    except RecursionError:
        raise ProtobufError("proto: message nests too deep") from None
    return obj


def _of_struct(messages: Messages, struct: Struct) -> ReadInto:
    compiled: ReadInto | None = messages.decoders.get(struct.name)
    if compiled is None:
        compiled = messages.decoders[struct.name] = _compile(messages, messages.message(struct))
    return compiled


def _compile(messages: Messages, message: Message) -> ReadInto:
    #: By tag: where a delimited value goes, where a number goes.
    delimited: dict[int, Callable[[bytes, int, int, dict[str, Any]], None]] = {}
    numbers: dict[int, Put] = {}
    known: dict[int, str] = {}
    for each in message.fields:
        known[each.number] = each.go_name
        _add(messages, each, delimited, numbers)

    def read(data: bytes, position: int, end: int, obj: dict[str, Any]) -> None:
        while position < end:
            tag = data[position]
            if tag < 0x80:
                position += 1
            else:
                tag, position = read_varint(data, position, end)
            take = delimited.get(tag)
            if take is not None:
                start = position + 1
                stop = data[position] if position < end else 0x80
                if stop < 0x80:
                    stop += start
                    if stop > end:
                        raise ProtobufError("unexpected EOF")
                else:
                    start, stop = read_length(data, position, end)
                take(data, start, stop, obj)
                position = stop
                continue
            put = numbers.get(tag)
            if put is None:
                position = _unknown(data, position, end, tag)
            elif tag & 7 == FIXED64:
                if position + 8 > end:
                    raise ProtobufError("unexpected EOF")
                put(obj, decode_forms.double(data, position))
                position += 8
            else:
                value, position = read_varint(data, position, end)
                put(obj, value)

    def _unknown(data: bytes, position: int, end: int, tag: int) -> int:
        number, wire_type = signed(tag >> 3, 32), tag & 7
        check_tag(number, wire_type, message.name)
        if number in known:
            raise ProtobufError(f"proto: wrong wireType = {wire_type} for field {known[number]}")
        return skip(data, position, end, wire_type)

    return read


def _add(messages: Messages, each: FieldNumber, delimited: dict[int, Any], numbers: dict[int, Put]) -> None:
    if each.inlined is not None:
        delimited[each.number << 3 | BYTES] = _compile(messages, each.inlined)
        return
    field = each.field
    assert field is not None
    kind, name = field.type, field.name
    if isinstance(kind, MapType):
        delimited[each.number << 3 | BYTES] = _map_entry(messages, name, kind, each.go_name)
    elif isinstance(kind, ListType) and not is_wrapped(kind):
        wire_type, read = _element(messages, kind.element)
        if wire_type == BYTES:
            delimited[each.number << 3 | BYTES] = _append(name, read)
        else:
            numbers[each.number << 3 | wire_type] = _append_number(name, read)
            delimited[each.number << 3 | BYTES] = _append_packed(name, read)
    else:
        wire_type, read = _element(messages, kind)
        if wire_type == BYTES:
            delimited[each.number << 3 | BYTES] = _set(name, read, field)
        else:
            numbers[each.number << 3 | wire_type] = _set_number(name, read, field)


def _element(messages: Messages, kind: Type) -> tuple[int, Any]:
    """(wire type, reader): of a delimited value `ReadBytes`, of a number a conversion of what was read."""
    if isinstance(kind, Struct):
        return BYTES, _nested(messages, kind)
    if isinstance(kind, ListType):
        return BYTES, decode_forms.read_items
    assert isinstance(kind, Scalar)
    if kind.kind == "string":
        return BYTES, _text
    if kind.kind in ("int32", "int64"):
        bits = 32 if kind.kind == "int32" else 64
        limit = 1 << (bits - 1)
        return VARINT, lambda value: value if value < limit else signed(value, bits)
    if kind.kind == "bool":
        return VARINT, bool
    if kind.kind == "float64":
        return FIXED64, lambda value: value
    schema_props = decode_forms.SCHEMA_PROPS_READERS.get(kind.kind)
    if schema_props is not None:
        return BYTES, schema_props(_nested(messages, messages.catalogue.struct(SCHEMA_PROPS)))
    return BYTES, decode_forms.READERS[kind.kind]


def _text(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode("utf-8", "replace")


def _nested(messages: Messages, struct: Struct) -> ReadBytes:
    """Compiled at the first value: a struct may contain itself."""
    read: ReadInto | None = None

    def read_struct(data: bytes, start: int, end: int) -> Any:
        nonlocal read
        if read is None:
            read = _of_struct(messages, struct)
        obj: dict[str, Any] = {}
        read(data, start, end, obj)
        return obj

    return read_struct


def _set(name: str, read: ReadBytes, field: Field) -> ReadInto:
    # Go's JSON leaves out empty optional strings; of a struct only `omitzero` makes it leave out anything.
    is_text = isinstance(field.type, Scalar) and field.type.kind in ("string", "bytes")
    drop_empty = not field.pointer and (
        (is_text and field.omit_empty) or (isinstance(field.type, Struct) and field.omit_zero)
    )

    def put(data: bytes, start: int, end: int, obj: dict[str, Any]) -> None:
        value = read(data, start, end)
        if value is not None and (value or not drop_empty):
            obj[name] = value
        elif name in obj:
            del obj[name]  # A later value replaces an earlier one, even by nothing.

    return put


def _set_number(name: str, convert: Callable[[Any], Any], field: Field) -> Put:
    keep_zero = field.pointer or not field.omit_empty

    def put(obj: dict[str, Any], value: Any) -> None:
        value = convert(value)
        if value or keep_zero:
            obj[name] = value
        elif name in obj:
            del obj[name]

    return put


def _append(name: str, read: ReadBytes) -> ReadInto:
    def put(data: bytes, start: int, end: int, obj: dict[str, Any]) -> None:
        items = obj.get(name)
        if items is None:
            items = obj[name] = []
        items.append(read(data, start, end))

    return put


def _append_number(name: str, convert: Callable[[Any], Any]) -> Put:
    def put(obj: dict[str, Any], value: Any) -> None:
        obj.setdefault(name, []).append(convert(value))

    return put


def _append_packed(name: str, convert: Callable[[Any], Any]) -> ReadInto:
    """Kubernetes never packs repeated numbers, but its readers take packed ones."""

    def put(data: bytes, position: int, end: int, obj: dict[str, Any]) -> None:
        items = obj.setdefault(name, [])
        while position < end:
            value, position = read_varint(data, position, end)
            items.append(convert(value))

    return put


def _map_entry(messages: Messages, name: str, kind: MapType, go_name: str) -> ReadInto:
    wire_type, read = _element(messages, kind.element)
    zero = _zero(kind.element)
    value_tag = 2 << 3 | wire_type

    def put(data: bytes, position: int, end: int, obj: dict[str, Any]) -> None:
        key, value = "", None
        while position < end:
            tag, position = read_varint(data, position, end)
            if tag == 0x0A:
                start, position = read_length(data, position, end)
                key = _text(data, start, position)
            elif tag == value_tag and wire_type == BYTES:
                start, position = read_length(data, position, end)
                value = read(data, start, position)
            elif tag == value_tag:
                number, position = read_varint(data, position, end)
                value = read(number)
            else:
                check_tag(signed(tag >> 3, 32), tag & 7, go_name)
                position = skip(data, position, end, tag & 7)
        values = obj.get(name)
        if values is None:
            values = obj[name] = {}
        values[key] = zero() if value is None else value

    return put


def _zero(kind: Type) -> Callable[[], Any]:
    """What an entry without a value has: Go's zero."""
    if isinstance(kind, (Struct, MapType)):
        return dict
    if isinstance(kind, ListType):
        return list
    return _SCALAR_ZEROS.get(kind.kind, str)


_SCALAR_ZEROS: dict[str, Callable[[], Any]] = {
    "resource.Quantity": lambda: "0",
    "int32": int,
    "int64": int,
    "bool": bool,
    "float64": float,
}
