"""With a data directory: every acknowledged write survives, and damage is named rather than guessed at."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clusters.emulated.clock import RealClock
from clusters.emulated.store import CompareFailed, EmbeddedStore, WatchBatch
from clusters.emulated.store.errors import (
    CorruptLog,
    DataDirLocked,
    LeaseNotFound,
    NoSpace,
    StoreClosed,
    WriteAheadLogFailed,
)
from clusters.emulated.store.wal import HEADER

KILLS = 12


def open_store(directory: Path, log_bytes_max: int = 1 << 30) -> EmbeddedStore:
    return EmbeddedStore(RealClock(), data_dir=directory, log_bytes_max=log_bytes_max)


def test_every_acknowledged_write_survives_kill_9_and_none_happens_twice(tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    draw = random.Random(seed)
    sent: dict[str, int] = {}
    acknowledged: dict[str, tuple[int, int]] = {}
    for life in range(KILLS):
        run_and_kill(tmp_path, seed + life * 100, draw.randrange(1, 400), sent, acknowledged)
        for key, (n, version, mod_revision) in asyncio.run(stored_state(tmp_path)).items():
            acked_n, acked_revision = acknowledged.get(key, (0, 0))
            context = f"{key} in life {life} with seed {seed}"
            assert acked_n <= n <= sent[key], f"an acknowledged write is lost, or one was never sent: {context}"
            assert version == n, f"a write happened twice: {context}"
            if n == acked_n:
                assert mod_revision == acked_revision, context
            sent[key] = n
    assert len(acknowledged) == 8
    assert any(tmp_path.glob("snapshot-*.db")), "the log never grew enough to be replaced by a snapshot"


def run_and_kill(
    directory: Path, seed: int, acks: int, sent: dict[str, int], acknowledged: dict[str, tuple[int, int]]
) -> None:
    command = [
        sys.executable,
        str(Path(__file__).with_name("load_until_killed.py")),
        str(directory),
        str(seed),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"R\n", "the store could not be opened again after a kill"
        seen = 0
        for line in child.stdout:
            seen += record(line, sent, acknowledged)
            if seen >= acks:
                break
        child.send_signal(signal.SIGKILL)
        for line in child.stdout:
            record(line, sent, acknowledged)


def record(line: bytes, sent: dict[str, int], acknowledged: dict[str, tuple[int, int]]) -> int:
    word, key, *numbers = line.decode().split()
    if word == "I":
        sent[key] = int(numbers[0])
        return 0
    acknowledged[key] = (int(numbers[0]), int(numbers[1]))
    return 1


async def stored_state(directory: Path) -> dict[str, tuple[int, int, int]]:
    store = open_store(directory)
    result = await store.range("", prefix=True)
    await store.close()
    return {kv.key: (int(kv.value.split()[0]), kv.version, kv.mod_revision) for kv in result.kvs}


def test_a_reopened_store_has_its_state_its_history_and_its_leases(tmp_path: Path) -> None:
    async def first_life(log_bytes_max: int) -> tuple[int, int]:
        store = open_store(tmp_path, log_bytes_max)
        lease = await store.lease_grant(60)
        start = await store.create("/a", b"1", lease)
        await store.create("/b", b"1")
        await store.compact(start)
        await store.delete("/b", start + 1)
        await store.close()
        return start, lease

    async def second_life(start: int, lease: int) -> None:
        store = open_store(tmp_path)
        assert (await store.status()).revision == start + 2
        seen: list[WatchBatch] = []
        store.subscribe("/", start, seen.append)
        assert [batch.revision for batch in seen] == [start, start + 1, start + 2]
        assert seen[2].events[0].prev_kv is not None
        assert (await store.lease_status(lease)).keys == ("/a",)
        await store.lease_revoke(lease)
        assert await store.get("/a") is None
        await store.close()

    for log_bytes_max in (1 << 30, 1):  # from the log, and from a snapshot after every request
        for file in tmp_path.iterdir():
            file.unlink()
        start, lease = asyncio.run(first_life(log_bytes_max))
        asyncio.run(second_life(start, lease))


def write_some(directory: Path, count: int) -> Path:
    async def writes() -> None:
        store = open_store(directory)
        for n in range(count):
            await store.create(f"/k{n}", b"v" * 50)
        await store.close()

    asyncio.run(writes())
    (log,) = directory.glob("log-*.wal")
    return log


def keys_of(directory: Path) -> list[str]:
    async def read() -> list[str]:
        store = open_store(directory)
        keys = [kv.key for kv in (await store.range("", prefix=True)).kvs]
        await store.create("/after", b"")  # The store must also be usable.
        await store.close()
        return keys

    return asyncio.run(read())


def test_a_torn_tail_is_cut_off_wherever_it_tore(tmp_path: Path) -> None:
    log = write_some(tmp_path, 3)
    whole = log.read_bytes()
    frame = len(whole) // 3
    for length in range(2 * frame + 1, 3 * frame, 7):
        log.write_bytes(whole[:length])
        assert keys_of(tmp_path) == ["/k0", "/k1"], f"cut at byte {length} of {len(whole)}"
    log.write_bytes(whole + b"\0" * 100)
    assert keys_of(tmp_path) == ["/k0", "/k1", "/k2"]


def test_a_damaged_record_before_good_ones_is_an_error_that_names_file_and_offset(tmp_path: Path) -> None:
    log = write_some(tmp_path, 3)
    whole = bytearray(log.read_bytes())
    frame = len(whole) // 3
    for position in (frame + HEADER.size + 3, frame + 5, frame):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        log.write_bytes(damaged)
        with pytest.raises(CorruptLog, match=r"restore .* from a backup") as corrupt:
            open_store(tmp_path)
        assert (corrupt.value.file, corrupt.value.offset) == (log, frame)
    assert log.read_bytes() == bytes(damaged), "a corrupt file must be left for whoever repairs it"


def test_a_damaged_snapshot_is_an_error(tmp_path: Path) -> None:
    async def life() -> None:
        store = open_store(tmp_path, log_bytes_max=1)
        await store.create("/a", b"1")
        await store.close()

    asyncio.run(life())
    (snapshot,) = tmp_path.glob("snapshot-*.db")
    damaged = bytearray(snapshot.read_bytes())
    damaged[-1] ^= 0xFF
    snapshot.write_bytes(damaged)
    with pytest.raises(CorruptLog, match="checksum"):
        open_store(tmp_path)


def test_a_missing_log_file_is_an_error(tmp_path: Path) -> None:
    async def life(log_bytes_max: int) -> None:
        store = open_store(tmp_path, log_bytes_max)
        await store.create(f"/{log_bytes_max}", b"1")
        await store.close()

    asyncio.run(life(1))
    asyncio.run(life(1 << 30))
    (snapshot,) = tmp_path.glob("snapshot-*.db")
    snapshot.unlink()
    with pytest.raises(CorruptLog, match="request 1 is missing"):
        open_store(tmp_path)


def test_a_data_directory_belongs_to_one_store_at_a_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = open_store(tmp_path)
        with pytest.raises(DataDirLocked, match="in use by another process"):
            open_store(tmp_path)
        await store.close()
        await open_store(tmp_path).close()

    asyncio.run(scenario())


def test_concurrent_writers_share_an_fsync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs = 0
    real_fdatasync = os.fdatasync

    def counting(descriptor: int) -> None:
        nonlocal syncs
        syncs += 1
        real_fdatasync(descriptor)

    async def scenario() -> None:
        store = open_store(tmp_path)
        await asyncio.gather(*(store.create(f"/k{n}", b"") for n in range(64)))
        await store.close()

    monkeypatch.setattr(os, "fdatasync", counting)
    asyncio.run(scenario())
    assert 1 <= syncs <= 4
    assert len(keys_of(tmp_path)) == 64


def test_nobody_sees_a_write_before_it_is_durable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen_during_fsync: list[object] = []

    async def scenario() -> None:
        store = open_store(tmp_path)
        events: list[WatchBatch] = []
        store.subscribe("/", 0, events.append)

        def look(descriptor: int) -> None:
            seen_during_fsync.append((store.revision, len(events)))

        monkeypatch.setattr(os, "fdatasync", look)
        assert await store.create("/a", b"") == 2
        assert len(events) == 1
        await store.close()

    asyncio.run(scenario())
    assert seen_during_fsync == [(1, 0)]


def test_after_a_failed_fsync_the_store_takes_no_more_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    async def scenario() -> None:
        store = open_store(tmp_path)
        revision = await store.create("/a", b"1")
        with monkeypatch.context() as broken:
            broken.setattr(os, "fdatasync", fail)
            with pytest.raises(WriteAheadLogFailed, match="Input/output error"):
                await store.update("/a", b"2", revision)
        with pytest.raises(WriteAheadLogFailed):
            await store.update("/a", b"3", revision)
        kv = await store.get("/a")
        assert kv is not None
        assert kv.value == b"1"
        await store.close()
        with pytest.raises(StoreClosed):
            await store.get("/a")

    asyncio.run(scenario())


def test_an_alarm_survives_a_restart_unless_its_lever_was_released(tmp_path: Path) -> None:
    async def life(*, leave: bool) -> tuple[str, ...]:
        store = open_store(tmp_path)
        alarms = (await store.status()).alarms
        lever = store.quota(1).__enter__()
        with pytest.raises(NoSpace):
            await store.create("/b", b"1")
        if leave:
            lever.__exit__(None, None, None)
        await store.close()
        return alarms

    write_some(tmp_path, 1)
    assert asyncio.run(life(leave=False)) == ()
    assert asyncio.run(life(leave=True)) == ("NOSPACE",)
    assert asyncio.run(life(leave=True)) == ()


def test_refused_requests_are_refused_again_in_the_replay(tmp_path: Path) -> None:
    async def life() -> int:
        store = open_store(tmp_path)
        kv = await store.get("/a")
        revision = kv.mod_revision if kv else await store.create("/a", b"1")
        for attempt in (store.update("/a", b"2", 99), store.delete("/a", 99)):
            with pytest.raises(CompareFailed):
                await attempt
        with pytest.raises(LeaseNotFound):
            await store.create("/b", b"", 77)
        await store.close()
        return revision

    assert asyncio.run(life()) == asyncio.run(life())
    assert keys_of(tmp_path) == ["/a"]
