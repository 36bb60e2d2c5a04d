"""Writes as data: what goes into the write-ahead log and is applied, in that order, to the state.

As in etcd the log holds requests, not their results: applying the same requests in the same order to the
same state always gives the same result, so a replay after a crash needs nothing else.
"""

from __future__ import annotations

from typing import NamedTuple

from clusters.emulated.store.errors import (
    CLIENT_SEND_BYTES_MAX,
    REQUEST_BYTES_MAX,
    MessageTooLarge,
    RequestTooLarge,
)
from clusters.emulated.store.protocol import Compare, Delete, Operation, Put


class CreateRequest(NamedTuple):
    key: str
    value: bytes
    lease: int


class UpdateRequest(NamedTuple):
    key: str
    value: bytes
    expected_mod_revision: int
    lease: int


class DeleteRequest(NamedTuple):
    key: str
    expected_mod_revision: int


class TxnRequest(NamedTuple):
    compare: tuple[Compare, ...]
    success: tuple[Operation, ...]
    failure: tuple[Operation, ...]


class LeaseGrantRequest(NamedTuple):
    lease_id: int
    ttl_s: int


class LeaseRevokeRequest(NamedTuple):
    lease_id: int


class CompactRequest(NamedTuple):
    revision: int


class AlarmRequest(NamedTuple):
    """Raises the alarm of this name, or with the empty name disarms all."""

    name: str


Request = (
    CreateRequest
    | UpdateRequest
    | DeleteRequest
    | TxnRequest
    | LeaseGrantRequest
    | LeaseRevokeRequest
    | CompactRequest
    | AlarmRequest
)


def takes_space(request: Request) -> bool:
    """Whether a full store refuses this request: whatever could put something, as in etcd."""
    if isinstance(request, TxnRequest):
        return any(isinstance(operation, Put) for operation in (*request.success, *request.failure))
    return isinstance(request, CreateRequest | UpdateRequest | LeaseGrantRequest)


def check_size(request: Request) -> None:
    """Refuses what the client would not send (2 MiB) or the server would not take (1.5 MiB)."""
    size_bytes = wire_size_bytes(request)
    if size_bytes > CLIENT_SEND_BYTES_MAX:
        raise MessageTooLarge(size_bytes)
    if size_bytes > REQUEST_BYTES_MAX:
        raise RequestTooLarge


def wire_size_bytes(request: Request) -> int:
    """The size of the protobuf TxnRequest that kube-apiserver would send for this write."""
    if isinstance(request, CreateRequest):
        compare = _field(_compare_size(request.key, 0))
        return compare + _field(_field(_put_size(request.key, request.value, request.lease)))
    if isinstance(request, UpdateRequest):
        # An update that fails wants to see the current value: its failure branch is a get.
        compare = _field(_compare_size(request.key, request.expected_mod_revision))
        success = _field(_field(_put_size(request.key, request.value, request.lease)))
        return compare + success + _field(_field(_field(len(request.key.encode()))))
    if isinstance(request, TxnRequest):
        size = sum(_field(_compare_size(c.key, c.operand)) for c in request.compare)
        for operation in (*request.success, *request.failure):
            if isinstance(operation, Put):
                size += _field(_field(_put_size(operation.key, operation.value, operation.lease)))
            elif isinstance(operation, Delete):
                size += _field(_field(_field(len(operation.key.encode()))))
        return size
    return 0


def _compare_size(key: str, operand: int | bytes) -> int:
    # target (result EQUAL is the zero value, not sent), key, operand
    value = _field(len(operand)) if isinstance(operand, bytes) else 1 + _varint(operand)
    return 2 + _field(len(key.encode())) + value


def _put_size(key: str, value: bytes, lease: int) -> int:
    return _field(len(key.encode())) + _field(len(value)) + (1 + _varint(lease) if lease else 0)


def _field(length: int) -> int:
    """A length-delimited field: one byte of tag, the length, the bytes."""
    return 1 + _varint(length) + length


def _varint(number: int) -> int:
    return max(1, (number.bit_length() + 6) // 7)
