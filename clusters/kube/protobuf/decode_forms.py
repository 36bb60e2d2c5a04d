"""Reading types that have a text form in JSON and a message of their own in protobuf: times, quantities, raw JSON.

| type | message |
|---|---|
| Time, MicroTime | `{int64 seconds = 1; int32 nanos = 2}`, nothing at all for the zero time |
| Quantity | `{string = 1}` |
| IntOrString | `{int64 type = 1; int32 intVal = 2; string strVal = 3}` |
| RawExtension, JSON, FieldsV1 | `{bytes raw = 1}` with JSON text |
| ExtraValue, Verbs | `{repeated string items = 1}` |
| JSONSchemaPropsOr… | the schema in one field, what it may be instead in the other |
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from clusters.kube.protobuf.wire import BYTES, VARINT, ProtobufError, check_tag, read_length, read_varint, signed, skip
from clusters.kube.quantity import QuantityError, canonical

ReadBytes = Callable[[bytes, int, int], Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DOUBLE = struct.Struct("<d")


def double(data: bytes, position: int) -> int | float:
    """A float64; whole ones as integers, because that is how Go's JSON writes them."""
    value: float = _DOUBLE.unpack_from(data, position)[0]
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def _fields(data: bytes, position: int, end: int, message: str, names: tuple[tuple[str, int], ...]) -> dict[int, Any]:
    """The last value of each field of a small message: numbers, or (start, end) of delimited values."""
    found: dict[int, Any] = {}
    while position < end:
        key, position = read_varint(data, position, end)
        number, wire_type = signed(key >> 3, 32), key & 7
        check_tag(number, wire_type, message)
        if number > len(names):
            position = skip(data, position, end, wire_type)
            continue
        name, expected = names[number - 1]
        if wire_type != expected:
            raise ProtobufError(f"proto: wrong wireType = {wire_type} for field {name}")
        if expected == VARINT:
            found[number], position = read_varint(data, position, end)
        else:
            start, position = read_length(data, position, end)
            found[number] = (start, position)
    return found


def read_items(data: bytes, position: int, end: int) -> list[str]:
    items = []
    while position < end:
        key, position = read_varint(data, position, end)
        if key != 0x0A:
            check_tag(signed(key >> 3, 32), key & 7, "ExtraValue")
            position = skip(data, position, end, key & 7)
            continue
        start, position = read_length(data, position, end)
        items.append(data[start:position].decode("utf-8", "replace"))
    return items


def _moment(data: bytes, start: int, end: int) -> datetime | None:
    if start == end:
        return None
    found = _fields(data, start, end, "Timestamp", (("Seconds", VARINT), ("Nanos", VARINT)))
    nanos = signed(found.get(2, 0), 32)
    try:
        return _EPOCH + timedelta(seconds=signed(found.get(1, 0), 64), microseconds=int(nanos / 1000))
    except OverflowError:
        raise ProtobufError("Time.MarshalJSON: year outside of range [0,9999]") from None


def _read_time(data: bytes, start: int, end: int) -> str | None:
    moment = _moment(data, start, end)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _read_micro_time(data: bytes, start: int, end: int) -> str | None:
    moment = _moment(data, start, end)
    return None if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _read_quantity(data: bytes, start: int, end: int) -> str:
    place = _fields(data, start, end, "Quantity", (("String_", BYTES),)).get(1)
    if place is None:
        return "0"
    try:
        return canonical(data[place[0] : place[1]].decode("utf-8", "replace"))
    except QuantityError as error:
        raise ProtobufError(str(error)) from None


def _read_int_or_string(data: bytes, start: int, end: int) -> int | str:
    found = _fields(data, start, end, "IntOrString", (("Type", VARINT), ("IntVal", VARINT), ("StrVal", BYTES)))
    if found.get(1, 0) == 0:
        return signed(found.get(2, 0), 32)
    place = found.get(3, (0, 0))
    return data[place[0] : place[1]].decode("utf-8", "replace")


def _read_json(data: bytes, start: int, end: int) -> Any:
    place = _fields(data, start, end, "RawExtension", (("Raw", BYTES),)).get(1)
    if place is None or place[0] == place[1]:
        return None
    try:
        return orjson.loads(data[place[0] : place[1]])
    except orjson.JSONDecodeError as error:
        raise ProtobufError(f"json: {error}") from None


def _read_bytes(data: bytes, start: int, end: int) -> str:
    return base64.b64encode(data[start:end]).decode("ascii")


READERS: dict[str, ReadBytes] = {
    "v1.Time": _read_time,
    "v1.MicroTime": _read_micro_time,
    "resource.Quantity": _read_quantity,
    "intstr.IntOrString": _read_int_or_string,
    "runtime.RawExtension": _read_json,
    "v1.JSON": _read_json,
    "v1.FieldsV1": _read_json,
    "bytes": _read_bytes,
}


def _or_array(read_schema: ReadBytes) -> ReadBytes:
    def read(data: bytes, position: int, end: int) -> Any:
        schemas: list[Any] | None = None
        schema = None
        for number, start, stop in _delimited_fields(data, position, end, "JSONSchemaPropsOrArray"):
            if number == 1:
                schema = read_schema(data, start, stop)
            elif number == 2:
                schemas = [*(schemas or ()), read_schema(data, start, stop)]
        return schemas if schemas else schema

    return read


def _or_string_array(read_schema: ReadBytes) -> ReadBytes:
    def read(data: bytes, position: int, end: int) -> Any:
        names: list[str] = []
        schema = None
        for number, start, stop in _delimited_fields(data, position, end, "JSONSchemaPropsOrStringArray"):
            if number == 1:
                schema = read_schema(data, start, stop)
            elif number == 2:
                names.append(data[start:stop].decode("utf-8", "replace"))
        return names or schema

    return read


def _or_bool(read_schema: ReadBytes) -> ReadBytes:
    def read(data: bytes, position: int, end: int) -> Any:
        found = _fields(data, position, end, "JSONSchemaPropsOrBool", (("Allows", VARINT), ("Schema", BYTES)))
        place = found.get(2)
        return bool(found.get(1)) if place is None else read_schema(data, *place)

    return read


def _delimited_fields(data: bytes, position: int, end: int, message: str) -> list[tuple[int, int, int]]:
    found = []
    while position < end:
        key, position = read_varint(data, position, end)
        check_tag(signed(key >> 3, 32), key & 7, message)
        if key & 7 != BYTES:
            position = skip(data, position, end, key & 7)
            continue
        start, position = read_length(data, position, end)
        found.append((key >> 3, start, position))
    return found


SCHEMA_PROPS_READERS: dict[str, Callable[[ReadBytes], ReadBytes]] = {
    "v1.JSONSchemaPropsOrArray": _or_array,
    "v1.JSONSchemaPropsOrBool": _or_bool,
    "v1.JSONSchemaPropsOrStringArray": _or_string_array,
}
