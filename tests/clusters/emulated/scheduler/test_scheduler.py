"""What the scheduler leaves behind: bindings, conditions, events; and how it comes back after a stop."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.resources import EVENTS, NODES, PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS
from tests.clusters.emulated.scheduler.builders import claim, node, pod, priority_class, storage_class, volume
from tests.clusters.emulated.scheduler.conftest import SETTLE_S, Scheduled
from tests.clusters.emulated.scheduler.play import Situation, outcome

Object = dict[str, Any]


def create(world: Scheduled, *objects: Object) -> None:
    """Objects that stay, without waiting for what becomes of them."""
    for obj in objects:
        world.player._create(obj, [])


def get(world: Scheduled, name: str) -> Object:
    found: Object = world.cluster.run(world.api.get(PODS, name, "default"))
    return found


def events(world: Scheduled, name: str) -> list[Object]:
    found = world.cluster.run(world.api.list(EVENTS, "default")).items
    return [event for event in found if event["involvedObject"]["name"] == name]


def test_a_bound_pod_has_its_condition_and_an_event(scheduled: Scheduled) -> None:
    create(scheduled, node("a"), pod("p"))
    scheduled.clock.advance(1)
    bound = get(scheduled, "p")
    assert bound["spec"]["nodeName"] == "a"
    condition = bound["status"]["conditions"][0]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")
    (event,) = events(scheduled, "p")
    assert event["message"] == "Successfully assigned default/p to a"
    assert (event["type"], event["reason"], event["action"]) == ("Normal", "Scheduled", "Binding")
    assert event["reportingComponent"] == "default-scheduler"
    assert event["source"] == {}
    assert event["firstTimestamp"] is None
    assert event["eventTime"]
    assert "related" not in event


def test_a_refused_pod_has_its_condition_and_an_event(scheduled: Scheduled) -> None:
    create(scheduled, node("a", cpu="1"), pod("p", cpu="2"))
    scheduled.clock.advance(1)
    refused = get(scheduled, "p")
    condition = refused["status"]["conditions"][0]
    assert condition["observedGeneration"] == refused["metadata"]["generation"]
    assert condition["lastProbeTime"] is None
    assert condition["lastTransitionTime"]
    assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
    (event,) = events(scheduled, "p")
    assert event["message"] == condition["message"]
    assert (event["type"], event["reason"], event["action"]) == ("Warning", "FailedScheduling", "Scheduling")
    writers = {entry["manager"] for entry in refused["metadata"]["managedFields"]}
    assert "kube-scheduler" in writers


def test_a_condition_that_says_the_same_is_not_written_again(scheduled: Scheduled) -> None:
    create(scheduled, node("a", cpu="1"), pod("p", cpu="2"))
    scheduled.clock.advance(1)
    first = get(scheduled, "p")
    create(scheduled, node("b", cpu="1"))
    scheduled.clock.advance(400)
    second = get(scheduled, "p")
    assert second["status"]["conditions"][0]["message"].startswith("0/2 nodes are available: 2 Insufficient cpu.")
    assert (
        second["status"]["conditions"][0]["lastTransitionTime"]
        == first["status"]["conditions"][0]["lastTransitionTime"]
    )
    scheduled.clock.advance(400)
    assert get(scheduled, "p")["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


def test_victims_hear_of_their_preemptor(scheduled: Scheduled) -> None:
    create(scheduled, priority_class("high", 1000), node("a"), pod("x", cpu="3", on="a"))
    create(scheduled, pod("p", cpu="3", priorityClassName="high"))
    scheduled.clock.advance(1)
    preemptor, victim = get(scheduled, "p"), get(scheduled, "x")
    assert preemptor["status"]["nominatedNodeName"] == "a"
    assert "deletionTimestamp" in victim["metadata"]
    (event,) = events(scheduled, "x")
    assert event["message"] == f"Preempted by pod {preemptor['metadata']['uid']} on node a"
    assert (event["type"], event["reason"], event["action"]) == ("Normal", "Preempted", "Preempting")
    assert event["related"]["name"] == "p"


def test_repeated_refusals_become_a_series(scheduled: Scheduled) -> None:
    create(scheduled, pod("p"))
    scheduled.clock.advance(60)
    found = events(scheduled, "p")
    # The condition that the first attempt wrote makes a new version of the Pod: one event for each of the two.
    assert len(found) == 2
    assert found[-1]["series"]["count"] == 2
    scheduled.clock.advance(2000)
    assert len(events(scheduled, "p")) == 2


def test_without_a_scheduler_nothing_happens(unscheduled: Scheduled) -> None:
    create(unscheduled, node("a"), pod("p"))
    unscheduled.clock.advance(60)
    assert outcome(get(unscheduled, "p")) == "undecided"
    assert events(unscheduled, "p") == []


def test_a_new_scheduler_catches_up(unscheduled: Scheduled) -> None:
    create(unscheduled, node("a", cpu="3"), pod("p0", cpu="2"))
    with unscheduled.scheduler():
        unscheduled.clock.advance(1)
    create(unscheduled, pod("p1", cpu="1"), pod("p2", cpu="1"))
    with unscheduled.scheduler():
        unscheduled.clock.advance(1)
        assert outcome(get(unscheduled, "p1")) == "a"
        assert outcome(get(unscheduled, "p2")).startswith("Unschedulable: 0/1 nodes are available: 1 Insufficient cpu.")


def test_the_important_pod_is_first(unscheduled: Scheduled) -> None:
    create(unscheduled, priority_class("high", 1000), node("a", cpu="1"))
    create(unscheduled, pod("early", cpu="1"), pod("late", cpu="1", priorityClassName="high"))
    with unscheduled.scheduler():
        unscheduled.clock.advance(1)
        assert outcome(get(unscheduled, "late")) == "a"


def test_waiting_pods_are_tried_again_after_five_minutes(scheduled: Scheduled) -> None:
    """Without any event that could help: what refused it might have been mistaken."""
    create(scheduled, node("a", cpu="1"), pod("p", cpu="2"))
    scheduled.clock.advance(1)
    before = scheduled.clock.now_s()
    scheduled.cluster.run(
        scheduled.api.patch(PODS, "p", {"status": {"conditions": None}}, "default", subresource="status")
    )
    scheduled.clock.advance(200)
    assert outcome(get(scheduled, "p")) == "undecided"
    scheduled.clock.advance(160)
    assert outcome(get(scheduled, "p")).startswith("Unschedulable")
    assert scheduled.clock.now_s() - before <= 361


def test_finished_pods_take_no_room(scheduled: Scheduled) -> None:
    create(scheduled, node("a"), pod("done", cpu="4", on="a"), pod("p", cpu="1"))
    scheduled.clock.advance(1)
    assert outcome(get(scheduled, "p")).startswith("Unschedulable")
    change = {"status": {"phase": "Succeeded"}}
    scheduled.cluster.run(scheduled.api.patch(PODS, "done", change, "default", subresource="status"))
    scheduled.clock.advance(SETTLE_S)
    assert outcome(get(scheduled, "p")) == "a"


def test_a_claim_gets_the_volume_of_the_chosen_node(scheduled: Scheduled) -> None:
    create(
        scheduled,
        node("a"),
        storage_class("local", wait=True),
        volume("v", storage="local", nodes=["a"]),
        claim("c", storage="local"),
        pod("p", claims=["c"]),
    )
    scheduled.clock.advance(1)
    reserved = scheduled.cluster.run(scheduled.api.get(PERSISTENT_VOLUMES, "v"))
    assert reserved["spec"]["claimRef"]["name"] == "c"
    assert reserved["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}


def test_a_provisioner_hears_of_the_chosen_node(scheduled: Scheduled) -> None:
    create(
        scheduled,
        node("a"),
        storage_class("dynamic", wait=True, provisioner="csi.test"),
        claim("c", storage="dynamic"),
        pod("p", claims=["c"]),
    )
    scheduled.clock.advance(1)
    chosen = scheduled.cluster.run(scheduled.api.get(PERSISTENT_VOLUME_CLAIMS, "c", "default"))
    assert chosen["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == "a"


def test_volumes_that_never_come_are_given_up(scheduled: Scheduled) -> None:
    create(
        scheduled,
        node("a"),
        storage_class("dynamic", wait=True, provisioner="csi.test"),
        claim("c", storage="dynamic"),
        pod("p", claims=["c"]),
    )
    scheduled.clock.advance(605)
    failed = outcome(get(scheduled, "p"))
    assert failed.startswith(
        'SchedulerError: running PreBind plugin "VolumeBinding": binding volumes: context deadline'
    )


def test_two_pods_do_not_get_the_same_volume(scheduled: Scheduled) -> None:
    create(
        scheduled,
        node("a"),
        storage_class("local", wait=True),
        volume("v", storage="local"),
        claim("c1", storage="local"),
        claim("c2", storage="local"),
        pod("p1", claims=["c1"]),
        pod("p2", claims=["c2"]),
    )
    scheduled.clock.advance(2)
    decided = {outcome(get(scheduled, name)).partition(".")[0] for name in ("p1", "p2")}
    assert decided == {
        "undecided [nominated a]",
        "Unschedulable: 0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind",
    }


def test_a_hundred_pods_spread_evenly(scheduled: Scheduled) -> None:
    create(scheduled, *(node(f"n{number}") for number in range(10)))
    create(scheduled, *(pod(f"p{number}", cpu="100m", memory="100Mi") for number in range(100)))
    scheduled.clock.advance(1)
    placed = [get(scheduled, f"p{number}")["spec"]["nodeName"] for number in range(100)]
    assert {placed.count(f"n{number}") for number in range(10)} == {10}


def test_a_pod_that_goes_while_it_waits_is_forgotten(scheduled: Scheduled) -> None:
    outcomes = scheduled.player.play(
        Situation("gone", (), (("create", pod("p")), ("delete", ("Pod", "p")), ("create", node("a"))))
    )
    assert outcomes[-1] == {}
    assert [one["metadata"]["name"] for one in scheduled.cluster.run(scheduled.api.list(NODES)).items] == []


def test_two_schedulers_at_once_bind_every_pod_once(unscheduled: Scheduled) -> None:
    create(unscheduled, *(node(f"n{number}") for number in range(3)))
    create(unscheduled, *(pod(f"p{number}", cpu="100m") for number in range(30)))
    with unscheduled.scheduler(), unscheduled.scheduler():
        unscheduled.clock.advance(30)
    assert all(get(unscheduled, f"p{number}")["spec"].get("nodeName") for number in range(30))
    bound = [event for event in _all_events(unscheduled) if event["reason"] == "Scheduled"]
    assert len(bound) == 30


def _all_events(world: Scheduled) -> list[Object]:
    found: list[Object] = world.cluster.run(world.api.list(EVENTS, "default")).items
    return found
