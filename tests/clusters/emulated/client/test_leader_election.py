"""One leads at a time; another takes over when it stops, at once or after its Lease has run out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clusters.emulated.client.api import Object
from clusters.emulated.client.errors import Unreachable
from clusters.emulated.client.events import EventRecorder
from clusters.emulated.client.inprocess_api import InProcessApi
from clusters.emulated.client.leader_election import LeaderElector
from clusters.emulated.clock import Randomness, VirtualClock
from clusters.emulated.cluster import EmulatedCluster

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/busy"


class Separable(InProcessApi):
    """An Api that can be cut off from the api-server."""

    separated = False

    async def exchange(self, method: str, target: str, body: bytes, content_type: str) -> tuple[int, bytes]:
        if self.separated:
            raise Unreachable(0, "connection refused")
        return await super().exchange(method, target, body, content_type)


class Contender:
    """Leads when it can, and remembers when."""

    def __init__(self, cluster: EmulatedCluster, api: InProcessApi, name: str, **options: Any) -> None:
        self.clock = cluster.clock
        self.api = Separable(cluster.plane.handler, api.user, name)
        self.recorder = EventRecorder(self.api, "busy", clock=self.clock, randomness=Randomness(2))
        self.elector = LeaderElector(
            self.api,
            name,
            "busy",
            clock=self.clock,
            randomness=Randomness(len(name)),
            recorder=self.recorder,
            **options,
        )
        self.led: list[tuple[str, float]] = []
        self.task: asyncio.Task[None]

    async def start(self) -> None:
        self.task = asyncio.get_running_loop().create_task(self.elector.run(self.lead))

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def lead(self) -> None:
        self.led.append(("from", self.clock.monotonic_s()))
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.led.append(("to", self.clock.monotonic_s()))

    @property
    def leads(self) -> bool:
        return bool(self.led) and self.led[-1][0] == "from"


def spec(cluster: EmulatedCluster) -> Object:
    found: Object = cluster.api.get(LEASE)["spec"]
    return found


def test_the_first_leads_and_renews(cluster: EmulatedCluster, api: InProcessApi, clock: VirtualClock) -> None:
    one, two = Contender(cluster, api, "one"), Contender(cluster, api, "two")
    cluster.run(one.start())
    clock.settle()
    cluster.run(two.start())
    clock.advance(60)
    assert one.leads
    assert not two.led
    assert two.elector.leader == "one"
    lease = spec(cluster)
    assert (lease["holderIdentity"], lease["leaseDurationSeconds"], lease["leaseTransitions"]) == ("one", 15, 0)
    assert lease["acquireTime"] == "2026-01-01T00:00:00.000000Z"
    assert lease["renewTime"] == "2026-01-01T00:01:00.000000Z"
    for each in (one, two):
        cluster.run(each.stop())


def test_who_stops_hands_over(cluster: EmulatedCluster, api: InProcessApi, clock: VirtualClock) -> None:
    one, two = Contender(cluster, api, "one"), Contender(cluster, api, "two")
    cluster.run(one.start())
    clock.settle()
    cluster.run(two.start())
    clock.advance(30)
    cluster.run(one.stop())
    assert spec(cluster)["holderIdentity"] == ""
    clock.advance(5)
    assert two.leads
    assert spec(cluster)["leaseTransitions"] == 1
    messages = [event["message"] for event in cluster.api.get("/api/v1/namespaces/kube-system/events")["items"]]
    assert messages == ["one became leader", "one stopped leading", "two became leader"]
    cluster.run(two.stop())


def test_who_is_killed_holds_the_lease_until_it_runs_out(
    cluster: EmulatedCluster, api: InProcessApi, clock: VirtualClock
) -> None:
    one, two = Contender(cluster, api, "one", release_on_cancel=False), Contender(cluster, api, "two")
    cluster.run(one.start())
    clock.settle()
    cluster.run(two.start())
    clock.advance(30)
    cluster.run(one.stop())
    clock.advance(10)
    assert not two.leads
    clock.advance(10)
    assert two.leads
    cluster.run(two.stop())


def test_a_leader_that_cannot_renew_stops_before_another_leads(
    cluster: EmulatedCluster, api: InProcessApi, clock: VirtualClock
) -> None:
    one, two = Contender(cluster, api, "one"), Contender(cluster, api, "two")
    cluster.run(one.start())
    clock.settle()
    cluster.run(two.start())
    clock.advance(29)
    one.api.separated = True
    clock.advance(30)
    stopped_s, led_s = one.led[-1], two.led[0]
    assert stopped_s[0] == "to"
    assert stopped_s[1] == pytest.approx(40)
    assert led_s[1] > stopped_s[1]
    for each in (one, two):
        cluster.run(each.stop())


def test_what_the_leader_raises_comes_out(cluster: EmulatedCluster, api: InProcessApi, clock: VirtualClock) -> None:
    elector = LeaderElector(api, "one", "busy", clock=clock, randomness=Randomness(1))

    async def fail() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        cluster.run(elector.run(fail))
    assert spec(cluster)["holderIdentity"] == "", "it has been released nevertheless"
