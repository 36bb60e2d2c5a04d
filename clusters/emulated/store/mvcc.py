"""The state of the store: current keys, the history since the last compaction, leases and alarms.

`Mvcc.apply(request)` is the only way to change it, is deterministic, and never waits. History is one list
with one `WatchBatch` per revision; an older state is the current one with the later batches undone:

    revision 2: PUT /a=1     3: PUT /a=2 (before: 1)     4: DELETE /a (before: 2)
    at 4: nothing     at 3: undo 4 → /a=2     at 2: undo 3 too, the first change wins → /a=1
    compact(3): batch 2 is dropped; a range at 2 raises Compacted, a range or watch at 3 still works
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from clusters.emulated.store.errors import (
    Compacted,
    CompareFailed,
    DuplicateKey,
    FutureRevision,
    KeyExists,
    LeaseNotFound,
)
from clusters.emulated.store.protocol import (
    DELETE,
    PUT,
    Compare,
    Delete,
    Event,
    Get,
    KeyValue,
    Operation,
    OperationResult,
    Put,
    RangeResult,
    TxnResult,
    WatchBatch,
)
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
from clusters.emulated.store.sorted_keys import SortedKeys

ENTRY_OVERHEAD_BYTES: Final = 96  # what a version costs in etcd's file besides its key and value, about


class Lease:
    """A lease and the keys that die with it."""

    __slots__ = ("keys", "lease_id", "ttl_s")

    def __init__(self, lease_id: int, ttl_s: int, keys: Iterable[str] = ()) -> None:
        self.lease_id = lease_id
        self.ttl_s = ttl_s
        self.keys = set(keys)


class Mvcc:
    """Keys, history, leases, alarms. `publish` is called with each batch, right after it is applied."""

    def __init__(self, publish: Callable[[WatchBatch], None]) -> None:
        self.publish = publish
        self.revision = 1
        self.compact_revision = 0
        self.current: dict[str, KeyValue] = {}
        self.keys = SortedKeys()
        self.log: list[WatchBatch] = []
        self.log_first = 2  # the revision of log[0]
        self.leases: dict[int, Lease] = {}
        self.alarms: tuple[str, ...] = ()
        self.in_use_bytes = 0
        self.allocated_bytes = 0  # the high-water mark up to the last compaction

    def fork(self, publish: Callable[[WatchBatch], None]) -> Mvcc:
        """An isolated copy that shares every stored version with this one."""
        other = Mvcc(publish)
        other.revision = self.revision
        other.compact_revision = self.compact_revision
        other.current = self.current.copy()
        other.keys = self.keys.copy()
        other.log = self.log.copy()
        other.log_first = self.log_first
        other.leases = {
            lease.lease_id: Lease(lease.lease_id, lease.ttl_s, lease.keys) for lease in self.leases.values()
        }
        other.alarms = self.alarms
        other.in_use_bytes = self.in_use_bytes
        other.allocated_bytes = self.allocated_bytes
        return other

    @property
    def db_size_bytes(self) -> int:
        return max(self.in_use_bytes, self.allocated_bytes)

    # -- writes ------------------------------------------------------------------------------------------

    def create(self, key: str, value: bytes, lease: int) -> int:
        current = self.current.get(key)
        if current is not None:
            raise KeyExists(key, current)
        if lease:
            self._attach(lease, key)
        revision = self.revision + 1
        kv = KeyValue(key, value, revision, revision, 1, lease)
        self.keys.add(key)
        self.current[key] = kv
        self._commit(WatchBatch(revision, (Event(PUT, kv, None),)), len(key) + len(value))
        return revision

    def update(self, key: str, value: bytes, expected_mod_revision: int, lease: int) -> int:
        before = self.current.get(key)
        if before is None:
            if expected_mod_revision == 0:
                return self.create(key, value, lease)
            raise CompareFailed(key, None)
        if before[3] != expected_mod_revision:
            raise CompareFailed(key, before)
        if lease or before[5]:
            self._move_lease(key, before[5], lease)
        revision = self.revision + 1
        kv = KeyValue(key, value, before[2], revision, before[4] + 1, lease)
        self.current[key] = kv
        # `_commit`, written out: this is the hottest line of the whole store.
        self.revision = revision
        self.in_use_bytes += len(key) + len(value) + ENTRY_OVERHEAD_BYTES
        batch = WatchBatch(revision, (Event(PUT, kv, before),))
        self.log.append(batch)
        self.publish(batch)
        return revision

    def delete(self, key: str, expected_mod_revision: int) -> int:
        before = self.current.get(key)
        if before is None or before.mod_revision != expected_mod_revision:
            raise CompareFailed(key, before)
        revision = self.revision + 1
        event = self._remove(before, revision)
        self._commit(WatchBatch(revision, (event,)), len(key))
        return revision

    def apply(self, request: Request) -> int | TxnResult:
        """Carries a request out and returns its revision or result; raises what the caller shall see."""
        if isinstance(request, UpdateRequest):
            return self.update(*request)
        if isinstance(request, CreateRequest):
            return self.create(*request)
        if isinstance(request, DeleteRequest):
            return self.delete(*request)
        if isinstance(request, TxnRequest):
            return self.txn(*request)
        if isinstance(request, CompactRequest):
            self.compact(request.revision)
        elif isinstance(request, LeaseGrantRequest):
            self.leases[request.lease_id] = Lease(request.lease_id, request.ttl_s)
        elif isinstance(request, LeaseRevokeRequest):
            self._revoke(request.lease_id)
        else:
            self._alarm(request)
        return self.revision

    def txn(
        self, compare: tuple[Compare, ...], success: tuple[Operation, ...], failure: tuple[Operation, ...]
    ) -> TxnResult:
        # etcd looks at both branches before it decides between them.
        check_duplicates(success)
        check_duplicates(failure)
        succeeded = all(self._holds(guard) for guard in compare)
        operations = success if succeeded else failure
        self._check_leases(operations)
        revision = self.revision + 1
        events: list[Event] = []
        responses: list[OperationResult] = []
        size = 0
        for operation in operations:
            if isinstance(operation, Put):
                events.append(self._put(operation, revision))
                size += len(operation.key) + len(operation.value) + ENTRY_OVERHEAD_BYTES
                responses.append(OperationResult())
            else:
                found = self._select(operation.key, operation.range_end)
                if isinstance(operation, Get):
                    responses.append(OperationResult(found))
                    continue
                events += [self._remove(kv, revision) for kv in found]
                size += sum(len(kv.key) + ENTRY_OVERHEAD_BYTES for kv in found)
                responses.append(OperationResult(deleted=len(found)))
        if events:
            self._commit(WatchBatch(revision, tuple(events)), size - ENTRY_OVERHEAD_BYTES)
        return TxnResult(succeeded, self.revision, tuple(responses))

    def compact(self, revision: int) -> None:
        """Forgets every state before this revision."""
        if revision <= self.compact_revision:
            raise Compacted(self.compact_revision)
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        self.allocated_bytes = self.db_size_bytes
        # A batch before or at `revision` superseded the values it replaced, and its tombstones are spent.
        # Batches below the old compact revision were counted when they were dropped, its own was not kept
        # for space but because a watch may still begin there.
        first_uncounted = max(self.compact_revision + 1, self.log_first)
        for batch in self.log[first_uncounted - self.log_first : revision + 1 - self.log_first]:
            for kind, kv, before in batch.events:
                if before is not None:
                    self.in_use_bytes -= len(before.key) + len(before.value) + ENTRY_OVERHEAD_BYTES
                if kind == DELETE:
                    self.in_use_bytes -= len(kv.key) + ENTRY_OVERHEAD_BYTES
        if revision > self.log_first:
            del self.log[: revision - self.log_first]
            self.log_first = revision
        self.compact_revision = revision

    # -- reads -------------------------------------------------------------------------------------------

    def range(
        self, key: str, end: str | None, revision: int, limit: int, keys_only: bool, count_only: bool
    ) -> RangeResult:
        """[key, end), or exactly `key` when end is None; end "" has no upper bound."""
        if revision > 0:
            self.check_readable(revision)
        if revision > 0 and revision != self.revision:
            found = self._select_at(key, end, revision)
        elif count_only and end is not None:
            return RangeResult((), self.revision, False, len(self.keys.between(key, end)))
        else:
            if limit and end is not None:
                names = self.keys.between(key, end)
                current = self.current
                page = tuple([current[name] for name in names[:limit]])
                if keys_only:
                    page = tuple([kv._replace(value=b"") for kv in page])
                return RangeResult(page, self.revision, len(names) > limit, len(names))
            found = self._select(key, end)
        count = len(found)
        if count_only:
            return RangeResult((), self.revision, False, count)
        if limit:
            found = found[:limit]
        if keys_only:
            found = tuple([kv._replace(value=b"") for kv in found])
        return RangeResult(found, self.revision, len(found) < count, count)

    def check_readable(self, revision: int) -> None:
        if revision < self.compact_revision:
            raise Compacted(self.compact_revision)
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)

    def batches_from(self, revision: int) -> list[WatchBatch]:
        """The history from this revision on, inclusive."""
        if revision < self.compact_revision:
            raise Compacted(self.compact_revision)
        return self.log[max(0, revision - self.log_first) :]

    def _select(self, key: str, end: str | None) -> tuple[KeyValue, ...]:
        current = self.current
        if end is None:
            kv = current.get(key)
            return () if kv is None else (kv,)
        return tuple([current[name] for name in self.keys.between(key, end)])

    def _select_at(self, key: str, end: str | None, revision: int) -> tuple[KeyValue, ...]:
        states: dict[str, KeyValue | None] = {kv.key: kv for kv in self._select(key, end)}
        undone: set[str] = set()
        for batch in self.log[max(0, revision + 1 - self.log_first) :]:
            for _, kv, before in batch.events:
                name = kv.key
                inside = name == key if end is None else name >= key and (not end or name < end)
                if inside and name not in undone:
                    undone.add(name)
                    states[name] = before
        return tuple(kv for _, kv in sorted(states.items()) if kv is not None)

    # -- parts of a write --------------------------------------------------------------------------------

    def _commit(self, batch: WatchBatch, size_bytes: int) -> None:
        self.revision = batch.revision
        self.in_use_bytes += size_bytes + ENTRY_OVERHEAD_BYTES
        self.log.append(batch)
        self.publish(batch)

    def _put(self, operation: Put, revision: int) -> Event:
        key, value, lease = operation
        before = self.current.get(key)
        if before is None:
            if lease:
                self._attach(lease, key)
            kv = KeyValue(key, value, revision, revision, 1, lease)
            self.keys.add(key)
        else:
            self._move_lease(key, before.lease, lease)
            kv = KeyValue(key, value, before.create_revision, revision, before.version + 1, lease)
        self.current[key] = kv
        return Event(PUT, kv, before)

    def _remove(self, before: KeyValue, revision: int) -> Event:
        key = before.key
        del self.current[key]
        self.keys.remove(key)
        if before.lease:
            self._detach(before.lease, key)
        return Event(DELETE, KeyValue(key, b"", 0, revision, 0, 0), before)

    def _check_leases(self, operations: tuple[Operation, ...]) -> None:
        """Refuses what would fail half-way, so that a transaction happens wholly or not at all."""
        for operation in operations:
            if isinstance(operation, Put) and operation.lease and operation.lease not in self.leases:
                raise LeaseNotFound(operation.lease)

    def _holds(self, guard: Compare) -> bool:
        kv = self.current.get(guard.key)
        actual: int | bytes
        if guard.target == "value":
            if kv is None:
                return False  # As in etcd: an absent key has no value to compare, whatever the relation.
            actual = kv.value
        else:
            actual = 0 if kv is None else getattr(kv, guard.target)
        operand = guard.operand
        if guard.relation == "==":
            return actual == operand
        if guard.relation == "!=":
            return actual != operand
        if isinstance(actual, bytes):
            assert isinstance(operand, bytes), "a value is compared with bytes"
            return actual < operand if guard.relation == "<" else actual > operand
        assert isinstance(operand, int), f"{guard.target} is compared with a number"
        return actual < operand if guard.relation == "<" else actual > operand

    # -- leases and alarms -------------------------------------------------------------------------------

    def _attach(self, lease_id: int, key: str) -> None:
        lease = self.leases.get(lease_id)
        if lease is None:
            raise LeaseNotFound(lease_id)
        lease.keys.add(key)

    def _detach(self, lease_id: int, key: str) -> None:
        lease = self.leases.get(lease_id)
        if lease is not None:
            lease.keys.discard(key)

    def _move_lease(self, key: str, old: int, new: int) -> None:
        if old == new:
            return
        if new:
            self._attach(new, key)
        if old:
            self._detach(old, key)

    def _revoke(self, lease_id: int) -> None:
        lease = self.leases.pop(lease_id, None)
        if lease is None:
            raise LeaseNotFound(lease_id)
        if not lease.keys:
            return
        revision = self.revision + 1
        removed = [self.current[key] for key in sorted(lease.keys)]
        events = tuple([self._remove(kv, revision) for kv in removed])
        size = sum(len(kv.key) + ENTRY_OVERHEAD_BYTES for kv in removed)
        self._commit(WatchBatch(revision, events), size - ENTRY_OVERHEAD_BYTES)

    def _alarm(self, request: AlarmRequest) -> None:
        if not request.name:
            self.alarms = ()
        elif request.name not in self.alarms:
            self.alarms = (*self.alarms, request.name)


def check_duplicates(operations: tuple[Operation, ...]) -> None:
    """One branch of a transaction may put a key only once, and not delete it too."""
    put: set[str] = set()
    for operation in operations:
        if isinstance(operation, Put):
            if operation.key in put:
                raise DuplicateKey
            put.add(operation.key)
    for operation in operations:
        if isinstance(operation, Delete):
            start, end = operation.key, operation.range_end
            if any(k == start if end is None else k >= start and (not end or k < end) for k in put):
                raise DuplicateKey
