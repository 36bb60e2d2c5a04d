"""A DaemonSet's numbers, and which Pods to replace next when its template has changed. All pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from clusters.emulated.controllers import daemon_placement as placement
from clusters.emulated.controllers.pod_state import is_available, is_deleted, is_ready, seconds_of
from clusters.kube.int_or_percent import scaled_value

Object = dict[str, Any]
Objects = list[Object]

HASH_LABEL: Final = "controller-revision-hash"
GENERATION: Final = "deprecated.daemonset.template.generation"


@dataclass(slots=True)
class Changes:
    """Nodes that need a Pod, and names of Pods that have to go."""

    create: list[str] = field(default_factory=list)
    delete: list[str] = field(default_factory=list)


def template_generation(daemon_set: Object) -> int | None:
    text = (daemon_set["metadata"].get("annotations") or {}).get(GENERATION, "")
    return int(text) if text.isascii() and text.isdigit() else None


def is_updated(daemon_set: Object, pod: Object, hashed: str) -> bool:
    labels = pod["metadata"].get("labels") or {}
    generation = template_generation(daemon_set)
    by_generation = generation is not None and labels.get("pod-template-generation") == str(generation)
    return by_generation or (bool(hashed) and labels.get(HASH_LABEL) == hashed)


def oldest_first(pods: Objects) -> Objects:
    """Scheduled ones before others."""

    def order(pod: Object) -> tuple[bool, float, str]:
        metadata = pod["metadata"]
        created_s = seconds_of(metadata.get("creationTimestamp"))
        return not pod["spec"].get("nodeName"), created_s, metadata["name"]

    return sorted(pods, key=order)


def _limit(daemon_set: Object, name: str, desired: int) -> int:
    strategy = daemon_set["spec"].get("updateStrategy") or {}
    if strategy.get("type") != "RollingUpdate":
        return 0
    value = (strategy.get("rollingUpdate") or {}).get(name)
    return scaled_value(value, desired, round_up=True) if value is not None else 0


def allows_surge(daemon_set: Object) -> bool:
    return _limit(daemon_set, "maxSurge", 1) > 0


def counts_of(
    daemon_set: Object, nodes: Objects, by_node: dict[str, Objects], hashed: str, now_s: float
) -> dict[str, int]:
    """The numbers of the status; of several Pods on a node the oldest counts."""
    counts = dict.fromkeys(
        (
            "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
            "updatedNumberScheduled", "numberAvailable", "numberUnavailable",
        ),
        0,
    )  # fmt: skip
    min_ready_s = daemon_set["spec"].get("minReadySeconds") or 0
    for node in nodes:
        pods = by_node.get(node["metadata"]["name"])
        if not placement.should_run(daemon_set, node)[0]:
            counts["numberMisscheduled"] += bool(pods)
            continue
        counts["desiredNumberScheduled"] += 1
        if not pods:
            continue
        pod = oldest_first(pods)[0]
        counts["currentNumberScheduled"] += 1
        if is_ready(pod):
            counts["numberReady"] += 1
            counts["numberAvailable"] += is_available(pod, min_ready_s, now_s)
        counts["updatedNumberScheduled"] += is_updated(daemon_set, pod, hashed)
    counts["numberUnavailable"] = counts["desiredNumberScheduled"] - counts["numberAvailable"]
    return counts


def rolling_update(
    daemon_set: Object, fits: dict[str, bool], by_node: dict[str, Objects], hashed: str, now_s: float
) -> Changes:
    """What to replace now; `fits` tells for each node whether a Pod should run there."""
    desired = sum(fits.values())
    max_unavailable = _limit(daemon_set, "maxUnavailable", desired)
    max_surge = _limit(daemon_set, "maxSurge", desired)
    if desired and not max_unavailable and not max_surge:
        max_unavailable = 1
    by_node = dict(by_node)
    for node, wanted in fits.items():
        if wanted:
            by_node.setdefault(node, [])
    update = _Update(daemon_set, by_node, hashed, now_s)
    if max_surge:
        return update.with_surge(fits, desired, max_surge)
    return update.without_surge(max_unavailable)


class _Update:
    def __init__(self, daemon_set: Object, by_node: dict[str, Objects], hashed: str, now_s: float) -> None:
        self._min_ready_s: int = daemon_set["spec"].get("minReadySeconds") or 0
        self._now_s = now_s
        #: Of each node the new and the old Pod; None where there are two of a kind.
        self._pairs: dict[str, tuple[Object | None, Object | None] | None] = {}
        for node, pods in by_node.items():
            alive = [pod for pod in pods if not is_deleted(pod)]
            new = [pod for pod in alive if is_updated(daemon_set, pod, hashed)]
            old = [pod for pod in alive if pod not in new]
            one_each = len(new) <= 1 and len(old) <= 1
            pair = (new[0] if new else None, old[0] if old else None)
            self._pairs[node] = pair if one_each else None

    def _is_available(self, pod: Object) -> bool:
        return is_available(pod, self._min_ready_s, self._now_s)

    def without_surge(self, max_unavailable: int) -> Changes:
        """Old Pods that are not available go at once, others as far as the limit allows."""
        unavailable = 0
        broken: list[str] = []
        candidates: list[str] = []
        for pair in self._pairs.values():
            if pair is None:
                unavailable += 1
                continue
            new, old = pair
            if (new is None) == (old is None):
                unavailable += 1
            elif new is not None:
                unavailable += not self._is_available(new)
            elif old is not None and not self._is_available(old):
                broken.append(old["metadata"]["name"])
                unavailable += 1
            elif old is not None and unavailable < max_unavailable:
                candidates.append(old["metadata"]["name"])
        return Changes(delete=broken + candidates[: max(max_unavailable - unavailable, 0)])

    def with_surge(self, fits: dict[str, bool], desired: int, max_surge: int) -> Changes:
        """A new Pod beside the old one, which goes when the new one is available."""
        changes = Changes()
        misplaced: list[str] = []
        candidates: list[str] = []
        surge = available = 0
        for node, pair in self._pairs.items():
            if pair is None:
                surge += 1
                continue
            new, old = pair
            counted = old if old is not None else new
            available += counted is not None and self._is_available(counted)
            if old is None:
                continue
            name = old["metadata"]["name"]
            if new is not None:
                if self._is_available(new):
                    changes.delete.append(name)
                else:
                    surge += 1
            elif not self._is_available(old):
                (changes.create if fits.get(node) else changes.delete).append(node if fits.get(node) else name)
            elif not fits.get(node):
                misplaced.append(name)
            elif surge < max_surge:
                candidates.append(node)
        changes.delete += misplaced[: max(available - desired, 0)]
        changes.create += candidates[: max(max_surge - surge, 0)]
        return changes
