"""Whom it hurts least to push out."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.preemption import Candidate, damage, importance, split_by_budgets
from tests.clusters.emulated.scheduler.builders import pod

NOW_S = 2_000_000_000.0


def victim(name: str, *, started: str = "", app: str = "", **more: Any) -> PodInfo:
    made = pod(name, labels={"app": app} if app else {}, **more)
    made["metadata"]["uid"] = name
    if started:
        made["status"] = {"startTime": started}
    return PodInfo(made)


def best(*candidates: Candidate) -> str:
    return min(candidates, key=lambda candidate: damage(candidate, NOW_S)).node_name


def test_budgets_come_before_everything() -> None:
    dear = Candidate("dear", (victim("v", priority=100),), 0)
    forbidden = Candidate("forbidden", (victim("w", priority=1),), 1)
    assert best(forbidden, dear) == "dear"


def test_then_the_least_important_of_the_most_important_victims() -> None:
    one = Candidate("one", (victim("v", priority=5),), 0)
    many = Candidate("many", tuple(victim(f"w{number}", priority=4) for number in range(9)), 0)
    assert best(one, many) == "many"


def test_then_the_fewest_also_of_negative_importance() -> None:
    one = Candidate("one", (victim("v", priority=-5),), 0)
    two = Candidate("two", (victim("w", priority=-5), victim("x", priority=-5)), 0)
    assert best(two, one) == "one"


def test_then_the_youngest() -> None:
    old = Candidate("old", (victim("v", started="2026-01-01T00:00:00Z"),), 0)
    young = Candidate("young", (victim("w", started="2026-02-01T00:00:00Z"),), 0)
    assert best(old, young) == "young"


def test_the_older_of_equals_is_more_important() -> None:
    old, young = victim("old", started="2026-01-01T00:00:00Z"), victim("young")
    high = victim("high", priority=1)
    assert sorted((young, old, high), key=lambda one: importance(one, NOW_S)) == [high, old, young]


def test_a_budget_is_used_up_one_by_one() -> None:
    budget = {
        "metadata": {"namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}},
        "status": {"disruptionsAllowed": 1, "disruptedPods": {"gone": "now"}},
    }
    pods = [victim(name, app="a") for name in ("gone", "first", "second")] + [victim("other", app="b")]
    violating, harmless = split_by_budgets(pods, [budget])
    assert [one.name for one in violating] == ["second"]
    assert [one.name for one in harmless] == ["gone", "first", "other"]


def test_an_empty_budget_protects_nobody() -> None:
    budget = {"metadata": {"namespace": "default"}, "spec": {"selector": {}}, "status": {"disruptionsAllowed": 0}}
    assert split_by_budgets([victim("v", app="a")], [budget])[0] == []
