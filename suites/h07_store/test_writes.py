from __future__ import annotations

import pytest

from clusters.base import Cluster
from suites.objects import CONFIG_MAPS, config_map

pytestmark = pytest.mark.hop(7)


def test_who_writes_what_they_have_not_read_gets_a_conflict(cluster: Cluster) -> None:
    read = cluster.api.create(CONFIG_MAPS, config_map("a", color="blue"))
    cluster.api.patch(f"{CONFIG_MAPS}/a", {"data": {"color": "red"}})
    read["data"]["color"] = "green"
    answer = cluster.api.request("PUT", f"{CONFIG_MAPS}/a", read)
    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert answer.body["message"] == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert cluster.api.get(f"{CONFIG_MAPS}/a")["data"] == {"color": "red"}


def test_a_name_is_given_once(cluster: Cluster) -> None:
    cluster.api.create(CONFIG_MAPS, config_map("a"))
    answer = cluster.api.request("POST", CONFIG_MAPS, config_map("a"))
    assert (answer.code, answer.body["reason"]) == (409, "AlreadyExists")
    assert answer.body["message"] == 'configmaps "a" already exists'


@pytest.mark.cluster(clock="scaled:100")
def test_a_frozen_store_times_writes_out_after_34_seconds(cluster: Cluster) -> None:
    with cluster.levers.store.freeze() as frozen:
        answer = cluster.api.request("POST", CONFIG_MAPS, config_map("a"))
        assert frozen.fired
    assert (answer.code, answer.body["reason"]) == (504, "Timeout")
    assert answer.body["message"] == (
        "Timeout: request did not complete within requested timeout - context deadline exceeded"
    )
    assert cluster.api.request("POST", CONFIG_MAPS, config_map("b")).code == 201, "healed"


@pytest.mark.cluster(clock="scaled:100")
def test_readyz_names_the_store_that_is_gone(cluster: Cluster) -> None:
    assert cluster.api.request("GET", "/readyz").code == 200
    with cluster.levers.store.down():
        answer = cluster.api.request("GET", "/readyz")
        assert answer.code == 500
        assert "[-]etcd failed: reason withheld" in answer.text
    assert cluster.api.request("GET", "/readyz").code == 200


def test_a_full_store_takes_no_more(cluster: Cluster) -> None:
    with cluster.levers.store.quota(1) as full:
        answer = cluster.api.request("POST", CONFIG_MAPS, config_map("a"))
        assert full.fired
    assert answer.code == 500
    assert answer.body["message"] == "etcdserver: mvcc: database space exceeded"
    assert cluster.api.request("GET", CONFIG_MAPS).code == 200, "reading goes on"
