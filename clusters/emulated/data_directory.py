"""The directory in which a control plane survives: one process at a time, one kind of store for good.

LOCK          held by the process that works here
cluster.json  which store it was made with, and the port it was last served on
pki/          certificates and keys
store/        the embedded store's, or etcd/ a real etcd's
kubeconfig    the admin's, unless it was written elsewhere
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from pathlib import Path
from typing import IO

from clusters.emulated.store.errors import DataDirLocked

_ABOUT = "cluster.json"


class DataDirectoryError(Exception):
    """The directory cannot be used as it is; the message says why and what to do."""


class DataDirectory:
    """An open data directory. `close()` lets another process have it."""

    def __init__(self, path: Path, lock: IO[bytes], store: str, port: int) -> None:
        self.path = path
        self.store_kind = store
        #: Where it was served last, or 0: a kubeconfig from before stays good when this port is still free.
        self.port = port
        self._lock = lock

    @classmethod
    def open(cls, path: Path, store: str) -> DataDirectory:
        """Locks the directory, making it first if needed, for a cluster on this kind of store."""
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = (path / "LOCK").open("ab")
        except OSError as error:
            raise DataDirectoryError(f"{path} cannot be used as data directory: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise DataDirLocked(path) from None
        try:
            return cls(path, lock, store, cls._last_port(path, store))
        except BaseException:
            lock.close()
            raise

    @staticmethod
    def _last_port(path: Path, store: str) -> int:
        file = path / _ABOUT
        if not file.exists():
            return 0
        try:
            about = json.loads(file.read_text("utf-8"))
            made_with, port = about["store"], about["port"]
        except (ValueError, KeyError, TypeError):
            raise DataDirectoryError(
                f"{file} is damaged; restore it from a backup, or give another data directory"
            ) from None
        if made_with != store:
            raise DataDirectoryError(
                f"{path} holds a cluster on the {made_with} store and cannot be served from {store}; "
                f"start it with --store {made_with}, or give another data directory"
            )
        return int(port)

    def remember(self, port: int) -> None:
        """Notes where the cluster is served."""
        self.port = port
        partial = self.path / f".{_ABOUT}.{secrets.token_hex(8)}"
        partial.write_text(json.dumps({"store": self.store_kind, "port": port}) + "\n", "utf-8")
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        partial.replace(self.path / _ABOUT)

    @property
    def pki(self) -> Path:
        return self.path / "pki"

    @property
    def store(self) -> Path:
        return self.path / "store"

    @property
    def etcd(self) -> Path:
        return self.path / "etcd"

    @property
    def kubeconfig(self) -> Path:
        return self.path / "kubeconfig"

    def close(self) -> None:
        self._lock.close()
