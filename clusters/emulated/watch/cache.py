"""The watch cache: the current objects of one resource, their last events, and everyone who follows them.

    start()                     list at revision 7; the window begins there
    store: 8 PUT a, 9 PUT b     revision 9; window: ADDED a (8), ADDED b (9)
    subscribe(from_revision=8)  gets ADDED b (9) at once, then whatever comes
    subscribe(from_revision=6)  TooOld(6, 7): what happened before the list is not known
    list_at(prefix, 8)          [a], although b is there by now

One event loop, no locks: every method but `start` and the waits is synchronous.
"""

from __future__ import annotations

import asyncio
import builtins
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, TypeVar, cast

from clusters.emulated.clock import Clock
from clusters.emulated.store import (
    DELETE,
    Event,
    KeyValue,
    Lever,
    Store,
    StoreError,
    SubscribableStore,
    WatchBatch,
    prefix_end,
)
from clusters.emulated.store.sorted_keys import SortedKeys
from clusters.emulated.store.waiting import within
from clusters.emulated.watch.errors import CacheNotReady, TooLargeResourceVersion, TooOld
from clusters.emulated.watch.events import ADDED, DELETED, MODIFIED, CacheEvent, EndReason, Listing, Page
from clusters.emulated.watch.fan_out import CacheSubscription, Deliver, FanOut, OnEnd
from clusters.emulated.watch.feed import RETRY_S, Feed, SynchronousFeed, WatchFeed
from clusters.emulated.watch.window import EventWindow

T = TypeVar("T")

FRESH_TIMEOUT_S: Final = 3.0  # how long Kubernetes lets a request wait for its cache
PROGRESS_S: Final = 0.1  # how often it asks the store for progress meanwhile


class WatchCache(Generic[T]):
    """The cache of one prefix. `decode` makes an object of a stored value, once per version, when first needed."""

    def __init__(
        self,
        store: Store,
        prefix: str,
        decode: Callable[[KeyValue], T],
        clock: Clock,
        window_events: int | None = None,
    ) -> None:
        self._store = store
        self.prefix = prefix
        self._decode = decode
        self._clock = clock
        #: The revision of the last change to any object here; unlike `revision` it rests while others change.
        self.changed_revision = 0
        self._objects: dict[str, T | KeyValue] = {}
        self._keys = SortedKeys()
        self._window: EventWindow[T] = EventWindow(window_events)
        self._fan_out: FanOut[T] = FanOut()
        self._revision = 0
        self._feed: Feed | None = None
        self._ready = False
        self._held_by = 0
        self._delay_s = 0.0
        self._levers: list[Lever] = []
        self._pending: deque[tuple[float, WatchBatch]] = deque()
        self._release_timer: asyncio.TimerHandle | None = None
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._restarts: set[asyncio.Task[None]] = set()

    # -- life ----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Lists and begins to follow. On the embedded store this does not suspend unless a lever is pulled."""
        listed = await self._store.range(self.prefix, prefix=True)
        self._objects = {kv.key: kv for kv in listed.kvs}
        self._keys = SortedKeys(self._objects)
        self._revision = self.changed_revision = listed.revision
        self._window.reset(listed.revision)
        self._pending.clear()
        store = self._store
        if hasattr(store, "subscribe"):  # As isinstance of the Protocol would ask, at a tenth of its price.
            self._feed = SynchronousFeed(cast(SubscribableStore, store), self.prefix, listed.revision, self._on_batch)
        else:
            self._feed = WatchFeed(
                self._store, self._clock, self.prefix, listed.revision, self._on_batch, self._on_compacted
            )
        self._ready = True
        self._wake_waiters()

    def stop(self) -> None:
        """Ends every subscription and follows the store no more."""
        self._disconnect(EndReason.STOPPED)
        for task in tuple(self._restarts):
            task.cancel()

    @property
    def ready(self) -> bool:
        return self._ready

    def _disconnect(self, reason: EndReason) -> None:
        self._ready = False
        if self._feed is not None:
            self._feed.stop()
            self._feed = None
        self._fan_out.end_all(reason)

    def _on_compacted(self) -> None:
        self._disconnect(EndReason.REINITIALISED)
        task = asyncio.get_running_loop().create_task(self._restart(), name=f"relist {self.prefix}")
        self._restarts.add(task)
        task.add_done_callback(self._restarts.discard)

    async def _restart(self) -> None:
        """Lists until it succeeds: a store that cannot answer now is asked again."""
        while not self._ready:
            try:
                await self.start()
            except StoreError:
                await self._clock.sleep(RETRY_S)

    def _check_ready(self) -> None:
        if not self._ready:
            raise CacheNotReady(self.prefix)

    # -- reading -------------------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """How far this replica is. Writes to other resources count as soon as it is sure to have missed nothing."""
        if self._feed is not None and not self._pending and not self._held_by:
            progress = self._feed.progress()
            self._revision = max(self._revision, progress)
        return self._revision

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: str) -> T | None:
        self._check_ready()
        stored = self._objects.get(key)
        if isinstance(stored, KeyValue):
            stored = self._objects[key] = self._decode(stored)
        return stored

    def list(self, prefix: str) -> Listing[T]:
        """Everything below a prefix (the cache's own, or a namespace's), in key order, as of `revision`."""
        self._check_ready()
        return Listing(self._items(self._keys.between(prefix, prefix_end(prefix))), self.revision)

    def page(self, prefix: str, *, start: str = "", limit: int = 0, revision: int = 0) -> Page[T]:
        """A part of a list: keys from `start` on, at most `limit`; at an older revision if one is given."""
        self._check_ready()
        first = max(prefix, start)
        if revision and revision < self.revision:
            states = self._states_at(first, prefix_end(prefix), revision)
            keys = list(states)[: limit or None]
            return Page(keys, [states[key] for key in keys], revision, len(states) - len(keys))
        found = self._keys.between(first, prefix_end(prefix))
        keys = found[:limit] if limit else found
        return Page(keys, self._items(keys), self.revision, len(found) - len(keys))

    def list_at(self, prefix: str, revision: int) -> Listing[T]:
        """The list as it was at exactly this revision, while the window still covers it; else TooOld."""
        self._check_ready()
        if revision > self.revision:
            raise TooLargeResourceVersion(revision, self._revision)
        states = self._states_at(prefix, prefix_end(prefix), revision)
        return Listing([*states.values()], revision)

    def _items(self, keys: builtins.list[str]) -> builtins.list[T]:
        objects = self._objects
        items: builtins.list[T] = []
        for key in keys:
            stored = objects[key]
            if isinstance(stored, KeyValue):
                stored = objects[key] = self._decode(stored)
            items.append(stored)
        return items

    def _states_at(self, start: str, end: str, revision: int) -> dict[str, T]:
        if revision < self._window.oldest:
            raise TooOld(revision, self._window.oldest)
        keys = self._keys.between(start, end)
        states: dict[str, T | None] = dict(zip(keys, self._items(keys), strict=True))
        undone: set[str] = set()
        for event in self._window.after(revision):
            key = event.key
            if key not in undone and key >= start and (not end or key < end):
                undone.add(key)
                states[key] = event.previous_object
        return {key: item for key, item in sorted(states.items()) if item is not None}

    async def wait_until_fresh(self, revision: int, timeout_s: float = FRESH_TIMEOUT_S) -> None:
        """Returns when this replica has seen this revision, or raises TooLargeResourceVersion."""
        if self._ready and self.revision >= revision:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (revision, waiter)
        self._waiters.append(entry)
        for lever in self._levers:
            lever.fired += 1
        give_up_s = self._clock.monotonic_s() + timeout_s
        try:
            while not (self._ready and self.revision >= revision):
                left_s = give_up_s - self._clock.monotonic_s()
                if left_s <= 0:
                    raise TooLargeResourceVersion(revision, self.revision)
                try:
                    await within(self._clock, waiter, min(left_s, PROGRESS_S))
                except TimeoutError:
                    continue  # Look again: writes to other resources move the revision without an event here.
        finally:
            self._waiters.remove(entry)

    def _wake_waiters(self) -> None:
        revision = self.revision
        for needed, waiter in self._waiters:
            if revision >= needed and not waiter.done():
                waiter.set_result(None)

    # -- following -----------------------------------------------------------------------------------------

    def subscribe(self, prefix: str, from_revision: int, deliver: Deliver[T], on_end: OnEnd) -> CacheSubscription[T]:
        """Delivers every event after `from_revision` below a prefix (`…/`) or of one key, then what follows.

        The events in the window are delivered before this returns.
        """
        self._check_ready()
        if from_revision < self._window.oldest:
            raise TooOld(from_revision, self._window.oldest)
        subscription = CacheSubscription(self._fan_out, prefix, from_revision, deliver, on_end)
        below = prefix.endswith("/")
        for event in self._window.after(from_revision):
            if event.key.startswith(prefix) if below else event.key == prefix:
                self._fan_out.hand_over(subscription, event)
                if not subscription.active:
                    return subscription
        self._fan_out.add(subscription)
        return subscription

    @property
    def oldest_revision(self) -> int:
        """The smallest revision that a subscription can continue from."""
        return self._window.oldest

    @property
    def window_capacity(self) -> int:
        return self._window.capacity

    @property
    def subscriptions(self) -> int:
        return len(self._fan_out)

    def _on_batch(self, batch: WatchBatch) -> None:
        if self._held_by or self._delay_s or self._pending:
            for lever in self._levers:
                lever.fired += 1
            self._pending.append((self._clock.monotonic_s() + self._delay_s, batch))
            self._schedule_release()
            return
        self._take(batch)

    def _take(self, batch: WatchBatch) -> None:
        now_s = self._clock.monotonic_s()
        for event in batch.events:
            changed = self._change(event)
            if changed is not None:
                self._window.append(changed, now_s)
                self._revision = self.changed_revision = batch.revision
                self._fan_out.publish(changed)
        self._revision = max(self._revision, batch.revision)
        if self._waiters:
            self._wake_waiters()

    def _change(self, event: Event) -> CacheEvent[T] | None:
        kv = event.kv
        key = kv.key
        previous = self._objects.get(key)
        if isinstance(previous, KeyValue):
            previous = self._decode(previous)
        if event.kind == DELETE:
            if previous is None:
                return None
            del self._objects[key]
            self._keys.remove(key)
            return CacheEvent(DELETED, key, previous, previous, kv.mod_revision)
        current = self._decode(kv)
        if previous is None:
            self._keys.add(key)
        self._objects[key] = current
        return CacheEvent(ADDED if previous is None else MODIFIED, key, current, previous, kv.mod_revision)

    # -- levers --------------------------------------------------------------------------------------------

    def freeze(self) -> Lever:
        """This replica stops following; released, it catches up in order."""

        def pull(lever: Lever) -> None:
            self._levers.append(lever)
            self._held_by += 1

        def release(lever: Lever) -> None:
            self._levers.remove(lever)
            self._held_by -= 1
            self._release_due()

        return Lever("watch.freeze", pull, release)

    def delay(self, seconds: float) -> Lever:
        """Every change is seen this much later, in order; released, what is held is seen at once."""

        def pull(lever: Lever) -> None:
            self._levers.append(lever)
            self._delay_s += seconds

        def release(lever: Lever) -> None:
            self._levers.remove(lever)
            self._delay_s = max(0.0, self._delay_s - seconds)
            self._pending = deque((due_s - seconds, batch) for due_s, batch in self._pending)
            self._release_due()

        return Lever("watch.delay", pull, release)

    def window(self, events: int) -> Lever:
        """Keeps only so many events; released, the window grows again as Kubernetes lets it."""

        def pull(lever: Lever) -> None:
            lever.fired += max(0, len(self._window) - events)
            self._window.set_capacity(events)

        def release(_: Lever) -> None:
            self._window.set_capacity(None)

        return Lever("watch.window", pull, release)

    def reinitialise(self) -> Lever:
        """The cache is not ready and its watches end; released, it lists anew."""

        def pull(lever: Lever) -> None:
            lever.fired += 1 + len(self._fan_out)
            self._disconnect(EndReason.REINITIALISED)

        def release(_: Lever) -> None:
            # The start does not suspend on a healthy embedded store, so the cache is ready right here then.
            starting = self.start()
            try:
                starting.send(None)
            except StopIteration:
                return
            starting.close()
            self._on_compacted()

        return Lever("watch.reinitialise", pull, release)

    def _release_due(self) -> None:
        """Takes what is due. Whatever is taken may pull or release levers, so every step looks again."""
        if self._release_timer is not None:
            self._release_timer.cancel()
            self._release_timer = None
        now_s = self._clock.monotonic_s()
        while self._pending and not self._held_by and self._pending[0][0] <= now_s:
            self._take(self._pending.popleft()[1])
        self._schedule_release()
        if self._waiters:
            self._wake_waiters()

    def _schedule_release(self) -> None:
        if self._pending and not self._held_by and self._release_timer is None:
            wait_s = max(0.0, self._pending[0][0] - self._clock.monotonic_s())
            self._release_timer = self._clock.call_later(wait_s, self._release_due)
