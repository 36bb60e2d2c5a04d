from __future__ import annotations

import pytest

from clusters.base import Cluster
from harness.kubectl import Kubectl
from suites.objects import CONFIG_MAPS, config_map

pytestmark = pytest.mark.hop(8)


def test_a_watch_tells_what_happened_in_order(cluster: Cluster) -> None:
    revision = cluster.api.get(CONFIG_MAPS)["metadata"]["resourceVersion"]
    with cluster.api.watch(f"{CONFIG_MAPS}?resourceVersion={revision}") as events:
        cluster.api.create(CONFIG_MAPS, config_map("a"))
        cluster.api.patch(f"{CONFIG_MAPS}/a", {"data": {"color": "red"}})
        cluster.api.delete(f"{CONFIG_MAPS}/a")
        seen = [next(events) for _ in range(3)]
    assert [event["type"] for event in seen] == ["ADDED", "MODIFIED", "DELETED"]
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in seen]
    assert revisions == sorted(revisions)


def test_a_watch_goes_on_where_the_one_before_it_ended(cluster: Cluster) -> None:
    first = cluster.api.create(CONFIG_MAPS, config_map("a"))
    cluster.api.create(CONFIG_MAPS, config_map("b"))
    with cluster.api.watch(f"{CONFIG_MAPS}?resourceVersion={first['metadata']['resourceVersion']}") as events:
        assert next(events)["object"]["metadata"]["name"] == "b"


def test_history_that_is_gone_is_expired_and_the_client_must_list_again(cluster: Cluster) -> None:
    with cluster.api.watch(f"{CONFIG_MAPS}?resourceVersion=1") as events:
        (error,) = list(events)
    assert error["type"] == "ERROR"
    assert (error["object"]["code"], error["object"]["reason"]) == (410, "Expired")
    assert error["object"]["message"].startswith("too old resource version: 1 (")


def test_a_list_of_compacted_history_is_expired(cluster: Cluster) -> None:
    created = cluster.api.create(CONFIG_MAPS, config_map("a"))
    before = int(created["metadata"]["resourceVersion"]) - 3
    cluster.levers.store.compact()
    answer = cluster.api.request("GET", f"{CONFIG_MAPS}?resourceVersion={before}&resourceVersionMatch=Exact")
    assert (answer.code, answer.body["reason"]) == (410, "Expired")


@pytest.mark.cluster(clock="scaled:100")
def test_a_revision_from_the_future_is_waited_for_and_then_refused(cluster: Cluster) -> None:
    answer = cluster.api.request("GET", f"{CONFIG_MAPS}?resourceVersion=999999")
    assert (answer.code, answer.body["reason"]) == (504, "Timeout")
    assert answer.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert answer.body["details"]["retryAfterSeconds"] == 1


def test_kubectl_get_watch_shows_changes_as_they_come(cluster: Cluster, kubectl: Kubectl) -> None:
    cluster.api.create(CONFIG_MAPS, config_map("a"))
    with kubectl.running("get", "configmaps", "--watch", "--output=name") as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "configmap/a\n"
        cluster.api.create(CONFIG_MAPS, config_map("b"))
        assert watching.stdout.readline() == "configmap/b\n"
