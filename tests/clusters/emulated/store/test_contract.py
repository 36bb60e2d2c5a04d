"""The store contract: the same examples on the embedded store, with and without a data directory, and on etcd."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from clusters.emulated.store import (
    DELETE,
    PUT,
    Compacted,
    Compare,
    CompareFailed,
    Delete,
    FutureRevision,
    Get,
    KeyExists,
    Put,
    Store,
    WatchBatch,
)
from clusters.emulated.store.errors import DuplicateKey, LeaseNotFound, MessageTooLarge, RequestTooLarge

Run = Callable[[Callable[[Store, str], Awaitable[None]]], None]


def test_a_key_has_the_life_that_the_protocol_describes(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        created = await store.create(root + "a", b"1")
        updated = await store.update(root + "a", b"2", created)
        assert updated == created + 1
        kv = await store.get(root + "a")
        assert kv == (root + "a", b"2", created, updated, 2, 0)
        deleted = await store.delete(root + "a", updated)
        assert deleted == updated + 1
        assert await store.get(root + "a") is None
        again = await store.create(root + "a", b"3")
        kv = await store.get(root + "a")
        assert kv is not None
        assert (kv.create_revision, kv.version) == (again, 1)

    run(scenario)


def test_a_write_with_a_wrong_expectation_changes_nothing_and_shows_the_current_value(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        created = await store.create(root + "a", b"1")
        with pytest.raises(KeyExists) as exists:
            await store.create(root + "a", b"2")
        assert exists.value.current is not None
        assert exists.value.current.value == b"1"
        for attempt in (store.update(root + "a", b"2", created + 7), store.delete(root + "a", created + 7)):
            with pytest.raises(CompareFailed) as failed:
                await attempt
            assert failed.value.current is not None
            assert failed.value.current.mod_revision == created
        with pytest.raises(CompareFailed) as absent:
            await store.update(root + "b", b"2", created)
        assert absent.value.current is None
        with pytest.raises(CompareFailed):
            await store.delete(root + "b", created)
        assert await store.current_revision() == created

    run(scenario)


def test_an_update_that_expects_revision_0_creates(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        revision = await store.update(root + "a", b"1", 0)
        kv = await store.get(root + "a")
        assert kv is not None
        assert kv.create_revision == revision

    run(scenario)


def test_a_range_is_sorted_limited_and_counted(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        for name in ("b", "a/2", "c", "a/1"):
            await store.create(root + name, name.encode())
        whole = await store.range(root, prefix=True)
        assert [kv.key for kv in whole.kvs] == [root + n for n in ("a/1", "a/2", "b", "c")]
        assert (whole.more, whole.count) == (False, 4)
        page = await store.range(root, prefix=True, limit=2)
        assert [kv.value for kv in page.kvs] == [b"a/1", b"a/2"]
        assert (page.more, page.count) == (True, 4)
        rest = await store.range(page.kvs[-1].key + "\0", range_end=root + "c", revision=page.revision)
        assert [kv.key for kv in rest.kvs] == [root + "b"]
        names = await store.range(root, prefix=True, keys_only=True)
        assert {kv.value for kv in names.kvs} == {b""}
        counted = await store.range(root, prefix=True, count_only=True)
        assert (counted.kvs, counted.count) == ((), 4)
        assert (await store.range(root + "nothing", prefix=True)).kvs == ()

    run(scenario)


def test_a_range_at_an_older_revision_shows_the_older_state(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        first = await store.create(root + "a", b"1")
        second = await store.update(root + "a", b"2", first)
        third = await store.create(root + "b", b"1")
        fourth = await store.delete(root + "a", second)

        async def state(revision: int) -> dict[str, bytes]:
            result = await store.range(root, prefix=True, revision=revision)
            return {kv.key.removeprefix(root): kv.value for kv in result.kvs}

        assert await state(first) == {"a": b"1"}
        assert await state(second) == {"a": b"2"}
        assert await state(third) == {"a": b"2", "b": b"1"}
        assert await state(fourth) == {"b": b"1"}
        with pytest.raises(FutureRevision, match="required revision is a future revision"):
            await state(fourth + 1000)
        await store.compact(third)
        assert await state(third) == {"a": b"2", "b": b"1"}
        with pytest.raises(Compacted, match="required revision has been compacted"):
            await state(second)
        with pytest.raises(Compacted):
            await store.compact(second)
        with pytest.raises(FutureRevision):
            await store.compact(fourth + 1000)

    run(scenario)


def test_a_transaction_takes_one_branch_and_one_revision(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        a, b = root + "a", root + "b"
        before = await store.current_revision()
        done = await store.txn(
            (Compare(a, "mod_revision", "==", 0), Compare(b, "version", "<", 1)),
            (Put(a, b"1"), Put(b, b"2"), Get(a)),
            (Get(a),),
        )
        assert (done.succeeded, done.revision) == (True, before + 1)
        assert [kv.value for kv in done.responses[2].kvs] == [b"1"]
        refused = await store.txn((Compare(a, "value", "==", b"other"),), (Delete(a),), (Get(a), Get(root + "x")))
        assert (refused.succeeded, refused.revision) == (False, before + 1)
        assert [kv.mod_revision for kv in refused.responses[0].kvs] == [before + 1]
        assert refused.responses[1].kvs == ()
        swept = await store.txn((Compare(a, "create_revision", ">", 0),), (Delete(root, root + "z"),))
        assert (swept.responses[0].deleted, swept.revision) == (2, before + 2)
        nothing = await store.txn((), (Delete(root, root + "z"),))
        assert (nothing.responses[0].deleted, nothing.revision) == (0, before + 2)

    run(scenario)


def test_a_transaction_may_change_a_key_only_once(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        with pytest.raises(DuplicateKey, match="duplicate key given in txn request"):
            await store.txn((), (Put(root + "a", b"1"), Put(root + "a", b"2")))
        assert await store.get(root + "a") is None

    run(scenario)


@pytest.mark.parametrize(
    ("relation", "holds"),
    [("==", (False, True, False)), ("!=", (True, False, True)), ("<", (False, False, True))],
)
def test_each_relation_compares_as_etcd_does(run: Run, relation: str, holds: tuple[bool, ...]) -> None:
    async def scenario(store: Store, root: str) -> None:
        await store.create(root + "a", b"1")
        for version, expected in zip((0, 1, 2), holds, strict=True):
            guard = Compare(root + "a", "version", relation, version)  # type: ignore[arg-type]
            assert (await store.txn((guard,), ())).succeeded is expected

    run(scenario)


def test_a_watch_continues_exactly_where_it_is_asked_to(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        first = await store.create(root + "a", b"1")
        second = await store.update(root + "a", b"2", first)
        third = await store.delete(root + "a", second)
        watch = store.watch(root, prefix=True, start_revision=second)
        seen = [await next_events(watch) for _ in range(2)]
        assert [batch.revision for batch in seen] == [second, third]
        put, gone = seen[0].events[0], seen[1].events[0]
        assert (put.kind, put.kv.value) == (PUT, b"2")
        assert put.prev_kv is not None
        assert put.prev_kv.value == b"1"
        assert (gone.kind, gone.kv.key, gone.kv.mod_revision) == (DELETE, root + "a", third)
        assert gone.prev_kv is not None
        assert gone.prev_kv.value == b"2"
        fourth = await store.create(root + "b", b"")
        assert (await next_events(watch)).revision == fourth
        watch.cancel()

    run(scenario)


def test_a_watch_on_one_key_is_not_told_about_its_neighbours(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        before = await store.current_revision()
        watch = store.watch(root + "a", start_revision=before + 1)
        await store.create(root + "ab", b"")
        wanted = await store.create(root + "a", b"")
        assert (await next_events(watch)).revision == wanted
        watch.cancel()

    run(scenario)


def test_all_changes_of_a_transaction_come_in_one_batch(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        start = await store.current_revision() + 1
        watch = store.watch(root, prefix=True, start_revision=start)
        await store.txn((), (Put(root + "a", b"1"), Put(root + "b", b"1"), Put("/elsewhere" + root, b"1")))
        batch = await next_events(watch)
        assert [event.kv.key for event in batch.events] == [root + "a", root + "b"]
        watch.cancel()

    run(scenario)


def test_a_watch_from_a_compacted_revision_says_so(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        revision = await store.create(root + "a", b"0")
        for _ in range(3):
            revision = await store.update(root + "a", b"1", revision)
        await store.compact(revision)
        watch = store.watch(root, prefix=True, start_revision=revision - 2)
        with pytest.raises(Compacted) as compacted:
            await anext(watch)
        assert compacted.value.compact_revision == revision
        watch.cancel()

    run(scenario)


def test_a_quiet_watch_survives_compactions(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        watch = store.watch(root + "quiet/", prefix=True, start_revision=await store.current_revision() + 1)
        await store.create(root + "quiet/first", b"")
        await next_events(watch)  # Only now is it certain that the watch has begun.
        waiting = asyncio.ensure_future(next_events(watch))
        revision = await store.create(root + "busy", b"0")
        for _ in range(5):
            revision = await store.update(root + "busy", b"1", revision)
            await asyncio.sleep(0)
        await store.compact(revision)
        wanted = await store.create(root + "quiet/a", b"")
        assert (await waiting).revision == wanted
        watch.cancel()

    run(scenario)


def test_a_cancelled_watch_ends(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        watch = store.watch(root, prefix=True)

        async def drain() -> list[WatchBatch]:
            return [batch async for batch in watch]

        draining = asyncio.ensure_future(drain())
        await asyncio.sleep(0.05)
        watch.cancel()
        assert await draining == []

    run(scenario)


def test_a_revoked_lease_takes_its_keys_along_in_one_revision(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        lease = await store.lease_grant(60)
        await store.create(root + "a", b"", lease)
        last = await store.create(root + "b", b"", lease)
        kept = await store.create(root + "c", b"", lease)
        kv = await store.get(root + "a")
        assert kv is not None
        assert kv.lease == lease
        await store.update(root + "c", b"", kept)  # A write without the lease detaches the key.
        status = await store.lease_status(lease)
        assert (status.granted_ttl_s, status.keys) == (60, (root + "a", root + "b"))
        assert await store.lease_keepalive(lease) == 60
        watch = store.watch(root, prefix=True, start_revision=kept + 2)
        await store.lease_revoke(lease)
        batch = await next_events(watch)
        assert batch.revision == last + 3
        assert {(e.kind, e.kv.key) for e in batch.events} == {(DELETE, root + "a"), (DELETE, root + "b")}
        watch.cancel()
        assert [kv.key for kv in (await store.range(root, prefix=True)).kvs] == [root + "c"]
        for attempt in (store.lease_revoke(lease), store.create(root + "d", b"", lease)):
            with pytest.raises(LeaseNotFound, match="requested lease not found"):
                await attempt
        with pytest.raises(LeaseNotFound):
            await store.lease_keepalive(lease)
        with pytest.raises(LeaseNotFound):
            await store.lease_status(lease)

    run(scenario)


def test_too_large_requests_are_refused_by_server_and_client(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        await store.create(root + "fits", b"x" * 1_572_000)
        with pytest.raises(RequestTooLarge, match="etcdserver: request is too large"):
            await store.create(root + "a", b"x" * 1_600_000)
        with pytest.raises(MessageTooLarge, match=r"trying to send message larger than max \(29000\d\d vs. 2097152\)"):
            await store.create(root + "a", b"x" * 2_900_000)
        assert await store.get(root + "a") is None

    run(scenario)


def test_the_status_tells_size_leader_and_revision(run: Run) -> None:
    async def scenario(store: Store, root: str) -> None:
        revision = await store.create(root + "a", b"x" * 100_000)
        status = await store.status()
        assert status.revision == revision
        assert status.db_size_bytes >= status.db_size_in_use_bytes > 0
        assert [m.is_leader for m in status.members] == [True]
        assert status.leader == status.members[0].member_id
        assert status.alarms == ()
        await store.disarm_alarms()
        await store.defragment()

    run(scenario)


async def next_events(watch: object) -> WatchBatch:
    """The next batch that has events; batches without any only tell progress."""
    while True:
        batch: WatchBatch = await anext(watch)  # type: ignore[call-overload]
        if batch.events:
            return batch
