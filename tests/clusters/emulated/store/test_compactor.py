from __future__ import annotations

import asyncio

import pytest

from clusters.emulated.clock import ScaledClock
from clusters.emulated.store import EmbeddedStore
from clusters.emulated.store.compactor import Compactor
from clusters.emulated.store.errors import Compacted


def test_what_is_older_than_an_interval_is_forgotten_and_what_is_newer_is_not() -> None:
    async def scenario() -> None:
        clock = ScaledClock(1000)
        store = EmbeddedStore(clock)
        compactor = Compactor(store, clock, interval_s=100)
        old = await store.create("/a", b"1")
        compactor.start()
        await clock.sleep(150)  # One look has been taken, at `old`.
        recent = await store.update("/a", b"2", old)
        await store.update("/a", b"3", recent)
        await clock.sleep(100)  # The second look forgets what came before the first.
        assert (await store.range("/a", revision=recent)).kvs[0].value == b"2"
        assert (await store.range("/a", revision=old)).kvs[0].value == b"1", "the revision itself is kept"
        await clock.sleep(100)
        with pytest.raises(Compacted):
            await store.range("/a", revision=old)
        await compactor.stop()
        await store.close()

    asyncio.run(scenario())


def test_a_store_that_is_away_is_compacted_when_it_is_back() -> None:
    async def scenario() -> None:
        clock = ScaledClock(1000)
        store = EmbeddedStore(clock)
        compactor = Compactor(store, clock, interval_s=100)
        first = await store.create("/a", b"1")
        compactor.start()
        with store.down():
            await clock.sleep(250)
        await store.update("/a", b"2", first)
        await clock.sleep(350)
        assert (await store.status()).compact_revision > first
        await compactor.stop()
        await store.close()

    asyncio.run(scenario())
