"""A cluster in virtual time with nothing but a scheduler."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from clusters.emulated.client.blocking import ADMIN
from clusters.emulated.client.controller import ComponentContext
from clusters.emulated.client.identities import SCHEDULER, user_agent
from clusters.emulated.client.informers import InformerFactory
from clusters.emulated.client.inprocess_api import InProcessApi
from clusters.emulated.client.resources import SERVICE_ACCOUNTS
from clusters.emulated.clock import Randomness, VirtualClock
from clusters.emulated.cluster import EmulatedCluster
from clusters.emulated.scheduler.scheduler import Scheduler
from tests.clusters.emulated.scheduler.play import Player

# Longer than a second of back-off and a poll for volumes, shorter than anything that happens by itself.
SETTLE_S = 3.0


@dataclass
class Scheduled:
    """A cluster whose scheduler can be started and stopped."""

    cluster: EmulatedCluster
    api: InProcessApi
    clock: VirtualClock
    player: Player

    @contextmanager
    def scheduler(self) -> Iterator[None]:
        task = self.cluster.run(self._start())
        self.clock.settle()
        try:
            yield
        finally:
            self.cluster.run(_stop(task))

    async def _start(self) -> asyncio.Task[None]:
        api = InProcessApi(self.cluster.plane.handler, SCHEDULER, user_agent("kube-scheduler", "v1.36.4"))
        factory = InformerFactory(api, self.clock)
        scheduler = Scheduler(ComponentContext(api, self.clock, Randomness(3), factory))
        return asyncio.get_running_loop().create_task(_run(scheduler, factory))


async def _run(scheduler: Scheduler, factory: InformerFactory) -> None:
    try:
        await scheduler.run()
    finally:
        await factory.stop()


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def unscheduled() -> Iterator[Scheduled]:
    """The cluster before its scheduler runs."""
    with EmulatedCluster(clock="virtual", seed=7) as cluster:
        clock = cluster.clock
        assert isinstance(clock, VirtualClock)
        api = InProcessApi(cluster.plane.handler, ADMIN, "tests/v0")
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        cluster.run(api.create(SERVICE_ACCOUNTS, account, "default"))
        player = Player(api, cluster.run, lambda: clock.advance(SETTLE_S))
        yield Scheduled(cluster, api, clock, player)


@pytest.fixture
def scheduled(unscheduled: Scheduled) -> Iterator[Scheduled]:
    with unscheduled.scheduler():
        yield unscheduled
