"""The watch cache: lists, older lists, subscriptions, the window, and its levers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from stepped_clock import SteppedClock, settle

from clusters.emulated.store import EmbeddedStore, KeyValue, Put
from clusters.emulated.watch import (
    ADDED,
    DELETED,
    MODIFIED,
    CacheEvent,
    CacheNotReady,
    EndReason,
    TooLargeResourceVersion,
    TooOld,
    WatchCache,
)

PODS = "/registry/pods/"
Cache = WatchCache[str]
Scenario = Callable[[EmbeddedStore, Cache, SteppedClock], Awaitable[None]]


def decode(kv: KeyValue) -> str:
    return f"{kv.value.decode()}@{kv.mod_revision}"


def run(scenario: Scenario, window_events: int | None = None) -> None:
    async def body() -> None:
        clock = SteppedClock()
        store = EmbeddedStore(clock)
        cache = WatchCache(store, PODS, decode, clock, window_events)
        await scenario(store, cache, clock)
        cache.stop()
        await store.close()

    asyncio.run(body())


class Follower:
    """Remembers what a subscription got."""

    def __init__(self) -> None:
        self.events: list[CacheEvent[str]] = []
        self.ended: list[EndReason] = []

    def follow(self, cache: Cache, prefix: str, from_revision: int) -> Follower:
        self.subscription = cache.subscribe(prefix, from_revision, self.events.append, self.ended.append)
        return self

    @property
    def seen(self) -> list[tuple[str, str]]:
        return [(event.kind, event.object) for event in self.events]


def test_a_cache_shows_what_is_stored_and_follows_at_once() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await store.create(PODS + "b/x", b"x")
        await store.create("/registry/secrets/b/x", b"secret")
        with pytest.raises(CacheNotReady):
            cache.list(PODS)
        await cache.start()
        assert cache.list(PODS) == (["x@2"], 3)
        await store.create(PODS + "a/y", b"y")
        assert cache.list(PODS) == (["y@4", "x@2"], 4)
        assert cache.list(PODS + "b/") == (["x@2"], 4)
        assert cache.get(PODS + "a/y") == "y@4"
        await store.update(PODS + "b/x", b"x2", 2)
        await store.delete(PODS + "a/y", 4)
        assert cache.get(PODS + "a/y") is None
        assert cache.list(PODS) == (["x2@5"], 6)

    run(scenario)


def test_a_write_to_another_resource_moves_the_revision_too() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await cache.start()
        revision = await store.create("/registry/secrets/b/x", b"")
        await cache.wait_until_fresh(revision)
        assert cache.list(PODS) == ([], revision)

    run(scenario)


def test_a_subscription_gets_the_cached_events_and_then_the_new_ones() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await cache.start()
        first = await store.create(PODS + "a/x", b"1")
        second = await store.update(PODS + "a/x", b"2", first)
        follower = Follower().follow(cache, PODS, first)
        assert follower.seen == [(MODIFIED, f"2@{second}")]
        assert follower.events[0].previous_object == f"1@{first}"
        third = await store.delete(PODS + "a/x", second)
        fourth = await store.create(PODS + "a/x", b"3")
        assert follower.seen[1:] == [(DELETED, f"2@{second}"), (ADDED, f"3@{fourth}")]
        assert [event.revision for event in follower.events] == [second, third, fourth]
        assert follower.events[2].previous_object is None
        follower.subscription.cancel()
        await store.update(PODS + "a/x", b"4", fourth)
        assert len(follower.events) == 3
        assert follower.ended == []

    run(scenario)


def test_a_subscription_is_told_only_about_its_namespace_or_name() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await cache.start()
        everything, namespace, name = (Follower() for _ in range(3))
        everything.follow(cache, PODS, 1)
        namespace.follow(cache, PODS + "a/", 1)
        name.follow(cache, PODS + "a/x", 1)
        for key in ("a/x", "a/xy", "b/x", "ab/x"):
            await store.create(PODS + key, key.encode())
        assert [event.key for event in everything.events] == [PODS + k for k in ("a/x", "a/xy", "b/x", "ab/x")]
        assert [event.key for event in namespace.events] == [PODS + "a/x", PODS + "a/xy"]
        assert [event.key for event in name.events] == [PODS + "a/x"]
        late = Follower().follow(cache, PODS + "a/x", 1)
        assert late.seen == name.seen

    run(scenario)


def test_a_subscription_from_the_future_is_silent_until_then() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await cache.start()
        follower = Follower().follow(cache, PODS, 3)
        for n in range(4):
            await store.create(f"{PODS}a/{n}", b"")
        assert [event.revision for event in follower.events] == [4, 5]

    run(scenario)


def test_the_events_of_one_transaction_are_all_delivered() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await cache.start()
        follower = Follower().follow(cache, PODS, 1)
        await store.txn((), (Put(PODS + "a/x", b"1"), Put("/registry/z", b""), Put(PODS + "a/y", b"2")))
        assert follower.seen == [(ADDED, "1@2"), (ADDED, "2@2")]

    run(scenario)


def test_what_left_the_window_is_too_old() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await store.create(PODS + "a/x", b"")
        await cache.start()
        with pytest.raises(TooOld, match=r"^too old resource version: 1 \(2\)$"):
            Follower().follow(cache, PODS, 1)
        revision = 2
        for _ in range(7):
            revision = await store.update(PODS + "a/x", b"", revision)
        assert revision == 9
        with pytest.raises(TooOld, match=r"^too old resource version: 3 \(4\)$"):
            Follower().follow(cache, PODS, 3)
        follower = Follower().follow(cache, PODS, 4)
        assert [event.revision for event in follower.events] == [5, 6, 7, 8, 9]

    run(scenario, window_events=5)


def test_an_older_list_is_served_while_the_window_covers_it_even_after_a_compaction() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await store.create(PODS + "a/x", b"1")
        await cache.start()
        await store.create(PODS + "a/y", b"1")
        await store.update(PODS + "a/x", b"2", 2)
        await store.delete(PODS + "a/y", 3)
        await store.create(PODS + "b/z", b"1")
        await store.compact(6)
        assert cache.list_at(PODS, 2) == (["1@2"], 2)
        assert cache.list_at(PODS, 3) == (["1@2", "1@3"], 3)
        assert cache.list_at(PODS + "a/", 4) == (["2@4", "1@3"], 4)
        assert cache.list_at(PODS, 5) == (["2@4"], 5)
        assert cache.list_at(PODS, 6) == (["2@4", "1@6"], 6)
        with pytest.raises(TooOld):
            cache.list_at(PODS, 1)
        with pytest.raises(TooLargeResourceVersion):
            cache.list_at(PODS, 7)

    run(scenario)


def test_pages_of_an_older_list_fit_together() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await cache.start()
        for n in range(5):
            await store.create(f"{PODS}a/{n}", str(n).encode())
        page = cache.page(PODS, limit=2)
        assert (page.items, page.revision, page.remaining) == (["0@2", "1@3"], 6, 3)
        await store.delete(f"{PODS}a/3", 5)
        await store.create(f"{PODS}a/35", b"new")
        second = cache.page(PODS, start=page.keys[-1] + "\0", limit=2, revision=page.revision)
        third = cache.page(PODS, start=second.keys[-1] + "\0", limit=2, revision=page.revision)
        assert (second.items, third.items, third.remaining) == (["2@4", "3@5"], ["4@6"], 0)

    run(scenario)


def test_the_window_grows_while_events_are_young_and_shrinks_when_they_are_old() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await cache.start()
        revision = await store.create(PODS + "a/x", b"")
        for _ in range(1000):
            revision = await store.update(PODS + "a/x", b"", revision)
        assert cache.window_capacity == 1600
        for _ in range(1000):
            revision = await store.update(PODS + "a/x", b"", revision)
        assert cache.window_capacity == 3200
        for _ in range(3400):
            await clock.advance(1.0)
            revision = await store.update(PODS + "a/x", b"", revision)
        # A quarter of 200 events spans 50 s here, which is fresh; of 400 it spans 100 s, which is not.
        assert cache.window_capacity == 200
        assert revision - cache.oldest_revision == 200

    run(scenario)


def test_a_frozen_replica_stays_behind_and_catches_up_in_order() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await cache.start()
        follower = Follower().follow(cache, PODS, 1)
        with cache.freeze() as lever:
            first = await store.create(PODS + "a/x", b"1")
            second = await store.update(PODS + "a/x", b"2", first)
            assert cache.list(PODS) == ([], 1)
            fresh = asyncio.ensure_future(cache.wait_until_fresh(second))
            await clock.advance(2.9)
            assert not fresh.done()
            await clock.advance(0.2)
            with pytest.raises(TooLargeResourceVersion, match=r"^Too large resource version: 3, current: 1$"):
                await fresh
            waiting = asyncio.ensure_future(cache.wait_until_fresh(second))
            await settle()
            assert follower.events == []
        assert follower.seen == [(ADDED, "1@2"), (MODIFIED, "2@3")]
        await waiting
        assert lever.fired == 4
        assert cache.list(PODS) == (["2@3"], 3)

    run(scenario)


def test_a_delayed_replica_sees_everything_late_and_in_order() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await cache.start()
        follower = Follower().follow(cache, PODS, 1)
        with cache.delay(30.0) as lever:
            await store.create(PODS + "a/0", b"")
            await clock.advance(10.0)
            await store.create(PODS + "a/1", b"")
            await clock.advance(19.0)
            assert follower.events == []
            await clock.advance(1.0)
            assert [event.key for event in follower.events] == [PODS + "a/0"]
            await clock.advance(10.0)
            assert len(follower.events) == 2
            await store.create(PODS + "a/2", b"")
            assert cache.revision == 3
        assert [event.key for event in follower.events] == [f"{PODS}a/{n}" for n in range(3)]
        assert lever.fired == 3
        await store.create(PODS + "a/3", b"")
        assert len(follower.events) == 4

    run(scenario)


def test_a_small_window_makes_a_late_subscriber_list_again() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await cache.start()
        for n in range(10):
            await store.create(f"{PODS}a/{n}", b"")
        with cache.window(2) as lever:
            assert lever.fired == 8
            with pytest.raises(TooOld, match=r"\(9\)"):
                Follower().follow(cache, PODS, 5)
            await store.create(PODS + "a/more", b"")
            with pytest.raises(TooOld):
                Follower().follow(cache, PODS, 9)
        for n in range(50):
            await store.create(f"{PODS}b/{n}", b"")
        assert len(Follower().follow(cache, PODS, 10).events) == 52

    run(scenario)


def test_a_reinitialised_cache_ends_its_watches_and_lists_anew() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await cache.start()
        follower = Follower().follow(cache, PODS, 1)
        async with cache.reinitialise() as lever:
            assert follower.ended == [EndReason.REINITIALISED]
            assert not cache.ready
            with pytest.raises(CacheNotReady, match=r"storage is \(re\)initializing"):
                cache.get(PODS + "a/x")
            await store.create(PODS + "a/x", b"1")
        assert lever.fired == 2
        assert cache.ready
        assert cache.list(PODS) == (["1@2"], 2)
        with pytest.raises(TooOld):
            Follower().follow(cache, PODS, 1)
        assert follower.events == []

    run(scenario)


def test_a_cache_that_cannot_list_yet_becomes_ready_when_the_store_does() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await cache.start()
        with store.freeze():
            with cache.reinitialise():
                pass
            await clock.advance(10.0)
            assert not cache.ready
        await settle()
        assert cache.ready

    run(scenario)


def test_a_failing_subscriber_is_ended_and_harms_nobody_else() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        reported: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
        await cache.start()
        ended: list[EndReason] = []

        def fail(event: CacheEvent[str]) -> None:
            raise KeyError(event.key)

        cache.subscribe(PODS, 1, fail, ended.append)
        healthy = Follower().follow(cache, PODS, 1)
        assert await store.create(PODS + "a/x", b"") == 2
        assert ended == [EndReason.DELIVERY_FAILED]
        assert len(healthy.events) == 1
        assert [type(error) for error in reported] == [KeyError]
        await store.create(PODS + "a/y", b"")
        assert len(reported) == 1

    run(scenario)


def test_a_subscriber_may_cancel_others_while_it_is_told() -> None:
    async def scenario(store: EmbeddedStore, cache: Cache, clock: SteppedClock) -> None:
        await cache.start()
        victim = Follower()

        def cancel_victim(event: CacheEvent[str]) -> None:
            victim.subscription.cancel()

        cache.subscribe(PODS, 1, cancel_victim, lambda reason: None)
        victim.follow(cache, PODS, 1)
        await store.create(PODS + "a/x", b"")
        assert victim.events == []
        assert cache.subscriptions == 1

    run(scenario)


def test_an_object_is_decoded_once_and_only_when_needed() -> None:
    async def scenario(store: EmbeddedStore, _: Cache, clock: SteppedClock) -> None:
        decoded: list[str] = []

        def counting(kv: KeyValue) -> str:
            decoded.append(kv.key)
            return decode(kv)

        for n in range(3):
            await store.create(f"{PODS}a/{n}", b"")
        cache = WatchCache(store, PODS, counting, clock)
        await cache.start()
        assert decoded == []
        assert cache.get(PODS + "a/1") is cache.get(PODS + "a/1")
        assert decoded == [PODS + "a/1"]
        cache.list(PODS)
        cache.list(PODS)
        assert sorted(decoded) == [PODS + "a/0", PODS + "a/1", PODS + "a/2"]

    run(scenario)
