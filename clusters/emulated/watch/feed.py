"""How a cache follows its store: synchronously in this process, or over an asynchronous watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from clusters.emulated.clock import Clock
from clusters.emulated.store import Compacted, Store, StoreError, SubscribableStore, WatchBatch

RETRY_S = 1.0


class Feed(Protocol):
    """A running connection to the store's changes."""

    def progress(self) -> int:
        """Every change up to this revision was handed over; 0 if that is not known."""
        ...

    def stop(self) -> None: ...


class SynchronousFeed:
    """The store calls back inside the commit: never behind."""

    def __init__(
        self, store: SubscribableStore, prefix: str, after: int, deliver: Callable[[WatchBatch], None]
    ) -> None:
        self._subscription = store.subscribe(prefix, after + 1, deliver)

    def progress(self) -> int:
        return self._subscription.progress()

    def stop(self) -> None:
        self._subscription.cancel()


class WatchFeed:
    """A task that follows a watch, resumes it when the stream breaks, and gives up only on compaction."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        prefix: str,
        after: int,
        deliver: Callable[[WatchBatch], None],
        on_compacted: Callable[[], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._prefix = prefix
        self._deliver = deliver
        self._on_compacted = on_compacted
        self._seen = after
        self._task = asyncio.get_running_loop().create_task(self._follow(), name=f"watch {prefix}")

    def progress(self) -> int:
        return self._seen

    def stop(self) -> None:
        self._task.cancel()

    async def _follow(self) -> None:
        while True:
            watch = self._store.watch(self._prefix, prefix=True, start_revision=self._seen + 1, progress_notify=True)
            try:
                async for batch in watch:
                    self._seen = batch.revision
                    self._deliver(batch)
            except Compacted:
                self._on_compacted()
                return
            except StoreError:
                # The stream broke. What was seen is known exactly, so the next one continues from there.
                await self._clock.sleep(RETRY_S)
            finally:
                watch.cancel()
