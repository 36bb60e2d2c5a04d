"""Get, list and watch: paging, selectors, staleness and the two forms of 410."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.client.blocking import BlockingApi
from clusters.emulated.cluster import EmulatedCluster

MAPS = "/api/v1/namespaces/shop/configmaps"


def fill(api: BlockingApi, count: int = 5) -> None:
    for number in range(count):
        api.create(MAPS, {"metadata": {"name": f"m{number}", "labels": {"odd": str(number % 2)}}})


def names(listed: dict[str, Any]) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]


def test_pages_join_to_the_whole_list_as_it_was(api: BlockingApi) -> None:
    fill(api)
    first = api.get(f"{MAPS}?limit=2")
    assert first["metadata"]["remainingItemCount"] == 3
    api.delete(f"{MAPS}/m3")
    second = api.get(f"{MAPS}?limit=2&continue={first['metadata']['continue']}")
    third = api.get(f"{MAPS}?limit=2&continue={second['metadata']['continue']}")
    assert names(first) + names(second) + names(third) == ["m0", "m1", "m2", "m3", "m4"]
    assert "continue" not in third["metadata"]


def test_selectors_choose(api: BlockingApi) -> None:
    fill(api)
    assert names(api.get(f"{MAPS}?labelSelector=odd%3D1")) == ["m1", "m3"]
    assert names(api.get(f"{MAPS}?labelSelector=odd%21%3D1")) == ["m0", "m2", "m4"]
    assert names(api.get(f"{MAPS}?fieldSelector=metadata.name%3Dm4")) == ["m4"]
    bad = api.request("GET", f"{MAPS}?fieldSelector=nope%3D1")
    assert (bad.code, bad.body["message"]) == (
        400,
        '"nope" is not a known field selector: only "metadata.name", "metadata.namespace"',
    )


def test_a_version_from_the_future_times_out(cluster: EmulatedCluster, api: BlockingApi) -> None:
    answer = api.request("GET", f"{MAPS}?resourceVersion=999999999")
    assert (answer.code, answer.body["reason"]) == (504, "Timeout")
    assert answer.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert {name.lower(): value for name, value in answer.headers}["retry-after"] == "1"


def test_a_watch_begins_with_what_is_there_and_goes_on_with_what_happens(api: BlockingApi) -> None:
    fill(api, 2)
    with api.watch(f"{MAPS}?allowWatchBookmarks=true") as events:
        assert [next(events)["object"]["metadata"]["name"] for _ in range(2)] == ["m0", "m1"]
        bookmark = next(events)
        assert bookmark["type"] == "BOOKMARK"
        assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
        api.patch(f"{MAPS}/m0", {"data": {"x": "1"}})
        deleted = api.delete(f"{MAPS}/m1")
        assert deleted["status"] == "Success"
        changed, gone = next(events), next(events)
    assert (changed["type"], changed["object"]["data"]) == ("MODIFIED", {"x": "1"})
    assert (gone["type"], gone["object"]["metadata"]["name"]) == ("DELETED", "m1")
    assert int(gone["object"]["metadata"]["resourceVersion"]) > int(changed["object"]["metadata"]["resourceVersion"])


def test_leaving_the_selection_is_a_deletion_and_entering_it_an_addition(api: BlockingApi) -> None:
    fill(api, 1)
    with api.watch(f"{MAPS}?labelSelector=odd%3D1") as events:
        api.patch(f"{MAPS}/m0", {"metadata": {"labels": {"odd": "1"}}})
        entered = next(events)
        api.patch(f"{MAPS}/m0", {"data": {"x": "1"}})
        stayed = next(events)
        left_at = api.patch(f"{MAPS}/m0", {"metadata": {"labels": {"odd": "0"}}})
        left = next(events)
    assert [event["type"] for event in (entered, stayed, left)] == ["ADDED", "MODIFIED", "DELETED"]
    assert left["object"]["metadata"]["resourceVersion"] == left_at["metadata"]["resourceVersion"]


def test_a_watch_from_too_long_ago_is_told_to_list_again(api: BlockingApi) -> None:
    with api.watch(f"{MAPS}?resourceVersion=1") as events:
        error = next(events)
    assert error["type"] == "ERROR"
    assert (error["object"]["code"], error["object"]["reason"]) == (410, "Expired")
    assert error["object"]["message"].startswith("too old resource version: 1 (")


def test_an_expired_continue_token_offers_to_go_on_inconsistently(cluster: EmulatedCluster, api: BlockingApi) -> None:
    fill(api)
    first = api.get(f"{MAPS}?limit=2")
    cache = cluster.plane.replicas[0].storages["configmaps"].cache
    api.create(MAPS, {"metadata": {"name": "later"}})

    async def forget() -> None:
        await cluster.plane.store.compact(await cluster.plane.store.current_revision())
        with cache.reinitialise():
            pass

    cluster.run(forget())
    gone = api.request("GET", f"{MAPS}?limit=2&continue={first['metadata']['continue']}")
    assert (gone.code, gone.body["reason"]) == (410, "Expired")
    rest = api.get(f"{MAPS}?continue={gone.body['metadata']['continue']}")
    assert names(rest) == ["m2", "m3", "m4"]


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("application/json;as=Table;v=v1;g=meta.k8s.io", "Table"),
        ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "PartialObjectMetadataList"),
        ("application/json", "ConfigMapList"),
    ],
)
def test_a_list_comes_in_the_form_that_is_asked_for(api: BlockingApi, accept: str, kind: str) -> None:
    fill(api, 1)
    assert api.request("GET", MAPS, headers={"Accept": accept}).body["kind"] == kind
