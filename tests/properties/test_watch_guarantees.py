"""Random histories with compactions, cuts, resumes and levers: every watch keeps W1 to W8."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import w1_ordered
import w2_unique
import w3_reliable
import w4_atomic
import w5_resumable
import w6_bookmarkable
import w7_filtered
import w8_previous
from hypothesis import event, given, settings
from hypothesis import strategies as st
from recorded import BOOKMARK, Commit, History, Seen, Stream
from stepped_clock import SteppedClock

from clusters.emulated.store import DELETE, Compacted, Delete, EmbeddedStore, KeyValue, Lever, Put, WatchBatch
from clusters.emulated.store.embedded_watch import EmbeddedWatch
from clusters.emulated.watch import CacheEvent, CacheSubscription, EndReason, TooOld, WatchCache

ROOT = "/registry/pods/"
KEYS = (*(f"{ROOT}{ns}/{name}" for ns in "ab" for name in "xyz"), "/registry/secrets/a/x")
PREFIXES = (ROOT, ROOT + "a/", ROOT + "a/x")

Action = tuple[str, int, int]
actions: st.SearchStrategy[list[Action]] = st.lists(
    st.tuples(
        st.sampled_from(
            # Writes come more often than anything else: without history there is nothing to get wrong.
            ["put"] * 6
            + ["delete", "delete", "txn", "compact", "watch", "watch", "cut", "read", "bookmark"]
            + ["freeze", "delay", "window", "heal", "reinitialise", "advance"]
        ),
        st.integers(0, 11),
        st.integers(0, 11),
    ),
    min_size=20,  # shorter ones seldom fill the window
    max_size=80,
)


@dataclass
class Watching:
    """A client: it resumes where it was cut, and lists again when that is too old."""

    stream: Stream
    subscription: CacheSubscription[bytes] | None = None
    ended: bool = False


class Run:
    """One plan, carried out on a store with a cache and an asynchronous watch beside it."""

    def __init__(self) -> None:
        self.clock = SteppedClock()
        self.store = EmbeddedStore(self.clock)
        self.cache: WatchCache[bytes] = WatchCache(self.store, ROOT, lambda kv: kv.value, self.clock, window_events=4)
        self.commits: list[Commit] = []
        self.streams: list[Stream] = []
        self.clients: list[Watching] = []
        self.watches: list[tuple[EmbeddedWatch, Stream]] = []
        self.levers: list[Lever] = []
        self.lists: list[tuple[int, dict[str, bytes]]] = []
        self.value = 0

    async def carry_out(self, plan: list[Action]) -> None:
        await self.cache.start()
        for name, one, two in plan:
            await getattr(self, name)(one, two)
        await self.heal(0, 0)
        for client in self.clients:
            if not client.ended and client.stream.refused_below is None:
                client.stream.complete_to = self.store.revision
        await self._drain_all()
        for watch, stream in self.watches:
            stream.complete_to = self.store.revision
            watch.cancel()
        self.cache.stop()

    def _next_value(self) -> bytes:
        self.value += 1
        return b"%d" % self.value

    async def _commit(self, changes: dict[str, bytes | None]) -> None:
        operations = tuple(Delete(k) if v is None else Put(k, v) for k, v in changes.items())
        before = self.store.revision
        result = await self.store.txn((), operations)
        if result.revision > before:
            done = tuple(
                (k, v)
                for (k, v), response in zip(changes.items(), result.responses, strict=True)
                if v is not None or response.deleted
            )
            self.commits.append(Commit(result.revision, done))

    async def put(self, one: int, two: int) -> None:
        await self._commit({KEYS[one % len(KEYS)]: self._next_value()})

    async def delete(self, one: int, two: int) -> None:
        await self._commit({KEYS[one % len(KEYS)]: None})

    async def txn(self, one: int, two: int) -> None:
        await self._commit(
            {
                KEYS[one % len(KEYS)]: self._next_value(),
                KEYS[two % len(KEYS)]: None if two % 3 else self._next_value(),
            }
        )

    async def compact(self, one: int, two: int) -> None:
        revision = self.store.revision - one
        try:
            if revision > 0:
                await self.store.compact(revision)
        except Compacted:
            event("compacted already")

    async def watch(self, one: int, two: int) -> None:
        prefix = PREFIXES[one % len(PREFIXES)]
        self._follow(prefix, max(0, self.cache.revision - two))
        if prefix.endswith("/"):
            start = max(1, self.store.revision - two)
            stream = Stream(prefix, start - 1)
            self.streams.append(stream)
            self.watches.append((self.store.watch(prefix, prefix=True, start_revision=start), stream))

    def _follow(self, prefix: str, from_revision: int) -> None:
        if not self.cache.ready:
            return
        stream = Stream(prefix, from_revision)
        client = Watching(stream)
        self.streams.append(stream)

        def deliver(seen: CacheEvent[bytes]) -> None:
            item = Seen(seen.kind, seen.revision, seen.key, seen.object, seen.previous_object)
            if stream.responses and stream.responses[-1][-1].revision == seen.revision:
                stream.responses[-1].append(item)
            else:
                stream.responses.append([item])

        def on_end(reason: EndReason) -> None:
            client.ended = True

        try:
            client.subscription = self.cache.subscribe(prefix, from_revision, deliver, on_end)
        except TooOld as too_old:
            event("a watch was too old")
            stream.refused_below = too_old.oldest
            self._list_and_follow(prefix)
        else:
            self.clients.append(client)

    def _list_and_follow(self, prefix: str) -> None:
        self._list()
        self._follow(prefix, self.cache.revision)

    def _list(self) -> None:
        revision = self.cache.list(ROOT).revision
        page = self.cache.page(ROOT)
        assert page.revision == revision
        self.lists.append((revision, dict(zip(page.keys, page.items, strict=True))))
        for older in range(self.cache.oldest_revision, revision):
            old = self.cache.page(ROOT, revision=older)
            self.lists.append((older, dict(zip(old.keys, old.items, strict=True))))

    async def cut(self, one: int, two: int) -> None:
        """Cuts a client off and lets it come back where it was."""
        living = [c for c in self.clients if not c.ended]
        if not living:
            return
        client = living[one % len(living)]
        assert client.subscription is not None
        client.subscription.cancel()
        client.ended = True
        events = client.stream.events()
        self._follow(client.stream.prefix, events[-1].revision if events else client.stream.from_revision)

    async def bookmark(self, one: int, two: int) -> None:
        """What the api-server does for a bookmark: the cache's revision, to everyone who follows."""
        for client in self.clients:
            if not client.ended and self.cache.ready and self.cache.revision >= client.stream.from_revision:
                client.stream.responses.append([Seen(BOOKMARK, self.cache.revision)])

    async def read(self, one: int, two: int) -> None:
        await self._drain_all()
        if self.cache.ready:
            self._list()

    async def _drain_all(self) -> None:
        """Reads every asynchronous watch to its end; those that a compaction overtook are over."""
        self.watches = [(watch, stream) for watch, stream in self.watches if await self._drain(watch, stream)]

    async def _drain(self, watch: EmbeddedWatch, stream: Stream) -> bool:
        watch.request_progress()
        while True:
            try:
                batch = await anext(watch)
            except Compacted as compacted:
                event("an asynchronous watch was compacted away")
                watch.cancel()
                if not stream.items():
                    # A watch from revision r continues after r - 1, so that is what the oldest is about.
                    stream.refused_below = compacted.compact_revision - 1
                return False
            stream.responses.append(seen_of(batch))
            if not batch.events:
                return True

    async def freeze(self, one: int, two: int) -> None:
        self._pull(self.cache.freeze())

    async def delay(self, one: int, two: int) -> None:
        self._pull(self.cache.delay(1.0 + one))

    async def window(self, one: int, two: int) -> None:
        self._pull(self.cache.window(one))

    def _pull(self, lever: Lever) -> None:
        lever.__enter__()
        self.levers.append(lever)

    async def heal(self, one: int, two: int) -> None:
        while self.levers:
            self.levers.pop().__exit__(None, None, None)

    async def reinitialise(self, one: int, two: int) -> None:
        with self.cache.reinitialise():
            await self.put(one, two)

    async def advance(self, one: int, two: int) -> None:
        await self.clock.advance(float(one))


def seen_of(batch: WatchBatch) -> list[Seen]:
    if not batch.events:
        return [Seen(BOOKMARK, batch.revision)]
    return [seen_one(kind, kv, previous) for kind, kv, previous in batch.events]


def seen_one(kind: str, kv: KeyValue, previous: KeyValue | None) -> Seen:
    before = None if previous is None else previous.value
    told = "DELETED" if kind == DELETE else "ADDED" if before is None else "MODIFIED"
    return Seen(told, kv.mod_revision, kv.key, before if kind == DELETE else kv.value, before)


def even(value: bytes) -> bool:
    return int(value) % 2 == 0


def select(stream: Stream) -> Stream:
    """The watch with a selector that the api-server makes of a cache's events, from what they carry."""
    selected = Stream(stream.prefix, stream.from_revision, complete_to=stream.complete_to)
    for item in stream.events():
        was = item.previous is not None and even(item.previous)
        now = item.kind != "DELETED" and item.value is not None and even(item.value)
        kind = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}.get((was, now))
        if kind is not None:
            selected.responses.append([Seen(kind, item.revision, item.key, item.value, item.previous)])
    return selected


@settings(max_examples=150, deadline=None)
@given(actions)
def test_every_watch_keeps_its_guarantees(plan: list[Action]) -> None:
    run = Run()
    asyncio.run(run.carry_out(plan))
    history = History(run.commits)
    checkers = (w1_ordered, w2_unique, w3_reliable, w4_atomic, w5_resumable, w6_bookmarkable, w8_previous)
    for stream in run.streams:
        for checker in checkers:
            if checker is w3_reliable and stream.refused_below is not None:
                continue  # Refused from the start: there was nothing to deliver.
            assert checker.check(stream, history) == [], f"{checker.__name__} on {stream}"
        if stream.refused_below is None:
            assert w7_filtered.check(select(stream), history, even) == []
    for revision, listed in run.lists:
        expected = {k: v for k, v in history.state_at(revision).items() if k.startswith(ROOT)}
        assert listed == expected, f"the list at revision {revision}"
