"""The built-in store: etcd's semantics in this process, in memory or with a data directory.

Without a data directory and with no lever pulled a request is a plain function call that never suspends.
Otherwise writes go through the rounds of `pipeline.py`, and every request through the levers' gates.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

from clusters.emulated.clock import Clock
from clusters.emulated.store.condition import FSYNCS_PER_COMMIT, Condition
from clusters.emulated.store.data_dir import LOG_BYTES_MAX, DataDir
from clusters.emulated.store.embedded_watch import EmbeddedWatch
from clusters.emulated.store.errors import (
    LeaderChanged,
    LeaseNotFound,
    NoSpace,
    RequestTimedOut,
    StoreClosed,
    Unavailable,
)
from clusters.emulated.store.leases import LeaseTimers
from clusters.emulated.store.levers import Lever
from clusters.emulated.store.members import REQUEST_TIMEOUT_S, Members
from clusters.emulated.store.mvcc import Mvcc
from clusters.emulated.store.pipeline import Result
from clusters.emulated.store.protocol import (
    Compare,
    KeyValue,
    LeaseStatus,
    Operation,
    RangeResult,
    Status,
    TxnResult,
    WatchBatch,
    prefix_end,
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
    check_size,
    takes_space,
)
from clusters.emulated.store.subscriptions import StoreSubscription, Subscriptions, narrow
from clusters.emulated.store.waiting import within

VERSION: Final = "3.6.8"  # the etcd whose behaviour this follows
LARGE_VALUE_BYTES: Final = 1_500_000  # smaller ones cannot exceed the request limit
NOSPACE: Final = "NOSPACE"


class EmbeddedStore:
    """A `Store` and `SubscribableStore`. With `data_dir`, every acknowledged write survives a kill -9."""

    def __init__(
        self,
        clock: Clock,
        *,
        data_dir: Path | None = None,
        log_bytes_max: int = LOG_BYTES_MAX,
        members: int = 1,
        quota_bytes: int = 0,
    ) -> None:
        self._clock = clock
        self._subscriptions = Subscriptions(lambda: self._mvcc.revision - self._subscriptions.publishing)
        self._mvcc = Mvcc(self._subscriptions.publish)
        self._data_dir = None
        if data_dir is not None:
            self._data_dir = DataDir.open(data_dir, self._mvcc, log_bytes_max=log_bytes_max)
        self._wire(Members(members), quota_bytes)

    def _wire(self, members: Members, quota_bytes: int) -> None:
        """Sets up everything around the state, which is there already."""
        self._closed = False
        self._expiries: set[asyncio.Task[None]] = set()
        wal = None if self._data_dir is None else self._data_dir.wal
        self._condition = Condition(self._clock, self._mvcc, members, self._apply, wal, quota_bytes, self._reconsider)
        self._members = members
        self._connection = self._condition.connection
        self._pipeline = self._condition.pipeline
        self._leases = LeaseTimers(self._clock, self._expire)
        self._reconsider()

    def fork(self, clock: Clock | None = None) -> EmbeddedStore:
        """An isolated in-memory copy at the same revision, without this one's watches and levers."""
        other = EmbeddedStore.__new__(EmbeddedStore)
        other._clock = clock or self._clock
        other._subscriptions = Subscriptions(lambda: other._mvcc.revision - other._subscriptions.publishing)
        other._mvcc = self._mvcc.fork(other._subscriptions.publish)
        other._data_dir = None
        other._wire(self._members.fork(), self._condition.quota_bytes)
        return other

    def _reconsider(self) -> None:
        """Decides whether requests may take the short way. Called whenever a reason against it changes."""
        self._direct = (
            not self._closed
            and self._data_dir is None
            and self._condition.healthy
            and not self._leases.unarmed(self._mvcc.leases)
        )

    @property
    def revision(self) -> int:
        """The newest revision in memory, whatever the levers say: for tests and for status pages."""
        return self._mvcc.revision

    # -- reads -------------------------------------------------------------------------------------------

    async def get(self, key: str, *, serializable: bool = False) -> KeyValue | None:
        if not self._direct:
            await self._readable(serializable)
        return self._mvcc.current.get(key)

    async def current_revision(self) -> int:
        if not self._direct:
            await self._readable(serializable=False)
        return self._mvcc.revision

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
        if not self._direct:
            await self._readable(serializable)
        end = prefix_end(key) if prefix and range_end is None else range_end
        return self._mvcc.range(key, end, revision, limit, keys_only, count_only)

    async def _readable(self, serializable: bool) -> None:
        """The slow way to a read: as long as the store's condition makes it wait."""
        self._check_open()
        await self._connection.usable(write=False)
        if not serializable:
            await self._leader()
            if self._pipeline.stalls:
                await self._pipeline.submit(None)
        await self._connection.usable(write=False)
        self._check_open()
        self._reconsider()

    # -- writes ------------------------------------------------------------------------------------------

    async def create(self, key: str, value: bytes, lease: int = 0) -> int:
        if self._direct and len(value) < LARGE_VALUE_BYTES:
            return self._mvcc.create(key, value, lease)
        return await self._write_revision(CreateRequest(key, value, lease))

    async def update(self, key: str, value: bytes, expected_mod_revision: int, lease: int = 0) -> int:
        if self._direct and len(value) < LARGE_VALUE_BYTES:
            return self._mvcc.update(key, value, expected_mod_revision, lease)
        return await self._write_revision(UpdateRequest(key, value, expected_mod_revision, lease))

    async def delete(self, key: str, expected_mod_revision: int) -> int:
        if self._direct:
            return self._mvcc.delete(key, expected_mod_revision)
        return await self._write_revision(DeleteRequest(key, expected_mod_revision))

    async def txn(
        self,
        compare: tuple[Compare, ...],
        success: tuple[Operation, ...],
        failure: tuple[Operation, ...] = (),
    ) -> TxnResult:
        result = await self._write(TxnRequest(compare, success, failure))
        assert isinstance(result, TxnResult), "a transaction answers with its result"
        return result

    async def compact(self, revision: int) -> None:
        await self._write(CompactRequest(revision))

    async def _write_revision(self, request: Request) -> int:
        result = await self._write(request)
        assert isinstance(result, int), "a simple write answers with its revision"
        return result

    async def _write(self, request: Request) -> Result:
        check_size(request)
        if self._direct:
            return self._apply(request)
        self._check_open()
        await self._connection.usable(write=True)
        await self._check_space(request)
        result = await self._commit(request)
        await self._connection.usable(write=True)
        self._reconsider()
        return result

    async def _commit(self, request: Request) -> Result:
        await self._leader()
        if self._data_dir is None and not self._pipeline.stalls and self._pipeline.idle:
            return self._apply(request)
        try:
            result = await within(self._clock, self._pipeline.submit(request), REQUEST_TIMEOUT_S)
        except TimeoutError:
            raise RequestTimedOut from None
        return result

    def _apply(self, request: Request) -> Result:
        try:
            result = self._mvcc.apply(request)
        finally:
            if self._data_dir is not None:
                self._data_dir.applied(self._mvcc)  # Refused or not, it is in the log.
        if isinstance(request, LeaseGrantRequest):
            self._leases.arm(request.lease_id, request.ttl_s)
        elif isinstance(request, LeaseRevokeRequest):
            self._leases.forget(request.lease_id)
        elif isinstance(request, AlarmRequest):
            self._reconsider()
        return result

    async def _leader(self) -> None:
        """Waits for a leader as long as etcd lets a request wait."""
        try:
            await self._members.serving.wait(self._clock, REQUEST_TIMEOUT_S)
        except TimeoutError:
            raise RequestTimedOut from None

    async def _check_space(self, request: Request) -> None:
        if not takes_space(request):
            return
        if self._condition.quota_bytes and self._mvcc.db_size_bytes >= self._condition.quota_bytes:
            for lever in self._condition.quota_levers:
                lever.fired += 1
            if NOSPACE not in self._mvcc.alarms:
                await self._commit(AlarmRequest(NOSPACE))
        if NOSPACE in self._mvcc.alarms:
            raise NoSpace

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed
        for lease in self._leases.unarmed(self._mvcc.leases):
            self._leases.arm(lease, self._mvcc.leases[lease].ttl_s)

    # -- leases ------------------------------------------------------------------------------------------

    async def lease_grant(self, ttl_s: int) -> int:
        lease_id = self._leases.next_id(self._mvcc.leases)
        await self._write(LeaseGrantRequest(lease_id, self._leases.allowed(ttl_s)))
        return lease_id

    async def lease_keepalive(self, lease_id: int) -> int:
        """Begins the lease's time anew and returns it in seconds."""
        if not self._direct:
            await self._readable(serializable=False)
        lease = self._mvcc.leases.get(lease_id)
        if lease is None:
            raise LeaseNotFound(lease_id)
        self._leases.arm(lease_id, lease.ttl_s)
        return lease.ttl_s

    async def lease_revoke(self, lease_id: int) -> None:
        await self._write(LeaseRevokeRequest(lease_id))

    async def lease_status(self, lease_id: int) -> LeaseStatus:
        if not self._direct:
            await self._readable(serializable=False)
        lease = self._mvcc.leases.get(lease_id)
        if lease is None:
            raise LeaseNotFound(lease_id)
        remaining_s = self._leases.remaining_s(lease_id)
        return LeaseStatus(lease_id, lease.ttl_s, remaining_s, tuple(sorted(lease.keys)))

    def _expire(self, lease_id: int) -> None:
        if self._closed:
            return
        if self._direct:
            self._apply(LeaseRevokeRequest(lease_id))
            return
        task = asyncio.get_running_loop().create_task(self._expire_slowly(lease_id), name="lease expiry")
        self._expiries.add(task)
        task.add_done_callback(self._expiries.discard)

    async def _expire_slowly(self, lease_id: int) -> None:
        """The leader revokes an expired lease as soon as it can commit again."""
        while not self._closed and lease_id in self._mvcc.leases:
            try:
                await self._connection.usable(write=False)
                await self._commit(LeaseRevokeRequest(lease_id))
            except (RequestTimedOut, LeaderChanged, Unavailable):
                continue
            except (LeaseNotFound, StoreClosed):
                return

    # -- following ---------------------------------------------------------------------------------------

    def watch(
        self, key: str, *, prefix: bool = False, start_revision: int = 0, progress_notify: bool = False
    ) -> EmbeddedWatch:
        return EmbeddedWatch(self._mvcc, self._subscriptions, key, prefix=prefix, start_revision=start_revision)

    def subscribe(self, prefix: str, start_revision: int, callback: Callable[[WatchBatch], None]) -> StoreSubscription:
        """Follows synchronously; raises `Compacted` if the history from `start_revision` on is gone."""
        subscription = StoreSubscription(self._subscriptions, prefix, callback)
        if start_revision:
            for batch in self._mvcc.batches_from(start_revision):
                narrowed = narrow(batch, prefix)
                if narrowed is not None and batch.revision >= start_revision:
                    callback(narrowed)
        self._subscriptions.add(subscription)
        return subscription

    # -- maintenance -------------------------------------------------------------------------------------

    async def status(self) -> Status:
        await self._connection.usable(write=False)
        mvcc = self._mvcc
        leader = self._members.leader
        return Status(
            version=VERSION,
            revision=mvcc.revision,
            compact_revision=mvcc.compact_revision,
            db_size_bytes=mvcc.db_size_bytes,
            db_size_in_use_bytes=mvcc.in_use_bytes,
            leader=0 if leader is None else leader + 1,
            members=self._members.status(),
            alarms=mvcc.alarms,
        )

    async def disarm_alarms(self) -> None:
        await self._write(AlarmRequest(""))
        self._reconsider()

    async def defragment(self) -> None:
        if not self._direct:
            await self._readable(serializable=True)
        self._mvcc.allocated_bytes = 0

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._reconsider()
        self._leases.close()
        await self._pipeline.close()
        for task in tuple(self._expiries):
            task.cancel()
        if self._data_dir is not None:
            self._data_dir.close()

    # -- levers (what each does is told in `condition.py`) -----------------------------------------------

    def stall_fsync(self, delay_s: float, *, fsyncs_per_commit: int = FSYNCS_PER_COMMIT) -> Lever:
        return self._condition.stall_fsync(delay_s, fsyncs_per_commit=fsyncs_per_commit)

    def freeze(self) -> Lever:
        return self._condition.freeze()

    def down(self) -> Lever:
        return self._condition.down()

    def quota(self, quota_bytes: int) -> Lever:
        return self._condition.quota(quota_bytes)

    def members(self, count: int) -> Lever:
        return self._condition.member_count(count)

    def stop_member(self, member: int) -> Lever:
        return self._condition.stop_member(member)

    def change_leader(self) -> int:
        return self._condition.change_leader()
