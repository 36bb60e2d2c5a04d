"""Forks: what a test cluster starts from, without copying it."""

from __future__ import annotations

import asyncio

from clusters.emulated.clock import RealClock
from clusters.emulated.store import EmbeddedStore, WatchBatch


def test_a_fork_and_its_origin_go_separate_ways() -> None:
    async def scenario() -> None:
        origin = EmbeddedStore(RealClock())
        for n in range(3000):
            await origin.create(f"/k{n:04}", b"v")
        seen: list[WatchBatch] = []
        origin.subscribe("/", 0, seen.append)
        forks = [origin.fork() for _ in range(3)]
        revision = origin.revision
        for n, fork in enumerate(forks):
            assert await fork.create("/k0000a", b"%d" % n) == revision + 1
            kv = await fork.get(f"/k{n:04}")
            assert kv is not None
            await fork.delete(kv.key, kv.mod_revision)
        assert seen == []
        assert origin.revision == revision
        everything = await origin.range("/", prefix=True)
        assert [kv.key for kv in everything.kvs] == [f"/k{n:04}" for n in range(3000)]
        await origin.create("/k9999", b"")
        for n, fork in enumerate(forks):
            keys = [kv.key for kv in (await fork.range("/", prefix=True)).kvs]
            assert len(keys) == 3000
            assert "/k0000a" in keys
            assert f"/k{n:04}" not in keys
            assert keys == sorted(keys)
            at_the_fork = await fork.range("/", prefix=True, revision=revision)
            assert at_the_fork.kvs == everything.kvs

    asyncio.run(scenario())


def test_a_fork_keeps_leases_and_lets_them_end() -> None:
    async def scenario() -> None:
        origin = EmbeddedStore(RealClock())
        lease = await origin.lease_grant(100)
        await origin.create("/a", b"", lease)
        fork = origin.fork()
        assert 99 < (await fork.lease_status(lease)).remaining_ttl_s <= 100
        await fork.lease_revoke(lease)
        assert await fork.get("/a") is None
        assert await origin.get("/a") is not None
        await fork.close()
        await origin.close()

    asyncio.run(scenario())
