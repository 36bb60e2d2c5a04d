"""A child process that writes to a store until it is killed, and tells its parent each step before and after.

I <key> <n>               write number n of this key is about to be sent
A <key> <n> <revision>    it was acknowledged
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path

from clusters.emulated.clock import RealClock
from clusters.emulated.store import CompareFailed, EmbeddedStore, Put

WRITERS = 8


async def write_one_key(store: EmbeddedStore, key: str, draw: random.Random) -> None:
    kv = await store.get(key)
    n, revision = (0, 0) if kv is None else (int(kv.value.split()[0]), kv.mod_revision)
    while True:
        n += 1
        value = b"%d " % n + b"x" * draw.randrange(2000)
        os.write(1, b"I %s %d\n" % (key.encode(), n))
        if draw.random() < 0.2:
            result = await store.txn((), (Put(key, value),))
            revision = result.revision
        else:
            revision = await store.update(key, value, revision)
        os.write(1, b"A %s %d %d\n" % (key.encode(), n, revision))
        if draw.random() < 0.1:
            try:
                await store.update(key, b"never", 1)
            except CompareFailed:
                continue


async def main(directory: Path, seed: int) -> None:
    store = EmbeddedStore(RealClock(), data_dir=directory, log_bytes_max=200_000)
    os.write(1, b"R\n")
    await asyncio.gather(*(write_one_key(store, f"/k{i}", random.Random(seed + i)) for i in range(WRITERS)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
