"""What PodDisruptionBudgets say, and evictions that live by it."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.clock import VirtualClock
from clusters.emulated.cluster import EmulatedCluster

BASE = "/api/v1/namespaces/shop"
BUDGETS = "/apis/policy/v1/namespaces/shop/poddisruptionbudgets"
LABELS = {"app": "web"}


@pytest.fixture
def shop(cluster: EmulatedCluster) -> EmulatedCluster:
    cluster.api.create("/api/v1/nodes", {"metadata": {"name": "node-1"}})
    cluster.api.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    account = f"{BASE}/serviceaccounts/default"
    cluster.wait_until(lambda: cluster.api.request("GET", account).code == 200, 5)
    return cluster


def settle(cluster: EmulatedCluster, seconds: float = 1.0) -> None:
    assert isinstance(cluster.clock, VirtualClock)
    cluster.clock.advance(seconds)


def make_pod(cluster: EmulatedCluster, name: str, owner: dict[str, Any] | None = None, *, ready: bool = True) -> None:
    metadata: dict[str, Any] = {"name": name, "labels": LABELS}
    if owner is not None:
        reference = {key: owner[key] for key in ("apiVersion", "kind")} | {
            key: owner["metadata"][key] for key in ("name", "uid")
        }
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    spec = {"containers": [{"name": "c", "image": "x"}], "schedulerName": "nobody", "nodeName": "node-1"}
    cluster.api.create(f"{BASE}/pods", {"metadata": metadata, "spec": spec})
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    cluster.api.patch(f"{BASE}/pods/{name}/status", {"status": {"phase": "Running", "conditions": conditions}})


def make_budget(cluster: EmulatedCluster, name: str = "budget", **spec: Any) -> None:
    cluster.api.create(BUDGETS, {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": LABELS}, **spec}})
    settle(cluster)


def replica_controller(cluster: EmulatedCluster, replicas: int) -> dict[str, Any]:
    """Something that says how many Pods there should be, and whose controller leaves the test's Pods alone."""
    cluster.run(cluster.components.stop("controllers"))
    cluster.run(cluster.components.start("disruption-controller"))
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template}
    path = "/apis/apps/v1/namespaces/shop/statefulsets"
    return cluster.api.create(path, {"metadata": {"name": "web"}, "spec": {**spec, "serviceName": "web"}})


def numbers(cluster: EmulatedCluster, name: str = "budget") -> tuple[int, int, int, int]:
    status = cluster.api.get(f"{BUDGETS}/{name}")["status"]
    return status["expectedPods"], status["currentHealthy"], status["desiredHealthy"], status["disruptionsAllowed"]


def condition(cluster: EmulatedCluster, name: str = "budget") -> tuple[str, str, str]:
    (only,) = cluster.api.get(f"{BUDGETS}/{name}")["status"]["conditions"]
    return only["status"], only["reason"], only["message"]


def events(cluster: EmulatedCluster, about: str = "budget") -> list[tuple[str, str]]:
    found = cluster.api.get(f"{BASE}/events")["items"]
    return [(each["reason"], each["message"]) for each in found if each["involvedObject"]["name"] == about]


def evict(cluster: EmulatedCluster, pod: str) -> int:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": "shop"}}
    return cluster.api.request("POST", f"{BASE}/pods/{pod}/eviction", body).code


def test_without_pods_nothing_may_be_disrupted(shop: EmulatedCluster) -> None:
    make_budget(shop, minAvailable=1)
    assert numbers(shop) == (0, 0, 1, 0)
    assert condition(shop) == ("False", "InsufficientPods", "")
    assert events(shop) == [("NoPods", "No matching pods found")]


def test_the_healthy_above_the_minimum_may_be_evicted_one_at_a_time(shop: EmulatedCluster) -> None:
    for name in ("a", "b", "c"):
        make_pod(shop, name)
    make_budget(shop, minAvailable=2)
    assert numbers(shop) == (3, 3, 2, 1)
    assert condition(shop) == ("True", "SufficientPods", "")
    assert evict(shop, "a") == 201
    settle(shop)
    assert numbers(shop) == (3, 2, 2, 0)
    assert evict(shop, "b") == 429
    make_pod(shop, "d")
    settle(shop)
    assert evict(shop, "b") == 201


def test_unready_pods_do_not_count(shop: EmulatedCluster) -> None:
    make_pod(shop, "a")
    make_pod(shop, "b", ready=False)
    make_budget(shop, minAvailable=1)
    assert numbers(shop) == (2, 1, 1, 0)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"maxUnavailable": 1}, (5, 3, 4, 0)),
        ({"maxUnavailable": "50%"}, (5, 3, 2, 1)),
        ({"minAvailable": "50%"}, (5, 3, 3, 0)),
        ({"maxUnavailable": 9}, (5, 3, 0, 3)),
    ],
)
def test_percentages_are_of_what_the_owner_wants(
    shop: EmulatedCluster, spec: dict[str, Any], expected: tuple[int, ...]
) -> None:
    owner = replica_controller(shop, 5)
    for name in ("a", "b", "c"):
        make_pod(shop, name, owner)
    make_budget(shop, **spec)
    assert numbers(shop) == expected


def test_unmanaged_pods_make_a_percentage_meaningless_and_it_says_so(shop: EmulatedCluster) -> None:
    make_pod(shop, "a")
    make_budget(shop, maxUnavailable=1)
    assert numbers(shop) == (0, 1, 0, 0)
    reason, message = events(shop)[-1]
    assert reason == "UnmanagedPods"
    assert message.startswith(
        "Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{app: web,},"
        "MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged. As a result,"
    )


def test_an_owner_that_cannot_be_scaled_fails_the_budget(shop: EmulatedCluster) -> None:
    owner = shop.api.create(f"{BASE}/configmaps", {"metadata": {"name": "odd"}})
    make_pod(shop, "a", {"apiVersion": "v1", "kind": "ConfigMap", **owner})
    make_budget(shop, maxUnavailable=1)
    text = "configmaps does not implement the scale subresource"
    assert condition(shop) == ("False", "SyncFailed", text)
    assert events(shop)[-1] == (
        "CalculateExpectedPodCountFailed", f"Failed to calculate the number of expected pods: {text}"
    )  # fmt: skip
    assert numbers(shop)[3] == 0


def test_an_eviction_that_never_happened_is_given_back_after_two_minutes(shop: EmulatedCluster) -> None:
    make_pod(shop, "a")
    make_budget(shop, minAvailable=0)
    assert numbers(shop)[3] == 1
    time = shop.api.get(f"{BUDGETS}/budget")["metadata"]["creationTimestamp"]
    shop.api.patch(f"{BUDGETS}/budget/status", {"status": {"disruptedPods": {"a": time}, "disruptionsAllowed": 0}})
    settle(shop)
    assert numbers(shop) == (1, 0, 0, 0)
    settle(shop, 121)
    assert numbers(shop) == (1, 1, 0, 1)
    assert "disruptedPods" not in shop.api.get(f"{BUDGETS}/budget")["status"]
    assert ("NotDeleted", "Pod was expected by PDB shop/shop to be deleted but it wasn't") in events(shop, "a")


def test_a_pod_that_two_budgets_cover_is_told(shop: EmulatedCluster) -> None:
    make_budget(shop, "first", minAvailable=1)
    make_budget(shop, "second", minAvailable=1)
    make_pod(shop, "a")
    settle(shop)
    reason, message = events(shop, "a")[0]
    assert reason == "MultiplePodDisruptionBudgets"
    assert message == 'Pod "shop"/"a" matches multiple PodDisruptionBudgets.  Chose "first" arbitrarily.'


def test_a_stale_disruption_target_is_taken_back(shop: EmulatedCluster) -> None:
    make_pod(shop, "a")
    now = shop.api.get(f"{BASE}/pods/a")["metadata"]["creationTimestamp"]
    target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    target["lastTransitionTime"] = now
    shop.api.patch(f"{BASE}/pods/a/status", {"status": {"conditions": [target]}})
    settle(shop, 119)
    assert shop.api.get(f"{BASE}/pods/a")["status"]["conditions"][0]["status"] == "True"
    settle(shop, 2)
    (only,) = shop.api.get(f"{BASE}/pods/a")["status"]["conditions"]
    assert (only["status"], only.get("reason")) == ("False", None)
