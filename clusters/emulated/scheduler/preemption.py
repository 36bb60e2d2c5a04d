"""Whom a more important Pod would have to push out, and from which node it hurts least.

Decides only; nothing is changed. Per node: take all less important Pods away in thought; if the Pod fits then,
give back as many as possible, the most important first; who is left is a victim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from clusters.emulated.clock import Clock, Randomness
from clusters.emulated.scheduler.cache import Cache
from clusters.emulated.scheduler.fit_error import Diagnosis
from clusters.emulated.scheduler.framework import Framework
from clusters.emulated.scheduler.listers import Listers
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import Cycle
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import Code, Status, unresolvable
from clusters.kube import selectors
from clusters.kube.timestamps import unix_s

Object = dict[str, Any]

_CANDIDATES_MIN: Final = 100
_CANDIDATES_PERCENT: Final = 10
_NOT_HELPFUL = unresolvable("Preemption is not helpful for scheduling")
_NO_VICTIMS = unresolvable("No preemption victims found for incoming pod")


@dataclass(frozen=True, slots=True)
class Candidate:
    """`victims` are ordered by importance, the most important first."""

    node_name: str
    victims: tuple[PodInfo, ...]
    budget_violations: int


class Preemption:
    def __init__(
        self, cache: Cache, framework: Framework, listers: Listers, clock: Clock, randomness: Randomness
    ) -> None:
        self._cache = cache
        self._framework = framework
        self._listers = listers
        self._clock = clock
        self._randomness = randomness

    @property
    def node_count(self) -> int:
        return len(self._cache.nodes)

    def why_not_eligible(self, pod: PodInfo, diagnosis: Diagnosis) -> str:
        if pod.spec.get("preemptionPolicy") == "Never":
            return "not eligible due to preemptionPolicy=Never."
        nominated = pod.nominated_node_name
        if not nominated or diagnosis.of(nominated).code is Code.UNRESOLVABLE:
            return ""
        node = self._cache.node(nominated)
        if node is not None and any(
            other.priority < pod.priority and is_leaving_for_preemption(other) for other in node.pods.values()
        ):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    def candidates(self, cycle: Cycle, pod: PodInfo, diagnosis: Diagnosis) -> tuple[list[Candidate], Diagnosis]:
        """Nodes where it would work; and, for the message, why it would not on the others."""
        refused = Diagnosis(absent=_NOT_HELPFUL)
        possible = [n for n in self._cache.nodes if diagnosis.of(n.name).code is Code.UNSCHEDULABLE]
        if not possible:
            return [], refused
        budgets = self._listers.pod_disruption_budgets.list()
        offset = int(self._randomness.fraction() * len(possible))
        enough = max(len(possible) * _CANDIDATES_PERCENT // 100, _CANDIDATES_MIN)
        harmless: list[Candidate] = []
        harmful: list[Candidate] = []
        for node in possible[offset:] + possible[:offset]:
            found = self._victims(self._framework.copy_cycle(cycle), pod, node.copy(), budgets)
            if isinstance(found, Status):
                refused.by_node[node.name] = found
                continue
            (harmful if found.budget_violations else harmless).append(found)
            if harmless and len(harmless) + len(harmful) >= enough:
                break
        return harmless + harmful, refused

    def _victims(self, cycle: Cycle, pod: PodInfo, node: NodeInfo, budgets: Sequence[Object]) -> Candidate | Status:
        lesser = [other for other in node.pods.values() if other.priority < pod.priority]
        if not lesser:
            return _NO_VICTIMS
        for other in lesser:
            self._remove(cycle, pod, other, node)
        status = self._framework.run_filters_with_nominated(cycle, pod, node)
        if status is not None:
            return status
        now_s = self._clock.now_s()
        lesser.sort(key=lambda other: importance(other, now_s))
        violating, harmless = split_by_budgets(lesser, budgets)
        victims: list[PodInfo] = []
        violations = 0
        for other in (*violating, *harmless):
            node.add(other)
            self._framework.run_add_pod(cycle, pod, other, node)
            if self._framework.run_filters_with_nominated(cycle, pod, node) is not None:
                self._remove(cycle, pod, other, node)
                victims.append(other)
                violations += other in violating
        victims.sort(key=lambda other: importance(other, now_s))
        assert victims, f"{pod.key} was refused by {node.name}, so somebody is in its way"
        return Candidate(node.name, tuple(victims), violations)

    def _remove(self, cycle: Cycle, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
        node.remove(other)
        self._framework.run_remove_pod(cycle, pod, other, node)

    def best(self, candidates: Sequence[Candidate]) -> Candidate:
        """Fewest broken budgets, least important victims, least of them, youngest."""
        now_s = self._clock.now_s()
        return min(candidates, key=lambda candidate: damage(candidate, now_s))


def damage(candidate: Candidate, now_s: float) -> tuple[int, int, int, int, float]:
    victims = candidate.victims
    highest = victims[0].priority
    # Shifted above zero, so that more victims always add up to more, also with negative priorities.
    total = sum(victim.priority + (1 << 31) for victim in victims)
    earliest_s = min(start_s(victim, now_s) for victim in victims if victim.priority == highest)
    return candidate.budget_violations, highest, total, len(victims), -earliest_s


def importance(pod: PodInfo, now_s: float) -> tuple[int, float]:
    """Sorts the most important first: by priority, then by age."""
    return -pod.priority, start_s(pod, now_s)


def start_s(pod: PodInfo, now_s: float) -> float:
    started = (pod.pod.get("status") or {}).get("startTime")
    return unix_s(started) if started else now_s


def is_leaving_for_preemption(pod: PodInfo) -> bool:
    if not pod.terminating:
        return False
    for condition in (pod.pod.get("status") or {}).get("conditions") or ():
        if condition["type"] == "DisruptionTarget":
            return bool(condition["status"] == "True" and condition.get("reason") == "PreemptionByScheduler")
    return False


def split_by_budgets(pods: Sequence[PodInfo], budgets: Sequence[Object]) -> tuple[list[PodInfo], list[PodInfo]]:
    """Those whose removal would break a disruption budget, and the others; the order is kept."""
    allowed = [(budget.get("status") or {}).get("disruptionsAllowed", 0) for budget in budgets]
    picks = [_pick(budget) for budget in budgets]
    violating: list[PodInfo] = []
    harmless: list[PodInfo] = []
    for pod in pods:
        broken = False
        for place, budget in enumerate(budgets):
            selector = picks[place]
            if (
                not pod.labels
                or budget["metadata"]["namespace"] != pod.namespace
                or selector is None
                or not selector.matches(pod.labels)
                or pod.name in ((budget.get("status") or {}).get("disruptedPods") or {})
            ):
                continue
            allowed[place] -= 1
            broken = broken or allowed[place] < 0
        (violating if broken else harmless).append(pod)
    return violating, harmless


def _pick(budget: Object) -> selectors.Selector | None:
    """None for a budget that picks nobody: an empty selector does not mean everybody here."""
    try:
        selector = selectors.from_label_selector((budget.get("spec") or {}).get("selector"))
    except selectors.SelectorError:
        return None
    return None if selector.empty or selector.selects_nothing else selector
