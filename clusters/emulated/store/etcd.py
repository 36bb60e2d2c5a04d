"""The store protocol on a real etcd v3, over its JSON gateway."""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator
from typing import Any, Final, Self

from clusters.emulated.clock import Clock
from clusters.emulated.store.errors import (
    Compacted,
    CompareFailed,
    DuplicateKey,
    FutureRevision,
    KeyExists,
    LeaderChanged,
    LeaseNotFound,
    NoLeader,
    NoSpace,
    RequestTimedOut,
    RequestTooLarge,
    StoreError,
    Unavailable,
)
from clusters.emulated.store.etcd_http import Gateway, GatewayRefused
from clusters.emulated.store.protocol import (
    DELETE,
    PUT,
    Compare,
    Delete,
    Event,
    Get,
    KeyValue,
    LeaseStatus,
    MemberStatus,
    Operation,
    OperationResult,
    Put,
    RangeResult,
    Status,
    TxnResult,
    WatchBatch,
    prefix_end,
)
from clusters.emulated.store.requests import CreateRequest, TxnRequest, UpdateRequest, check_size

_RELATIONS: Final = {"==": "EQUAL", "!=": "NOT_EQUAL", "<": "LESS", ">": "GREATER"}
_TARGETS: Final = {"mod_revision": "MOD", "create_revision": "CREATE", "version": "VERSION", "value": "VALUE"}
_GRPC_UNAVAILABLE: Final = 14
Json = dict[str, Any]


class EtcdStore:
    """A `Store` whose state is in an etcd that someone else runs (see `EtcdProcess`)."""

    def __init__(self, host: str, port: int, clock: Clock) -> None:
        self._gateway = Gateway(host, port, clock)

    async def close(self) -> None:
        await self._gateway.close()

    # -- reads -------------------------------------------------------------------------------------------

    async def get(self, key: str, *, serializable: bool = False) -> KeyValue | None:
        found = (await self.range(key, serializable=serializable)).kvs
        return found[0] if found else None

    async def current_revision(self) -> int:
        return (await self.range("/", count_only=True)).revision

    async def range(
        self,
        key: str,
        *,
        prefix: bool = False,
        range_end: str | None = None,
        revision: int = 0,
        limit: int = 0,
        keys_only: bool = False,
        count_only: bool = False,
        serializable: bool = False,
    ) -> RangeResult:
        end = prefix_end(key) if prefix and range_end is None else range_end
        body: Json = {**_span(key, end), "revision": revision, "limit": limit}
        body |= {"keys_only": keys_only, "count_only": count_only, "serializable": serializable}
        answer = await self._call("/v3/kv/range", body, repeatable=True)
        return RangeResult(
            tuple([_key_value(kv) for kv in answer.get("kvs", ())]),
            _revision(answer),
            bool(answer.get("more", False)),
            int(answer.get("count", 0)),
        )

    # -- writes ------------------------------------------------------------------------------------------

    async def create(self, key: str, value: bytes, lease: int = 0) -> int:
        check_size(CreateRequest(key, value, lease))
        result = await self._guarded(key, 0, Put(key, value, lease))
        if not result.succeeded:
            raise KeyExists(key, result.responses[0].kvs[0])
        return result.revision

    async def update(self, key: str, value: bytes, expected_mod_revision: int, lease: int = 0) -> int:
        check_size(UpdateRequest(key, value, expected_mod_revision, lease))
        return self._checked(key, await self._guarded(key, expected_mod_revision, Put(key, value, lease)))

    async def delete(self, key: str, expected_mod_revision: int) -> int:
        if expected_mod_revision == 0:
            raise CompareFailed(key, await self.get(key))  # There is nothing to delete at no revision.
        return self._checked(key, await self._guarded(key, expected_mod_revision, Delete(key)))

    async def _guarded(self, key: str, mod_revision: int, operation: Operation) -> TxnResult:
        guard = Compare(key, "mod_revision", "==", mod_revision)
        return await self._txn(TxnRequest((guard,), (operation,), (Get(key),)))

    @staticmethod
    def _checked(key: str, result: TxnResult) -> int:
        if not result.succeeded:
            current = result.responses[0].kvs
            raise CompareFailed(key, current[0] if current else None)
        return result.revision

    async def txn(
        self,
        compare: tuple[Compare, ...],
        success: tuple[Operation, ...],
        failure: tuple[Operation, ...] = (),
    ) -> TxnResult:
        request = TxnRequest(compare, success, failure)
        check_size(request)
        return await self._txn(request)

    async def _txn(self, request: TxnRequest) -> TxnResult:
        body = {
            "compare": [_compare(guard) for guard in request.compare],
            "success": [_operation(operation) for operation in request.success],
            "failure": [_operation(operation) for operation in request.failure],
        }
        answer = await self._call("/v3/kv/txn", body)
        responses = tuple([_response(response) for response in answer.get("responses", ())])
        return TxnResult(bool(answer.get("succeeded", False)), _revision(answer), responses)

    async def compact(self, revision: int) -> None:
        await self._call("/v3/kv/compaction", {"revision": revision})

    # -- leases ------------------------------------------------------------------------------------------

    async def lease_grant(self, ttl_s: int) -> int:
        return int((await self._call("/v3/lease/grant", {"TTL": ttl_s}))["ID"])

    async def lease_keepalive(self, lease_id: int) -> int:
        answer = await self._call("/v3/lease/keepalive", {"ID": lease_id}, repeatable=True)
        ttl_s = int(answer.get("TTL", 0))
        if ttl_s <= 0:
            raise LeaseNotFound(lease_id)
        return ttl_s

    async def lease_revoke(self, lease_id: int) -> None:
        await self._call("/v3/lease/revoke", {"ID": lease_id})

    async def lease_status(self, lease_id: int) -> LeaseStatus:
        answer = await self._call("/v3/lease/timetolive", {"ID": lease_id, "keys": True}, repeatable=True)
        remaining_s = int(answer.get("TTL", 0))
        if remaining_s < 0:
            raise LeaseNotFound(lease_id)
        keys = tuple(sorted(b64decode(key).decode() for key in answer.get("keys", ())))
        return LeaseStatus(lease_id, int(answer.get("grantedTTL", 0)), remaining_s, keys)

    # -- following ---------------------------------------------------------------------------------------

    def watch(
        self, key: str, *, prefix: bool = False, start_revision: int = 0, progress_notify: bool = False
    ) -> EtcdWatch:
        body = {
            **_span(key, prefix_end(key) if prefix else None),
            "start_revision": start_revision,
            "progress_notify": progress_notify,
            "prev_kv": True,
        }
        return EtcdWatch(self._gateway, body)

    # -- maintenance -------------------------------------------------------------------------------------

    async def status(self) -> Status:
        status = await self._call("/v3/maintenance/status", {}, repeatable=True)
        listed = await self._call("/v3/cluster/member/list", {}, repeatable=True)
        alarms = await self._alarms()
        leader = int(status.get("leader", 0))
        members = tuple(
            MemberStatus(int(m["ID"]), m.get("name", ""), bool(m.get("name")), int(m["ID"]) == leader)
            for m in listed.get("members", ())
        )
        return Status(
            version=status.get("version", ""),
            revision=_revision(status),
            compact_revision=0,  # etcd does not tell
            db_size_bytes=int(status.get("dbSize", 0)),
            db_size_in_use_bytes=int(status.get("dbSizeInUse", 0)),
            leader=leader,
            members=members,
            alarms=tuple(alarm["alarm"] for alarm in alarms),
        )

    async def disarm_alarms(self) -> None:
        for alarm in await self._alarms():
            body = {"action": "DEACTIVATE", "memberID": alarm["memberID"], "alarm": alarm["alarm"]}
            await self._call("/v3/maintenance/alarm", body)

    async def _alarms(self) -> list[Json]:
        answer = await self._call("/v3/maintenance/alarm", {"action": "GET"}, repeatable=True)
        alarms: list[Json] = answer.get("alarms", [])
        return alarms

    async def defragment(self) -> None:
        await self._call("/v3/maintenance/defragment", {})

    async def _call(self, path: str, body: Json, *, repeatable: bool = False) -> Json:
        try:
            return await self._gateway.call(path, body, repeatable=repeatable)
        except GatewayRefused as refused:
            raise translate(refused) from None


class EtcdWatch:
    """A watch stream. The events of one revision are always in one batch, however etcd packed them."""

    def __init__(self, gateway: Gateway, create: Json) -> None:
        self._messages: AsyncGenerator[Json, None] = gateway.stream("/v3/watch", {"create_request": create})
        self._batches: list[WatchBatch] = []
        self._cancelled = False
        self._reading: asyncio.Task[Json] | None = None
        self._closing: asyncio.Task[None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchBatch:
        while not self._batches:
            if self._cancelled:
                raise StopAsyncIteration
            try:
                message = await self._message()
            except GatewayRefused as refused:
                raise translate(refused) from None
            except StopAsyncIteration:
                if self._cancelled:
                    raise
                raise Unavailable("the watch stream ended") from None
            if message.get("canceled"):
                raise self._cancel_reason(message)
            self._batches = self._pack(message)
        return self._batches.pop(0)

    async def _message(self) -> Json:
        async def read() -> Json:
            return await anext(self._messages)

        self._reading = asyncio.get_running_loop().create_task(read(), name="etcd watch")
        try:
            return await self._reading
        except asyncio.CancelledError:
            if self._cancelled:
                raise StopAsyncIteration from None
            raise
        finally:
            self._reading = None

    def cancel(self) -> None:
        """Ends the iteration, also one that waits right now, and closes the connection."""
        if self._cancelled:
            return
        self._cancelled = True
        self._batches.clear()
        if self._reading is not None:
            self._reading.cancel()
        else:
            self._closing = asyncio.get_running_loop().create_task(self._messages.aclose())

    @staticmethod
    def _pack(message: Json) -> list[WatchBatch]:
        if message.get("created"):
            return []
        by_revision: dict[int, list[Event]] = {}
        for raw in message.get("events", ()):
            event = _event(raw)
            by_revision.setdefault(event.kv.mod_revision, []).append(event)
        if not by_revision:
            return [WatchBatch(_revision(message), ())]
        return [WatchBatch(revision, tuple(events)) for revision, events in by_revision.items()]

    @staticmethod
    def _cancel_reason(message: Json) -> StoreError:
        compact_revision = int(message.get("compact_revision", 0))
        if compact_revision:
            return Compacted(compact_revision)
        reason = str(message.get("cancel_reason", ""))
        return NoLeader() if "no leader" in reason else Unavailable(reason or "the watch was cancelled")


def translate(refused: GatewayRefused) -> StoreError:
    """etcd's error text as the typed error; what has no type of its own stays readable."""
    text = refused.message
    if "required revision has been compacted" in text:
        return Compacted(0)
    known: tuple[tuple[str, type[StoreError]], ...] = (
        ("required revision is a future revision", FutureRevision),
        ("database space exceeded", NoSpace),
        ("request is too large", RequestTooLarge),
        ("request timed out", RequestTimedOut),
        ("leader changed", LeaderChanged),
        ("no leader", NoLeader),
        ("requested lease not found", LeaseNotFound),
        ("duplicate key given", DuplicateKey),
    )
    for part, error in known:
        if part in text:
            return error()
    return Unavailable(text) if refused.code == _GRPC_UNAVAILABLE else StoreError(text)


def _encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


def _span(key: str, end: str | None) -> Json:
    """etcd has no empty key, and writes an open end as a zero byte."""
    span = {"key": _encoded(key or "\0")}
    if end is not None:
        span["range_end"] = _encoded(end or "\0")
    return span


def _key_value(raw: Json) -> KeyValue:
    return KeyValue(
        b64decode(raw["key"]).decode(),
        b64decode(raw.get("value", "")),
        int(raw.get("create_revision", 0)),
        int(raw.get("mod_revision", 0)),
        int(raw.get("version", 0)),
        int(raw.get("lease", 0)),
    )


def _event(raw: Json) -> Event:
    previous = raw.get("prev_kv")
    return Event(
        DELETE if raw.get("type") == "DELETE" else PUT,
        _key_value(raw["kv"]),
        None if previous is None else _key_value(previous),
    )


def _compare(guard: Compare) -> Json:
    operand = guard.operand
    return {
        "key": _encoded(guard.key),
        "target": _TARGETS[guard.target],
        "result": _RELATIONS[guard.relation],
        guard.target: b64encode(operand).decode() if isinstance(operand, bytes) else operand,
    }


def _operation(operation: Operation) -> Json:
    if isinstance(operation, Put):
        body = {"key": _encoded(operation.key), "value": b64encode(operation.value).decode()}
        return {"request_put": {**body, "lease": operation.lease}}
    name = "request_range" if isinstance(operation, Get) else "request_delete_range"
    return {name: _span(operation.key, operation.range_end)}


def _response(raw: Json) -> OperationResult:
    read = raw.get("response_range")
    if read is not None:
        return OperationResult(tuple([_key_value(kv) for kv in read.get("kvs", ())]))
    deleted = raw.get("response_delete_range", {})
    return OperationResult(deleted=int(deleted.get("deleted", 0)))


def _revision(answer: Json) -> int:
    return int(answer.get("header", {}).get("revision", 0))
