"""What can be broken on an emulated cluster, from the test's thread: pulled by `with`, healed by leaving it.

with cluster.levers.store.freeze() as frozen:
    ...
assert frozen.fired
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

from clusters.emulated.control_plane import ControlPlane
from clusters.emulated.store.embedded import EmbeddedStore
from clusters.emulated.store.levers import Lever

T = TypeVar("T")


class Run(Protocol):
    """Carries out a coroutine in the cluster's loop, where everything of the cluster lives, and waits for it."""

    def __call__(self, work: Coroutine[Any, Any, T]) -> T: ...


class LeverMissingError(Exception):
    """This cluster has no such lever: run the test on one that has it."""


class Levers:
    """All levers of a cluster, by the component they break."""

    def __init__(self, plane: ControlPlane, run: Run) -> None:
        self._plane = plane
        self._run = run

    @property
    def store(self) -> StoreLevers:
        """Hop 7."""
        store = self._plane.store
        if not isinstance(store, EmbeddedStore):
            raise LeverMissingError("the levers of the store need the embedded one; this cluster runs on a real etcd")
        return StoreLevers(store, self._run)


class StoreLevers:
    """Hop 7: the embedded store's disk, process and quota (`store/condition.py` tells what each does)."""

    def __init__(self, store: EmbeddedStore, run: Run) -> None:
        self._store = store
        self._run = run

    def freeze(self) -> AbstractContextManager[Lever]:
        """As by SIGSTOP: every request hangs until the lever is released."""
        return self._pulled(self._store.freeze())

    def down(self) -> AbstractContextManager[Lever]:
        """The process is gone: connections are refused."""
        return self._pulled(self._store.down())

    def stall_fsync(self, delay_s: float) -> AbstractContextManager[Lever]:
        """Each fsync takes this long."""
        return self._pulled(self._store.stall_fsync(delay_s))

    def quota(self, quota_bytes: int) -> AbstractContextManager[Lever]:
        """The database may not grow beyond this."""
        return self._pulled(self._store.quota(quota_bytes))

    def compact(self) -> int:
        """Forgets all history before now, which nothing brings back; returns the revision it now begins with."""
        revision = self._run(self._store.current_revision())
        self._run(self._store.compact(revision))
        return revision

    @contextmanager
    def _pulled(self, lever: Lever) -> Iterator[Lever]:
        self._run(lever.__aenter__())
        try:
            yield lever
        finally:
            self._run(lever.__aexit__(None, None, None))
