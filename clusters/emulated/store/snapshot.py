"""The whole state as one checksummed file: the keys at the compact revision, and the history since.

Keeping the history means that a watch can be resumed over a restart, as with a real etcd.
"""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import Any, Final

from clusters.emulated.store.codec import decode, encode
from clusters.emulated.store.errors import CorruptLog
from clusters.emulated.store.mvcc import Lease, Mvcc
from clusters.emulated.store.protocol import DELETE, PUT, Event, KeyValue, WatchBatch
from clusters.emulated.store.sorted_keys import SortedKeys
from clusters.emulated.store.wal import sync_directory

MAGIC: Final = b"\xf5SNAPSHOT\x01"
CHECKSUM: Final = struct.Struct("<I")


def save_snapshot(file: Path, mvcc: Mvcc) -> None:
    """Writes the state durably, or leaves no file of this name."""
    chunks: list[bytes] = []
    encode(_plain(mvcc), chunks)
    body = b"".join(chunks)
    partial = file.with_suffix(".partial")
    with partial.open("wb") as out:
        out.write(MAGIC)
        out.write(CHECKSUM.pack(zlib.crc32(body)))
        out.write(body)
        out.flush()
        os.fsync(out.fileno())
    partial.rename(file)
    sync_directory(file.parent)


def load_snapshot(file: Path, mvcc: Mvcc) -> None:
    """Puts the stored state into an empty `mvcc`."""
    data = file.read_bytes()
    start = len(MAGIC) + CHECKSUM.size
    if data[: len(MAGIC)] != MAGIC or len(data) < start:
        raise CorruptLog(file, 0, "it does not begin as a snapshot does")
    body = data[start:]
    if CHECKSUM.unpack_from(data, len(MAGIC))[0] != zlib.crc32(body):
        raise CorruptLog(file, start, "its checksum does not match its content")
    state, _ = decode(body, 0)
    _restore(mvcc, state)


def _plain(mvcc: Mvcc) -> tuple[Any, ...]:
    base = mvcc.log_first - 1
    kvs = mvcc._select_at("", "", base) if mvcc.log else tuple(mvcc.current.values())
    log = [(b.revision, tuple((int(e.kind == DELETE), *e.kv) for e in b.events)) for b in mvcc.log]
    leases = [(lease.lease_id, lease.ttl_s) for lease in mvcc.leases.values()]
    return (
        mvcc.revision,
        mvcc.compact_revision,
        mvcc.log_first,
        kvs,
        log,
        leases,
        mvcc.alarms,
        mvcc.in_use_bytes,
        mvcc.allocated_bytes,
    )


def _restore(mvcc: Mvcc, state: tuple[Any, ...]) -> None:
    mvcc.revision, mvcc.compact_revision, mvcc.log_first = state[0], state[1], state[2]
    current = {kv[0]: KeyValue(*kv) for kv in state[3]}
    for revision, events in state[4]:
        batch = []
        for deleted, *fields in events:
            kv = KeyValue(*fields)
            before = current.pop(kv.key, None)
            if not deleted:
                current[kv.key] = kv
            batch.append(Event(DELETE if deleted else PUT, kv, before))
        mvcc.log.append(WatchBatch(revision, tuple(batch)))
    mvcc.current = current
    mvcc.keys = SortedKeys(current)
    mvcc.leases = {lease_id: Lease(lease_id, ttl_s) for lease_id, ttl_s in state[5]}
    for kv in current.values():
        if kv.lease:
            mvcc.leases[kv.lease].keys.add(kv.key)
    mvcc.alarms = state[6]
    mvcc.in_use_bytes, mvcc.allocated_bytes = state[7], state[8]
