"""Objects by key and by index."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.indexer import Indexer, key_of, split_key


def pod(name: str, node: str = "", namespace: str = "shop", owner: str = "") -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if owner:
        metadata["ownerReferences"] = [{"uid": "other"}, {"uid": owner, "controller": True}]
    return {"metadata": metadata, "spec": {"nodeName": node}}


def names(objects: list[dict[str, Any]]) -> list[str]:
    return [obj["metadata"]["name"] for obj in objects]


def by_node(obj: dict[str, Any]) -> list[str]:
    return [obj["spec"]["nodeName"]] if obj["spec"]["nodeName"] else []


def stored(*objects: dict[str, Any]) -> Indexer:
    store = Indexer()
    for obj in objects:
        store.put(key_of(obj), obj)
    return store


def test_keys() -> None:
    assert key_of(pod("a")) == "shop/a"
    assert key_of({"metadata": {"name": "node-1"}}) == "node-1"
    assert split_key("shop/a") == ("shop", "a")
    assert split_key("node-1") == ("", "node-1")


def test_lists_are_of_a_namespace_or_of_all() -> None:
    store = stored(pod("a"), pod("b", namespace="bank"), pod("c"))
    assert names(store.list()) == ["a", "b", "c"]
    assert names(store.list("shop")) == ["a", "c"]
    assert store.list("nowhere") == []


def test_an_index_follows_its_objects() -> None:
    store = stored(pod("a"), pod("b", "node-1"))
    store.add_index("node", by_node)
    assert names(store.by_index("node", "node-1")) == ["b"], "what was there before counts as well"
    store.put("shop/a", pod("a", "node-1"))
    assert names(store.by_index("node", "node-1")) == ["b", "a"]
    store.put("shop/b", pod("b", "node-2"))
    assert names(store.by_index("node", "node-1")) == ["a"]
    store.pop("shop/a")
    assert store.by_index("node", "node-1") == []
    assert store.pop("shop/a") is None


def test_an_index_gives_the_newest_version() -> None:
    store = stored(pod("a", "node-1"))
    store.add_index("node", by_node)
    newer = pod("a", "node-1")
    store.put("shop/a", newer)
    assert store.by_index("node", "node-1")[0] is newer
    assert store.list("shop")[0] is newer


def test_owned_means_controlled() -> None:
    store = stored(pod("a", owner="rs-1"), pod("b"), pod("c", owner="rs-1"))
    assert names(store.owned_by("rs-1")) == ["a", "c"]
    assert store.owned_by("other") == []
