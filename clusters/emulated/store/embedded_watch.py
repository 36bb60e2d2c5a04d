"""An asynchronous watch on the embedded store: it reads the history at its own pace and keeps no queue."""

from __future__ import annotations

import asyncio
from typing import Self

from clusters.emulated.store.mvcc import Mvcc
from clusters.emulated.store.protocol import WatchBatch
from clusters.emulated.store.subscriptions import StoreSubscription, Subscriptions, narrow


class EmbeddedWatch:
    """Iterate to get a batch per revision, in order, each exactly once.

    A slow reader is not cut off: what it has not read stays in the store's history until a compaction
    passes it, and then iteration raises `Compacted`.
    """

    def __init__(
        self, mvcc: Mvcc, subscriptions: Subscriptions, key: str, *, prefix: bool, start_revision: int
    ) -> None:
        self._mvcc = mvcc
        self._key = key
        self._prefix = prefix
        self._next = start_revision or mvcc.revision + 1
        self._synced = False
        self._cancelled = False
        self._progress_asked = False
        self._wake: asyncio.Future[None] | None = None
        self._subscription = StoreSubscription(subscriptions, key, self._on_batch)
        subscriptions.add(self._subscription)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchBatch:
        while not self._cancelled:
            if not self._synced:
                batch = self._read()
                if batch is not None:
                    return batch
            if self._progress_asked:
                self._progress_asked = False
                return WatchBatch(self._mvcc.revision, ())
            self._wake = asyncio.get_running_loop().create_future()
            try:
                await self._wake
            finally:
                self._wake = None
        raise StopAsyncIteration

    def request_progress(self) -> None:
        """Asks for a batch without events that tells how far this watch is, after all earlier changes."""
        self._progress_asked = True
        self._notify()

    def cancel(self) -> None:
        self._cancelled = True
        self._subscription.cancel()
        self._notify()

    def _read(self) -> WatchBatch | None:
        for batch in self._mvcc.batches_from(self._next):
            if batch.revision < self._next:
                continue
            narrowed = self._narrow(batch)
            if narrowed is not None:
                self._next = batch.revision + 1
                return narrowed
        # A watch that asked for a revision still to come is not synced before that revision.
        self._next = max(self._next, self._mvcc.revision + 1)
        self._synced = True
        return None

    def _narrow(self, batch: WatchBatch) -> WatchBatch | None:
        if self._prefix:
            return narrow(batch, self._key)
        events = tuple([event for event in batch.events if event.kv.key == self._key])
        return WatchBatch(batch.revision, events) if events else None

    def _on_batch(self, batch: WatchBatch) -> None:
        if self._synced and batch.revision >= self._next:
            # Whatever happened since was not for this watch, so a compaction up to here costs it nothing.
            self._next = batch.revision
            self._synced = False
        self._notify()

    def _notify(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
