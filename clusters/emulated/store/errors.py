"""The errors of a store: one class per reason that a caller handles differently, with etcd's own texts.

`str(error)` is the text that a person sees at the end of the way (`etcdserver: request timed out`).
`committed` says what the caller may conclude about a write that ended in this error.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from clusters.emulated.store.protocol import KeyValue

Committed = Literal["no", "unknown"]

REQUEST_BYTES_MAX = 1_572_864  # etcd --max-request-bytes, 1.5 MiB
CLIENT_SEND_BYTES_MAX = 2_097_152  # the send limit of etcd's Go client, 2 MiB


class StoreError(Exception):
    """Any refusal or failure of the store. Catch a subclass; this one only at the edge."""

    grpc_code: ClassVar[str] = "Unknown"
    committed: ClassVar[Committed] = "no"


class CompareFailed(StoreError):
    """The key is not at the expected revision. Read `current` (None: it does not exist) and decide again."""

    grpc_code = "FailedPrecondition"

    def __init__(self, key: str, current: KeyValue | None) -> None:
        at = "it does not exist" if current is None else f"it is at revision {current.mod_revision}"
        super().__init__(f"compare failed on {key}: {at}")
        self.key = key
        self.current = current


class KeyExists(CompareFailed):
    """The key to create is there already. For an API request that is 409 AlreadyExists."""

    grpc_code = "AlreadyExists"


class Compacted(StoreError):
    """The history asked for is gone. List again, and go on from that list's revision."""

    grpc_code = "OutOfRange"

    def __init__(self, compact_revision: int) -> None:
        super().__init__("etcdserver: mvcc: required revision has been compacted")
        self.compact_revision = compact_revision


class FutureRevision(StoreError):
    """The revision asked for has not happened yet."""

    grpc_code = "OutOfRange"

    def __init__(self, requested: int = 0, current: int = 0) -> None:
        super().__init__("etcdserver: mvcc: required revision is a future revision")
        self.requested = requested
        self.current = current


class NoSpace(StoreError):
    """The quota is used up and the alarm is raised: delete, compact, defragment, then disarm the alarm."""

    grpc_code = "ResourceExhausted"

    def __init__(self) -> None:
        super().__init__("etcdserver: mvcc: database space exceeded")


class RequestTooLarge(StoreError):
    """The server refuses a request of more than 1.5 MiB."""

    grpc_code = "InvalidArgument"

    def __init__(self) -> None:
        super().__init__("etcdserver: request is too large")


class MessageTooLarge(StoreError):
    """The client refuses to send a message of more than 2 MiB: the server never saw it."""

    grpc_code = "ResourceExhausted"

    def __init__(self, size_bytes: int) -> None:
        super().__init__(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max "
            f"({size_bytes} vs. {CLIENT_SEND_BYTES_MAX})"
        )
        self.size_bytes = size_bytes


class RequestTimedOut(StoreError):
    """The server gave up waiting for its own commit. The write may still happen."""

    grpc_code = "Unavailable"
    committed = "unknown"

    def __init__(self) -> None:
        super().__init__("etcdserver: request timed out")


class LeaderChanged(StoreError):
    """The leader changed while the request was under way. The write may still happen."""

    grpc_code = "Unavailable"
    committed = "unknown"

    def __init__(self) -> None:
        super().__init__("etcdserver: leader changed")


class NoLeader(StoreError):
    """There is no leader to follow: a stream that asks for one is refused."""

    grpc_code = "Unavailable"

    def __init__(self) -> None:
        super().__init__("etcdserver: no leader")


class Unavailable(StoreError):
    """The connection broke under the request. The write may have happened."""

    grpc_code = "Unavailable"
    committed = "unknown"

    def __init__(self, description: str) -> None:
        super().__init__(f"rpc error: code = Unavailable desc = {description}")
        self.description = description


class LeaseNotFound(StoreError):
    """The lease has expired, was revoked, or never existed."""

    grpc_code = "NotFound"

    def __init__(self, lease_id: int = 0) -> None:
        super().__init__("etcdserver: requested lease not found")
        self.lease_id = lease_id


class DuplicateKey(StoreError):
    """One transaction may change a key only once."""

    grpc_code = "InvalidArgument"

    def __init__(self) -> None:
        super().__init__("etcdserver: duplicate key given in txn request")


class StoreClosed(StoreError):
    """The store was closed by its owner; open it again to go on."""

    grpc_code = "Canceled"
    committed = "unknown"

    def __init__(self) -> None:
        super().__init__("the store is closed")


class DataDirLocked(StoreError):
    """Another process works on this data directory. End it, or give another directory."""

    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"{directory} is in use by another process (its LOCK file is held); "
            "end that process or give another data directory"
        )
        self.directory = directory


class CorruptLog(StoreError):
    """A stored file cannot be trusted. Nothing is guessed: restore the directory from a backup or empty it."""

    def __init__(self, file: Path, offset: int, reason: str) -> None:
        super().__init__(
            f"{file} is corrupt at byte {offset}: {reason}; restore {file.parent} from a backup, "
            "or move it away to start with an empty store"
        )
        self.file = file
        self.offset = offset
        self.reason = reason


class WriteAheadLogFailed(StoreError):
    """The disk refused a write or an fsync. The store takes no more writes: reopen it when the disk is well."""

    committed = "unknown"

    def __init__(self, file: Path, cause: OSError) -> None:
        super().__init__(f"writing {file} failed: {cause}; the store takes no writes until it is opened again")
        self.file = file
