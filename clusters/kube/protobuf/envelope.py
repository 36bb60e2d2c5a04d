"""The envelope of every protobuf body: four magic bytes and a `runtime.Unknown` that names the kind.

k8s\\0 { typeMeta = 1 { apiVersion = 1, kind = 2 }, raw = 2, contentEncoding = 3, contentType = 4 }
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from clusters.kube.protobuf.wire import (
    BYTES,
    ProtobufError,
    check_tag,
    delimited,
    read_length,
    read_varint,
    signed,
    skip,
    varint,
)

MAGIC = b"k8s\x00"
_TAIL = b"\x1a\x00\x22\x00"
_UNKNOWN_FIELDS = ("TypeMeta", "Raw", "ContentEncoding", "ContentType")
_TYPE_META_FIELDS = ("APIVersion", "Kind")


class Envelope(NamedTuple):
    api_version: str
    kind: str
    raw: bytes


def wrap(api_version: str, kind: str, raw: bytes) -> bytes:
    return b"".join((_head(api_version, kind), varint(len(raw)), raw, _TAIL))


@lru_cache(maxsize=512)
def _head(api_version: str, kind: str) -> bytes:
    type_meta = delimited(1, api_version.encode()) + delimited(2, kind.encode())
    return MAGIC + delimited(1, type_meta) + b"\x12"


def unwrap(data: bytes) -> Envelope:
    """What the envelope holds; raises ProtobufError in Go's words."""
    if not data:
        raise ProtobufError("empty data")
    if data[:4] != MAGIC:
        raise ProtobufError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    if len(data) == len(MAGIC):
        raise ProtobufError("empty body")
    found = _delimited(data, len(MAGIC), len(data), "Unknown", _UNKNOWN_FIELDS)
    type_meta = {}
    if 1 in found:
        type_meta = _delimited(data, *found[1], "TypeMeta", _TYPE_META_FIELDS)
    start, end = found.get(2, (0, 0))
    return Envelope(_text(data, type_meta.get(1)), _text(data, type_meta.get(2)), data[start:end])


def _text(data: bytes, place: tuple[int, int] | None) -> str:
    return "" if place is None else data[place[0] : place[1]].decode("utf-8", "replace")


def _delimited(
    data: bytes, position: int, end: int, message: str, names: tuple[str, ...]
) -> dict[int, tuple[int, int]]:
    """Where the value of each field is, in a message of strings, byte strings and messages."""
    found: dict[int, tuple[int, int]] = {}
    while position < end:
        key, position = read_varint(data, position, end)
        number, wire_type = signed(key >> 3, 32), key & 7
        check_tag(number, wire_type, message)
        if number > len(names):
            position = skip(data, position, end, wire_type)
            continue
        if wire_type != BYTES:
            raise ProtobufError(f"proto: wrong wireType = {wire_type} for field {names[number - 1]}")
        start, position = read_length(data, position, end)
        found[number] = (start, position)
    return found
