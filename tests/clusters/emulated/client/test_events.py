"""Events are counted, combined and kept from flooding, and never make anybody wait."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.client.events import EventRecorder, reference_to
from clusters.emulated.client.inprocess_api import InProcessApi
from clusters.emulated.clock import Randomness, VirtualClock
from clusters.emulated.cluster import EmulatedCluster

PATH = "/api/v1/namespaces/default/events"
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "uid": "u-1", "resourceVersion": "5"},
}


@pytest.fixture
def recorder(api: InProcessApi, clock: VirtualClock) -> EventRecorder:
    return EventRecorder(api, "kubelet", "node-1", clock=clock, randomness=Randomness(1))


def record(cluster: EmulatedCluster, recorder: EventRecorder, *messages: str, reason: str = "BackOff") -> None:
    async def all_of_them() -> None:
        for message in messages:
            recorder.event(POD, "Warning", reason, message)

    cluster.run(all_of_them())
    cluster.clock.settle()  # type: ignore[attr-defined]


def stored(cluster: EmulatedCluster) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = cluster.api.get(PATH)["items"]
    return items


def test_an_event_as_kubernetes_writes_it(cluster: EmulatedCluster, recorder: EventRecorder) -> None:
    record(cluster, recorder, "restarting failed container")
    (event,) = stored(cluster)
    assert event["involvedObject"] == {
        "kind": "Pod", "namespace": "default", "name": "web", "uid": "u-1", "apiVersion": "v1", "resourceVersion": "5",
    }  # fmt: skip
    assert event["source"] == {"component": "kubelet", "host": "node-1"}
    assert (event["reportingComponent"], event["reportingInstance"]) == ("kubelet", "node-1")
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2026-01-01T00:00:00Z"
    assert (event["type"], event["count"], event["eventTime"]) == ("Warning", 1, None)
    name, _, nanoseconds = event["metadata"]["name"].rpartition(".")
    assert name == "web"
    assert int(nanoseconds, 16) // 10**9 == 1767225600


def test_the_same_again_is_counted(cluster: EmulatedCluster, recorder: EventRecorder, clock: VirtualClock) -> None:
    record(cluster, recorder, "restarting")
    clock.advance(20)
    record(cluster, recorder, "restarting", "restarting")
    (event,) = stored(cluster)
    assert event["count"] == 3
    assert (event["firstTimestamp"], event["lastTimestamp"]) == ("2026-01-01T00:00:00Z", "2026-01-01T00:00:20Z")


def test_one_that_expired_begins_anew(cluster: EmulatedCluster, recorder: EventRecorder) -> None:
    record(cluster, recorder, "restarting")
    cluster.api.delete(PATH)
    record(cluster, recorder, "restarting")
    (event,) = stored(cluster)
    assert event["count"] == 2


def test_similar_ones_are_combined_from_the_tenth_on(cluster: EmulatedCluster, recorder: EventRecorder) -> None:
    record(cluster, recorder, *(f"attempt {number}" for number in range(1, 13)))
    events = {event["message"]: event["count"] for event in stored(cluster)}
    assert events == {
        **{f"attempt {number}": 1 for number in range(1, 10)},
        "(combined from similar events): attempt 12": 3,
    }


def test_a_flood_is_cut_at_twenty_five(cluster: EmulatedCluster, recorder: EventRecorder, clock: VirtualClock) -> None:
    record(cluster, recorder, *["restarting"] * 40)
    assert stored(cluster)[0]["count"] == 25
    clock.advance(301)
    record(cluster, recorder, *["restarting"] * 3)
    # What was dropped has been counted all the same, as client-go does.
    assert stored(cluster)[0]["count"] == 41


def test_while_the_api_server_cannot_be_reached_nobody_waits(
    cluster: EmulatedCluster, recorder: EventRecorder, clock: VirtualClock
) -> None:
    async def flood() -> None:
        for number in range(1200):
            recorder.event(POD, "Normal", f"Reason{number}", "hello")

    with cluster.levers.store.freeze():
        before_s = clock.monotonic_s()
        cluster.run(flood())
        assert clock.monotonic_s() == before_s
    clock.advance(60)
    assert recorder.idle


def test_a_reference_may_name_a_part(cluster: EmulatedCluster, recorder: EventRecorder) -> None:
    reference = reference_to(POD, "spec.containers{web}")

    async def record_one() -> None:
        recorder.event(reference, "Normal", "Pulled", "there already")

    cluster.run(record_one())
    cluster.clock.settle()  # type: ignore[attr-defined]
    assert stored(cluster)[0]["involvedObject"]["fieldPath"] == "spec.containers{web}"


def test_events_of_the_same_instant_have_different_names(cluster: EmulatedCluster, recorder: EventRecorder) -> None:
    record(cluster, recorder, "a", "b", "c")
    assert len({event["metadata"]["name"] for event in stored(cluster)}) == 3
