"""Writing types that have a text form in JSON and a message of their own in protobuf; see `decode_forms`."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import orjson

from clusters.kube.protobuf.wire import delimited, varint

Write = Callable[[Any], bytes]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DOUBLE = struct.Struct("<d")


@lru_cache(maxsize=4096)
def write_time(text: str) -> bytes:
    moment = datetime.fromisoformat(text)
    return b"\x08" + varint((moment - _EPOCH) // timedelta(seconds=1)) + b"\x10\x00"


@lru_cache(maxsize=1024)
def write_micro_time(text: str) -> bytes:
    moment = datetime.fromisoformat(text)
    seconds, rest = divmod(moment - _EPOCH, timedelta(seconds=1))
    return b"\x08" + varint(seconds) + b"\x10" + varint(rest.microseconds * 1000)


@lru_cache(maxsize=1024)
def write_quantity(text: str) -> bytes:
    return delimited(1, str(text).encode())


def write_int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00" + delimited(3, value.encode())
    return b"\x08\x00\x10" + varint(value) + b"\x1a\x00"


def write_json(value: Any) -> bytes:
    return delimited(1, orjson.dumps(value))


def write_bytes(value: str) -> bytes:
    return base64.b64decode(value)


def write_items(values: list[str]) -> bytes:
    return b"".join([delimited(1, value.encode()) for value in values])


def write_double(value: float) -> bytes:
    return _DOUBLE.pack(value)


WRITERS: dict[str, Write] = {
    "v1.Time": write_time,
    "v1.MicroTime": write_micro_time,
    "resource.Quantity": write_quantity,
    "intstr.IntOrString": write_int_or_string,
    "runtime.RawExtension": write_json,
    "v1.JSON": write_json,
    "v1.FieldsV1": write_json,
    "bytes": write_bytes,
}


def write_or_array(write_schema: Write) -> Write:
    return lambda value: (
        b"".join([delimited(2, write_schema(each)) for each in value])
        if isinstance(value, list)
        else delimited(1, write_schema(value))
    )


def write_or_string_array(write_schema: Write) -> Write:
    return lambda value: (
        b"".join([delimited(2, each.encode()) for each in value])
        if isinstance(value, list)
        else delimited(1, write_schema(value))
    )


def write_or_bool(write_schema: Write) -> Write:
    return lambda value: (
        b"\x08\x01" + delimited(2, write_schema(value))
        if isinstance(value, dict)
        else b"\x08\x01"
        if value
        else b"\x08\x00"
    )


SCHEMA_PROPS_WRITERS: dict[str, Callable[[Write], Write]] = {
    "v1.JSONSchemaPropsOrArray": write_or_array,
    "v1.JSONSchemaPropsOrBool": write_or_bool,
    "v1.JSONSchemaPropsOrStringArray": write_or_string_array,
}
