"""Requests and snapshots as bytes: nested tuples of numbers, strings, bytes and None, each with a tag.

None → N     7 → i <8 bytes>     "a" → s <length> a     b"v" → b <length> v     (…) → t <count> …
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, Final

from clusters.emulated.store.protocol import Compare, Delete, Get, Put
from clusters.emulated.store.requests import (
    AlarmRequest,
    CompactRequest,
    CreateRequest,
    DeleteRequest,
    LeaseGrantRequest,
    LeaseRevokeRequest,
    Request,
    TxnRequest,
    UpdateRequest,
)

_TAGGED_INT: Final = struct.Struct("<cq")
_TAGGED_LENGTH: Final = struct.Struct("<cI")
_INT: Final = struct.Struct("<q")
_LENGTH: Final = struct.Struct("<I")

# The position in these lists is what is stored: append only.
_REQUESTS: Final[tuple[Any, ...]] = (
    CreateRequest,
    UpdateRequest,
    DeleteRequest,
    TxnRequest,
    LeaseGrantRequest,
    LeaseRevokeRequest,
    CompactRequest,
    AlarmRequest,
)
_REQUEST_CODES: Final = {kind: code for code, kind in enumerate(_REQUESTS)}
_OPERATIONS: Final[tuple[Any, ...]] = (Put, Delete, Get)
_OPERATION_CODES: Final = {kind: code for code, kind in enumerate(_OPERATIONS)}


def encode(value: Any, into: list[bytes]) -> None:
    """Appends the encoding of a nested tuple to a list of chunks."""
    if value is None:
        into.append(b"N")
    elif isinstance(value, int):
        into.append(_TAGGED_INT.pack(b"i", value))
    elif isinstance(value, str):
        raw = value.encode()
        into.append(_TAGGED_LENGTH.pack(b"s", len(raw)))
        into.append(raw)
    elif isinstance(value, bytes):
        into.append(_TAGGED_LENGTH.pack(b"b", len(value)))
        into.append(value)
    else:
        into.append(_TAGGED_LENGTH.pack(b"t", len(value)))
        for item in value:
            encode(item, into)


def decode(data: bytes, offset: int) -> tuple[Any, int]:
    """The value at this offset and the offset after it; ValueError for bytes that are none."""
    tag = data[offset : offset + 1]
    offset += 1
    if tag == b"N":
        return None, offset
    if tag == b"i":
        return _INT.unpack_from(data, offset)[0], offset + 8
    if tag not in (b"s", b"b", b"t"):
        raise ValueError(f"unknown tag {tag!r} at byte {offset - 1}")
    length = _LENGTH.unpack_from(data, offset)[0]
    offset += 4
    if tag == b"t":
        items = []
        for _ in range(length):
            item, offset = decode(data, offset)
            items.append(item)
        return tuple(items), offset
    raw = data[offset : offset + length]
    if len(raw) < length:
        raise ValueError(f"{length} bytes were announced, {len(raw)} are there")
    return raw.decode() if tag == b"s" else raw, offset + length


def encode_requests(requests: Sequence[Request]) -> bytes:
    chunks: list[bytes] = []
    encode([_plain(request) for request in requests], chunks)
    return b"".join(chunks)


def decode_requests(data: bytes) -> list[Request]:
    items, _ = decode(data, 0)
    return [_request(item) for item in items]


def _plain(request: Request) -> tuple[Any, ...]:
    code = _REQUEST_CODES[type(request)]
    if isinstance(request, TxnRequest):
        return (
            code,
            request.compare,
            tuple((_OPERATION_CODES[type(op)], *op) for op in request.success),
            tuple((_OPERATION_CODES[type(op)], *op) for op in request.failure),
        )
    return (code, *request)


def _request(item: tuple[Any, ...]) -> Request:
    kind = _REQUESTS[item[0]]
    if kind is TxnRequest:
        return TxnRequest(
            tuple(Compare(*guard) for guard in item[1]),
            tuple(_OPERATIONS[op[0]](*op[1:]) for op in item[2]),
            tuple(_OPERATIONS[op[0]](*op[1:]) for op in item[3]),
        )
    request: Request = kind(*item[1:])
    return request
