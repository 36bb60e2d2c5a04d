"""A store's directory: the lock, the snapshots, the log, and how they become the state again.

    LOCK                      held while a process works on the directory
    snapshot-<index>.db       the state after the requests up to this index, checksummed
    log-<index>.wal           the requests after this index, in frames

Recovery takes the newest snapshot and applies the log after it. A snapshot is written beside the old one and
renamed when it is durable; only then are the files before it removed.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO, Final, Self

from clusters.emulated.store.errors import CorruptLog, DataDirLocked, StoreError
from clusters.emulated.store.mvcc import Mvcc
from clusters.emulated.store.snapshot import load_snapshot, save_snapshot
from clusters.emulated.store.wal import WriteAheadLog, read_log, sync_directory

LOG_BYTES_MAX: Final = 64 << 20  # a longer log is replaced by a snapshot


class DataDir:
    """An open data directory. `applied` is called after each request and keeps the log short."""

    def __init__(self, directory: Path, lock: IO[bytes], wal: WriteAheadLog, log_bytes_max: int) -> None:
        self.directory = directory
        self.wal = wal
        self._lock = lock
        self._log_bytes_max = log_bytes_max

    @classmethod
    def open(cls, directory: Path, mvcc: Mvcc, *, log_bytes_max: int = LOG_BYTES_MAX) -> Self:
        """Locks the directory, recovers its state into `mvcc`, and opens the log for more."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = (directory / "LOCK").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise DataDirLocked(directory) from None
        try:
            wal = _recover(directory, mvcc)
        except StoreError:
            lock.close()
            raise
        return cls(directory, lock, wal, log_bytes_max)

    def applied(self, mvcc: Mvcc) -> None:
        """Takes a snapshot when the log has grown too long. Blocks: it must see one state, and is rare."""
        self.wal.applied()
        if self.wal.size_bytes < self._log_bytes_max or not self.wal.settled:
            return
        index = self.wal.next_index - 1
        save_snapshot(_snapshot_file(self.directory, index), mvcc)
        self.wal.start_file(_log_file(self.directory, index))
        _remove_before(self.directory, index)

    def close(self) -> None:
        self.wal.close()
        self._lock.close()


def _recover(directory: Path, mvcc: Mvcc) -> WriteAheadLog:
    for leftover in directory.glob("*.partial"):
        leftover.unlink()
    snapshots = sorted(directory.glob("snapshot-*.db"), key=_index_of)
    index = 0
    if snapshots:
        load_snapshot(snapshots[-1], mvcc)
        index = _index_of(snapshots[-1])
    _remove_before(directory, index)
    logs = sorted(directory.glob("log-*.wal"), key=_index_of)
    for log in logs:
        recovered = read_log(log, last=log == logs[-1])
        for position, request in recovered.requests:
            if position <= index:
                continue
            if position != index + 1:
                raise CorruptLog(log, 0, f"request {index + 1} is missing, the next one is {position}")
            index = position
            try:
                mvcc.apply(request)
            except StoreError:
                continue  # It was refused then, too: a failed compare is part of the history.
        if recovered.torn:
            os.truncate(log, recovered.end_offset)
    file = logs[-1] if logs else _log_file(directory, index)
    return WriteAheadLog(file, index + 1)


def _remove_before(directory: Path, index: int) -> None:
    """Removes what the snapshot at this index has made superfluous."""
    old = [f for pattern in ("snapshot-*.db", "log-*.wal") for f in directory.glob(pattern)]
    removed = [f for f in old if _index_of(f) < index]
    for file in removed:
        file.unlink()
    if removed:
        sync_directory(directory)


def _index_of(file: Path) -> int:
    try:
        return int(file.stem.split("-")[1], 16)
    except ValueError:
        raise CorruptLog(file, 0, "its name is not one that a store gives") from None


def _snapshot_file(directory: Path, index: int) -> Path:
    return directory / f"snapshot-{index:016x}.db"


def _log_file(directory: Path, index: int) -> Path:
    return directory / f"log-{index:016x}.wal"
