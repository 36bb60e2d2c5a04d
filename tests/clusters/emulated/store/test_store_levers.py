"""Each lever of the embedded store: what it does while it is pulled, and that releasing it heals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from stepped_clock import SteppedClock, settle

from clusters.emulated.store import EmbeddedStore
from clusters.emulated.store.connection import next_attempt_s
from clusters.emulated.store.errors import LeaderChanged, NoSpace, RequestTimedOut, Unavailable

Scenario = Callable[[EmbeddedStore, SteppedClock], Awaitable[None]]


def run(scenario: Scenario, members: int = 1) -> None:
    async def body() -> None:
        clock = SteppedClock()
        store = EmbeddedStore(clock, members=members)
        await scenario(store, clock)
        await store.close()

    asyncio.run(body())


async def seconds_until_done(
    clock: SteppedClock, request: Coroutine[Any, Any, Any], limit_s: float = 200.0
) -> tuple[float, object]:
    """How long a request took in cluster time, and its result or error."""
    start_s = clock.monotonic_s()
    task = asyncio.ensure_future(request)
    await settle()
    while not task.done() and clock.monotonic_s() - start_s < limit_s:
        await clock.advance(0.1)
    took_s = round(clock.monotonic_s() - start_s, 1)
    if not task.done():
        task.cancel()
        return took_s, "still waiting"
    return took_s, task.exception() or task.result()


def test_a_stalled_fsync_delays_writes_and_linearizable_reads_but_not_serializable_ones() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        await store.create("/a", b"1")
        async with store.stall_fsync(2.0) as lever:
            assert await seconds_until_done(clock, store.update("/a", b"2", 2)) == (4.0, 3)
            took_s, kv = await seconds_until_done(clock, store.get("/a"))
            assert (took_s, getattr(kv, "value", None)) == (4.0, b"2")
            assert (await seconds_until_done(clock, store.get("/a", serializable=True)))[0] == 0.0
        assert lever.fired == 2
        assert await seconds_until_done(clock, store.update("/a", b"3", 3)) == (0.0, 4)

    run(scenario)


def test_a_write_that_waits_more_than_7_seconds_times_out_and_is_committed_all_the_same() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        await store.create("/a", b"1")
        async with store.stall_fsync(20.0):
            took_s, error = await seconds_until_done(clock, store.update("/a", b"2", 2))
            assert (took_s, str(error)) == (7.0, "etcdserver: request timed out")
            took_s, kv = await seconds_until_done(clock, store.get("/a"))
            assert getattr(kv, "value", None) == b"2", "as recorded: the read waits for the write it follows"
            assert took_s == pytest.approx(73.0, abs=0.1)

    run(scenario)


def test_healing_a_stalled_disk_answers_what_waits_at_once() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        with store.stall_fsync(20.0):
            write = asyncio.ensure_future(store.create("/a", b"1"))
            await clock.advance(1.0)
            assert not write.done()
        await settle()
        assert write.done()
        assert write.result() == 2

    run(scenario)


def test_writes_that_come_during_a_round_share_the_next_one() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        with store.stall_fsync(1.0, fsyncs_per_commit=1) as lever:
            first = asyncio.ensure_future(store.create("/first", b""))
            await clock.advance(0.5)
            rest = [asyncio.ensure_future(store.create(f"/{n}", b"")) for n in range(10)]
            await clock.advance(0.5)
            assert first.done()
            assert not any(task.done() for task in rest)
            await clock.advance(1.0)
            assert [task.result() for task in rest] == list(range(3, 13))
        assert lever.fired == 2

    run(scenario)


def test_a_frozen_store_answers_nothing_until_it_is_thawed() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        await store.create("/a", b"1")
        async with store.freeze() as lever:
            requests = [store.get("/a"), store.update("/a", b"2", 2), store.get("/a", serializable=True)]
            tasks = [asyncio.ensure_future(request) for request in requests]
            await clock.advance(20.0)
            assert not any(task.done() for task in tasks)
        await settle()
        assert all(task.exception() is None for task in tasks), "up to 20 s, requests simply wait and succeed"
        assert lever.fired == 3
        assert await store.get("/a") is not None

    run(scenario)


def test_writes_sent_before_the_client_noticed_the_freeze_end_with_the_keepalive_error() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        with store.freeze():
            took_s, error = await seconds_until_done(clock, store.create("/a", b"1"))
            assert took_s == pytest.approx(34.0)
            assert str(error) == (
                "rpc error: code = Unavailable desc = keepalive ping failed to receive ACK within timeout"
            )
            assert (await seconds_until_done(clock, store.create("/a", b"1"), 60.0))[1] == "still waiting"
            assert (await seconds_until_done(clock, store.get("/a"), 60.0))[1] == "still waiting"
        assert await store.get("/a") is None, "the cancelled requests were never carried out"

    run(scenario)


def test_a_killed_store_loses_what_was_not_logged_and_lets_the_rest_wait() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        with store.stall_fsync(1.0):
            in_flight = asyncio.ensure_future(store.create("/lost", b""))
            await settle()
            with store.down() as lever:
                await settle()
                assert isinstance(in_flight.exception(), Unavailable)
                later = asyncio.ensure_future(store.create("/later", b""))
                await clock.advance(30.0)
                assert not later.done()
        assert lever.fired == 2
        await clock.advance(12.0)
        assert not later.done(), "gRPC's next attempt comes 43 s after the kill"
        await clock.advance(2.0)
        assert later.result() == 2
        assert await store.get("/lost") is None

    run(scenario)


@pytest.mark.parametrize(("down_s", "recorded_s"), [(2, 0.7), (5, 4.6), (15, 1.5), (30, 12.6), (60, 14.7), (121, 57.0)])
def test_the_time_to_reconnect_is_near_the_recorded_one(down_s: float, recorded_s: float) -> None:
    earlier, later = next_attempt_s(down_s * 0.9), next_attempt_s(down_s * 1.1)
    candidates = [next_attempt_s(down_s), earlier, later]  # The real client adds 20 % of jitter.
    assert min(abs(candidate - recorded_s) for candidate in candidates) <= max(1.0, 0.35 * recorded_s)


def test_a_full_store_refuses_writes_until_the_alarm_is_disarmed() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        revision = await store.create("/a", b"x" * 5000)
        with store.quota(4000) as lever:
            for attempt in (store.create("/b", b""), store.update("/a", b"", revision), store.lease_grant(9)):
                with pytest.raises(NoSpace, match="etcdserver: mvcc: database space exceeded"):
                    await attempt
            assert lever.fired == 3
            assert (await store.status()).alarms == ("NOSPACE",)
            assert await store.get("/a") is not None
            deleted = await store.delete("/a", revision)
            with store.quota(1 << 30):
                with pytest.raises(NoSpace):
                    await store.create("/b", b"")
                await store.disarm_alarms()
                await store.create("/b", b"")
            await store.compact(deleted)
            assert (await store.status()).db_size_bytes > 4000, "a compaction alone does not shrink the file"
            await store.defragment()
            assert (await store.status()).db_size_bytes < 4000
            await store.create("/c", b"")
        await store.create("/d", b"")

    run(scenario)


def test_one_of_three_members_may_stop() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        with store.stop_member(2):
            assert await seconds_until_done(clock, store.create("/a", b"")) == (0.0, 2)
            status = await store.status()
            assert [m.started for m in status.members] == [True, True, False]
            assert status.leader == 1

    run(scenario, members=3)


def test_members_can_be_added_for_a_while() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        with store.members(3):
            with store.stop_member(0):
                assert await seconds_until_done(clock, store.create("/a", b"")) == (1.0, 2)
            assert (await store.status()).leader == 2
        took_s, _ = await seconds_until_done(clock, store.create("/b", b""))
        assert took_s == 1.0, "the leader was one of those that left"
        assert [m.is_leader for m in (await store.status()).members] == [True]

    run(scenario)


def test_losing_the_leader_costs_an_election() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        with store.stop_member(0) as lever:
            assert (await store.status()).leader == 0
            assert await seconds_until_done(clock, store.create("/a", b"")) == (1.0, 2)
            assert (await store.status()).leader == 2
        assert lever.fired == 1

    run(scenario, members=3)


def test_without_a_quorum_only_serializable_reads_are_answered() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        await store.create("/a", b"1")
        with store.stop_member(1), store.stop_member(2):
            for request in (store.create("/b", b""), store.get("/a")):
                took_s, error = await seconds_until_done(clock, request)
                assert took_s == 7.0
                assert isinstance(error, RequestTimedOut)
            assert (await store.get("/a", serializable=True)) is not None
        took_s, revision = await seconds_until_done(clock, store.update("/a", b"2", 2))
        assert took_s == 1.0
        assert isinstance(revision, int)

    run(scenario, members=3)


def test_a_leader_change_leaves_the_writer_uncertain() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        with store.stall_fsync(1.0):
            write = asyncio.ensure_future(store.create("/a", b"1"))
            await settle()
            assert store.change_leader() == 1
            await settle()
            assert isinstance(write.exception(), LeaderChanged)
            assert write.exception().committed == "unknown"  # type: ignore[union-attr]
            await clock.advance(5.0)
        assert await store.get("/a") is not None
        assert (await store.status()).leader == 2

    run(scenario, members=3)


def test_an_expired_lease_takes_its_keys_along() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        lease = await store.lease_grant(3600)
        await store.create("/event", b"", lease)
        await clock.advance(3000.0)
        await store.lease_keepalive(lease)
        await clock.advance(3599.0)
        assert await store.get("/event") is not None
        assert (await store.lease_status(lease)).remaining_ttl_s == pytest.approx(1.0)
        await clock.advance(1.0)
        assert await store.get("/event") is None

    run(scenario)


def test_a_lease_that_ends_during_a_freeze_is_revoked_after_it() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        lease = await store.lease_grant(10)
        revision = await store.create("/event", b"", lease)
        with store.freeze():
            await clock.advance(60.0)
            assert store.revision == revision
        await settle()
        assert await store.get("/event") is None

    run(scenario)


def test_levers_may_be_nested_and_heal_when_the_block_fails() -> None:
    async def scenario(store: EmbeddedStore, clock: SteppedClock) -> None:
        with pytest.raises(ValueError, match="the test failed"), store.freeze(), store.stall_fsync(5.0):
            raise ValueError("the test failed")
        assert await seconds_until_done(clock, store.create("/a", b"")) == (0.0, 2)

    run(scenario)
