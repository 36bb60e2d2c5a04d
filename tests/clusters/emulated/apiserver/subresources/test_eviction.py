"""Evicting Pods under disruption budgets."""

from __future__ import annotations

from typing import Any

import pytest

from clusters.emulated.client.blocking import BlockingApi

PODS = "/api/v1/namespaces/shop/pods"
BUDGETS = "/apis/policy/v1/namespaces/shop/poddisruptionbudgets"
STRATEGIC = "application/strategic-merge-patch+json"


def evict(api: BlockingApi, name: str, query: str = "") -> dict[str, Any]:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return api.create(f"{PODS}/{name}/eviction{query}", eviction)


@pytest.fixture
def running(api: BlockingApi, make_pod: Any) -> Any:
    def make(name: str, ready: bool = True) -> None:
        make_pod(name, nodeName="n1")
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
        api.patch(f"{PODS}/{name}/status", {"status": status}, STRATEGIC)

    return make


@pytest.fixture
def budget(api: BlockingApi) -> Any:
    def make(name: str = "web", *, allowed: int = 0, current: int = 1, desired: int = 1, **spec: Any) -> None:
        selector = {"matchLabels": {"app": "web"}}
        api.create(BUDGETS, {"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": selector, **spec}})
        status = {
            "observedGeneration": 1, "currentHealthy": current, "desiredHealthy": desired,
            "disruptionsAllowed": allowed, "expectedPods": 2,
        }  # fmt: skip
        api.patch(f"{BUDGETS}/{name}/status", {"status": status})

    return make


def test_without_a_budget_the_pod_is_deleted_and_says_why(api: BlockingApi, running: Any) -> None:
    running("web")
    assert evict(api, "web")["status"] == "Success"
    pod = api.get(f"{PODS}/web")
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30
    target = next(each for each in pod["status"]["conditions"] if each["type"] == "DisruptionTarget")
    assert (target["reason"], target["message"]) == ("EvictionByEvictionAPI", "Eviction API: evicting")


def test_a_budget_without_room_refuses(api: BlockingApi, running: Any, budget: Any, refused: Any) -> None:
    running("web")
    budget()
    error = refused(lambda: evict(api, "web"))
    assert (error.code, error.reason) == (429, "TooManyRequests")
    assert error.message == "Cannot evict pod as it would violate the pod's disruption budget."
    assert "deletionTimestamp" not in api.get(f"{PODS}/web")["metadata"]


def test_a_budget_with_room_is_used_up(api: BlockingApi, running: Any, budget: Any, refused: Any) -> None:
    running("one")
    running("two")
    budget(allowed=1, current=2)
    evict(api, "one", "?dryRun=All")
    evict(api, "one")
    status = api.get(f"{BUDGETS}/web")["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["one"])
    assert status["conditions"][0]["reason"] == "InsufficientPods"
    assert refused(lambda: evict(api, "two")).code == 429


def test_two_budgets_are_too_many(api: BlockingApi, running: Any, budget: Any, refused: Any) -> None:
    running("web")
    budget("a", allowed=1)
    budget("b", allowed=1)
    error = refused(lambda: evict(api, "web"))
    assert (error.code, error.message.partition(",")[0]) == (500, "This pod has more than one PodDisruptionBudget")


@pytest.mark.parametrize(
    ("current", "policy", "evicted"),
    [(1, "IfHealthyBudget", True), (0, "IfHealthyBudget", False), (0, "AlwaysAllow", True)],
)
def test_an_unhealthy_pod_may_go_when_it_disrupts_nothing(
    api: BlockingApi, running: Any, budget: Any, refused: Any, current: int, policy: str, evicted: bool
) -> None:
    running("web", ready=False)
    budget(current=current, unhealthyPodEvictionPolicy=policy)
    if evicted:
        evict(api, "web")
        assert api.get(f"{PODS}/web")["metadata"]["deletionTimestamp"]
    else:
        assert refused(lambda: evict(api, "web")).code == 429


def test_a_pending_pod_asks_no_budget(api: BlockingApi, make_pod: Any, budget: Any, refused: Any) -> None:
    make_pod("web")
    budget()
    evict(api, "web")
    assert refused(lambda: api.get(f"{PODS}/web")).code == 404
