"""What a store promises, whichever one it is: etcd v3's data model, one revision per writing transaction.

A worked example (an empty store is at revision 1):

    create /a        → revision 2      /a: create_revision 2, mod_revision 2, version 1
    update /a at 2   → revision 3      /a: create_revision 2, mod_revision 3, version 2
    update /a at 2   → CompareFailed   nothing happened, still revision 3
    delete /a at 3   → revision 4      range at revision 3 still shows it, until compact(4)
    create /a        → revision 5      /a: create_revision 5, mod_revision 5, version 1
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol, runtime_checkable

Kind = Literal["PUT", "DELETE"]
PUT: Final = "PUT"
DELETE: Final = "DELETE"


class KeyValue(NamedTuple):
    """One version of one key. Tuples, because a store makes hundreds of thousands of them a second."""

    key: str
    value: bytes
    create_revision: int
    mod_revision: int
    version: int
    lease: int = 0


class Event(NamedTuple):
    """A change of one key. For DELETE, `kv` has the key, the revision of the deletion and no value."""

    kind: Kind
    kv: KeyValue
    prev_kv: KeyValue | None


class WatchBatch(NamedTuple):
    """All changes of one revision that a watch sees. Without events it only tells how far the watch is."""

    revision: int
    events: tuple[Event, ...]


class RangeResult(NamedTuple):
    """`revision` is the store's current one; `count` counts every match, also those beyond the limit."""

    kvs: tuple[KeyValue, ...]
    revision: int
    more: bool
    count: int  # type: ignore[assignment]  # etcd's word, though tuples have a method of this name


Target = Literal["mod_revision", "create_revision", "version", "value"]
Relation = Literal["==", "!=", "<", ">"]


class Compare(NamedTuple):
    """A guard of a transaction: `Compare("/a", "mod_revision", "==", 0)` holds when /a does not exist."""

    key: str
    target: Target
    relation: Relation
    operand: int | bytes


class Put(NamedTuple):
    key: str
    value: bytes
    lease: int = 0


class Delete(NamedTuple):
    """Deletes one key, or every key in [key, range_end)."""

    key: str
    range_end: str | None = None


class Get(NamedTuple):
    """Reads one key, or every key in [key, range_end), inside a transaction."""

    key: str
    range_end: str | None = None


Operation = Put | Delete | Get


class OperationResult(NamedTuple):
    """`kvs` of a Get, `deleted` of a Delete; a Put answers with neither."""

    kvs: tuple[KeyValue, ...] = ()
    deleted: int = 0


class TxnResult(NamedTuple):
    succeeded: bool
    revision: int
    responses: tuple[OperationResult, ...]


@dataclass(frozen=True)
class LeaseStatus:
    lease_id: int
    granted_ttl_s: int
    remaining_ttl_s: float
    keys: tuple[str, ...]


@dataclass(frozen=True)
class MemberStatus:
    member_id: int
    name: str
    started: bool
    is_leader: bool


@dataclass(frozen=True)
class Status:
    """`db_size_bytes` shrinks only by defragmentation; `db_size_in_use_bytes` also by compaction."""

    version: str
    revision: int
    compact_revision: int
    db_size_bytes: int
    db_size_in_use_bytes: int
    leader: int
    members: tuple[MemberStatus, ...]
    alarms: tuple[str, ...]


class Watch(Protocol):
    """An open watch: iterate it. Ends with `Compacted` when its next revision is gone, or after `cancel()`."""

    def __aiter__(self) -> AsyncIterator[WatchBatch]: ...

    async def __anext__(self) -> WatchBatch: ...

    def cancel(self) -> None: ...


class Subscription(Protocol):
    """A synchronous follower of a store."""

    def progress(self) -> int:
        """Every change up to this revision has been handed over."""
        ...

    def cancel(self) -> None: ...


class Store(Protocol):
    """A key-value store with etcd v3's semantics; the errors are those of `store.errors`."""

    async def get(self, key: str, *, serializable: bool = False) -> KeyValue | None: ...

    async def current_revision(self) -> int:
        """The newest revision, read linearizably: what a consistent read must wait for."""
        ...

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
        """The keys in [key, range_end), or all that begin with `key`, sorted, as they were at `revision`."""
        ...

    async def txn(
        self,
        compare: tuple[Compare, ...],
        success: tuple[Operation, ...],
        failure: tuple[Operation, ...] = (),
    ) -> TxnResult: ...

    async def create(self, key: str, value: bytes, lease: int = 0) -> int:
        """Writes a key that must not exist and returns its revision, or raises KeyExists."""
        ...

    async def update(self, key: str, value: bytes, expected_mod_revision: int, lease: int = 0) -> int:
        """Writes a key that must be at this revision (0: must not exist), or raises CompareFailed."""
        ...

    async def delete(self, key: str, expected_mod_revision: int) -> int: ...

    async def lease_grant(self, ttl_s: int) -> int: ...

    async def lease_keepalive(self, lease_id: int) -> int: ...

    async def lease_revoke(self, lease_id: int) -> None: ...

    async def lease_status(self, lease_id: int) -> LeaseStatus: ...

    async def compact(self, revision: int) -> None: ...

    def watch(self, key: str, *, prefix: bool = False, start_revision: int = 0, progress_notify: bool = False) -> Watch:
        """Follows a key or prefix from `start_revision` on (0: from the next change)."""
        ...

    async def status(self) -> Status: ...

    async def disarm_alarms(self) -> None: ...

    async def defragment(self) -> None: ...

    async def close(self) -> None: ...


@runtime_checkable
class SubscribableStore(Protocol):
    """A store in this process: it hands its changes over in the call that commits them."""

    def subscribe(self, prefix: str, start_revision: int, callback: Callable[[WatchBatch], None]) -> Subscription:
        """Calls back, in commit order, for each revision from `start_revision` on that touches the prefix."""
        ...


def prefix_end(prefix: str) -> str:
    """The first key after all keys that begin with this prefix; empty for a prefix that has no end.

    `/registry/pods/` ends at `/registry/pods0`, because `0` follows `/`.
    """
    for position in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[position])
        if code < 0x10FFFF:
            # The surrogates are no characters: they cannot be encoded for a real etcd.
            following = 0xE000 if 0xD7FF <= code < 0xE000 else code + 1
            return prefix[:position] + chr(following)
    return ""
