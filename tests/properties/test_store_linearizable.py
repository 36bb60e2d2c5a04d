"""Concurrent random load, with levers pulled at random: each key's history is linearizable."""

from __future__ import annotations

import asyncio
import itertools
import random
from math import inf
from pathlib import Path

import pytest
from linearizability import Operation, State, check
from stepped_clock import SteppedClock

from clusters.emulated.clock import Clock, RealClock
from clusters.emulated.store import CompareFailed, EmbeddedStore, KeyValue, StoreError

KEYS = ("/a", "/b")
CLIENTS = 5


class Load:
    """Clients that read, create, update and delete, each believing what it saw last."""

    def __init__(self, store: EmbeddedStore, seed: int, operations: int) -> None:
        self.store = store
        self.draw = random.Random(seed)
        self.operations = operations
        self.recorded: dict[str, list[Operation]] = {key: [] for key in KEYS}
        self._ticks = itertools.count(1)  # Events in one loop are ordered: counting them is the finest clock.
        self._values = itertools.count(1)

    async def client(self) -> None:
        believed = dict.fromkeys(KEYS, 0)
        for _ in range(self.operations):
            key = self.draw.choice(KEYS)
            kind = self.draw.choice(("read", "write", "write", "delete"))
            if kind == "delete" and not believed[key]:
                kind = "write"
            value = b"%d" % next(self._values)
            operation = await self._perform(kind, key, value, believed[key])
            self.recorded[key].append(operation)
            if operation.shown is not None or operation.kind == "read" or operation.outcome == "refused":
                believed[key] = operation.shown[0] if operation.shown else 0
            elif operation.outcome == "done":
                believed[key] = 0 if kind == "delete" else operation.revision
            if self.draw.random() < 0.3:
                await asyncio.sleep(0)

    async def _perform(self, kind: str, key: str, value: bytes, expected: int) -> Operation:
        started = next(self._ticks)
        try:
            if kind == "read":
                kv = await self.store.get(key)
                return Operation("read", started, next(self._ticks), shown=state(kv))
            if kind == "write":
                revision = await self.store.update(key, value, expected)
                return Operation("write", started, next(self._ticks), value, expected, revision=revision)
            await self.store.delete(key, expected)
            return Operation("delete", started, next(self._ticks), expected=expected)
        except CompareFailed as failed:
            what = "write" if kind == "write" else "delete"
            shown = state(failed.current)
            return Operation(what, started, next(self._ticks), value, expected, "refused", shown=shown)
        except StoreError as error:
            if error.committed != "unknown":
                raise
            if kind == "read":
                return Operation("read", started, inf)  # It told nothing, so it constrains nothing.
            return Operation("write" if kind == "write" else "delete", started, inf, value, expected, "uncertain")


def state(kv: KeyValue | None) -> State:
    return None if kv is None else (kv.mod_revision, kv.value)


async def pull_levers(store: EmbeddedStore, clock: SteppedClock, draw: random.Random, done: asyncio.Event) -> None:
    while not done.is_set():
        levers = (
            store.stall_fsync(draw.choice((0.5, 5.0))),
            store.freeze(),
            store.down(),
            store.stop_member(1),
        )
        with draw.choice(levers):
            await clock.advance(draw.uniform(0.1, 12.0))
            if draw.random() < 0.3:
                store.change_leader()
            await clock.advance(draw.uniform(0.1, 12.0))
        await clock.advance(20.0)


@pytest.mark.parametrize("seed", range(8))
def test_under_levers_every_key_stays_linearizable(seed: int) -> None:
    async def scenario() -> Load:
        clock = SteppedClock()
        store = EmbeddedStore(clock, members=3)
        load = Load(store, seed, 12)
        done = asyncio.Event()
        levers = asyncio.ensure_future(pull_levers(store, clock, random.Random(seed), done))
        await asyncio.wait_for(asyncio.gather(*(load.client() for _ in range(CLIENTS))), 30)
        done.set()
        await levers
        await store.close()
        return load

    load = asyncio.run(scenario())
    for key, operations in load.recorded.items():
        assert check(operations) == "linearizable", f"{key} with seed {seed}"


@pytest.mark.parametrize("seed", range(3))
def test_with_a_data_directory_every_key_stays_linearizable(seed: int, tmp_path: Path) -> None:
    async def scenario() -> Load:
        clock: Clock = RealClock()
        store = EmbeddedStore(clock, data_dir=tmp_path, log_bytes_max=3000)
        load = Load(store, seed, 20)
        await asyncio.gather(*(load.client() for _ in range(CLIENTS)))
        await store.close()
        return load

    load = asyncio.run(scenario())
    assert sum(len(operations) for operations in load.recorded.values()) == CLIENTS * 20
    for key, operations in load.recorded.items():
        assert check(operations) == "linearizable", f"{key} with seed {seed}"
