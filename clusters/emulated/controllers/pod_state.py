"""What controllers ask about a Pod: is it active, ready, available, and which of many goes first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cmp_to_key
from typing import Any, Final

Object = dict[str, Any]

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_TERMINAL: Final = frozenset(("Succeeded", "Failed"))
_PHASE_ORDER: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def phase(pod: Object) -> str:
    found: str = (pod.get("status") or {}).get("phase", "")
    return found


def is_terminal(pod: Object) -> bool:
    return phase(pod) in _TERMINAL


def is_deleted(pod: Object) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def is_active(pod: Object) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and phase(pod) not in _TERMINAL


def is_terminating(pod: Object) -> bool:
    """Deleted, and its containers may still run."""
    return "deletionTimestamp" in pod["metadata"] and phase(pod) not in _TERMINAL


def condition(obj: Object, kind: str) -> Object | None:
    for each in (obj.get("status") or {}).get("conditions") or ():
        if each["type"] == kind:
            found: Object = each
            return found
    return None


def is_ready(pod: Object) -> bool:
    for each in (pod.get("status") or {}).get("conditions") or ():
        if each["type"] == "Ready":
            return bool(each["status"] == "True")
    return False


def seconds_of(time: str | None) -> float:
    """A metav1.Time as Unix time; 0 for the zero time."""
    return datetime.fromisoformat(time).timestamp() if time else 0.0


def ready_since_s(pod: Object) -> float:
    found = condition(pod, "Ready")
    return seconds_of(found.get("lastTransitionTime")) if found and found["status"] == "True" else 0.0


def is_available(pod: Object, min_ready_s: int, now_s: float) -> bool:
    """Ready for at least `min_ready_s`."""
    if not is_ready(pod):
        return False
    if not min_ready_s:
        return True
    since_s = ready_since_s(pod)
    return bool(since_s) and since_s + min_ready_s <= now_s


def next_availability_s(pods: Iterable[Object], min_ready_s: int, now_s: float) -> float | None:
    """How long until the next of these ready Pods becomes available; None if none is on its way."""
    waits = [
        wait_s for pod in pods if (since_s := ready_since_s(pod)) and (wait_s := since_s + min_ready_s - now_s) > 0
    ]
    return min(waits) if waits and min_ready_s > 0 else None


def deletion_cost(pod: Object) -> int:
    """What its annotation says, 0 if that is no number of 32 bits."""
    text = (pod["metadata"].get("annotations") or {}).get(DELETION_COST, "0")
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isascii() or not digits.isdigit() or text.startswith("+") or (digits[0] == "0" and digits != "0"):
        return 0
    value = int(text)
    return value if -(1 << 31) <= value < 1 << 31 else 0


def _restarts(pod: Object) -> tuple[int, int]:
    """The most restarts of a container, and of a sidecar."""
    status = pod.get("status") or {}
    regular = max((each.get("restartCount", 0) for each in status.get("containerStatuses") or ()), default=0)
    sidecars = {
        each["name"] for each in pod["spec"].get("initContainers") or () if each.get("restartPolicy") == "Always"
    }
    restarts = (
        each.get("restartCount", 0) for each in status.get("initContainerStatuses") or () if each["name"] in sidecars
    )
    return regular, max(restarts, default=0)


def _younger_first(first_s: float, second_s: float) -> int:
    """Negative if the first is younger; an unknown time counts as youngest."""
    if first_s == second_s:
        return 0
    if not first_s or not second_s:
        return -1 if not first_s else 1
    return -1 if first_s > second_s else 1


def _age_class(then_s: float, now_s: float) -> int:
    """Ages by powers of two, so that scaling down spreads over Pods of about the same age."""
    age_ns = (now_s - then_s) * 1e9
    return int(math.log2(age_ns)) if age_ns > 0 else -1


def _by_age(first: Object, second: Object, times_s: tuple[float, float], now_s: float | None) -> int:
    if now_s is None or not times_s[0] or not times_s[1]:
        return _younger_first(*times_s)
    difference = _age_class(times_s[0], now_s) - _age_class(times_s[1], now_s)
    if difference:
        return difference
    return -1 if first["metadata"]["uid"] < second["metadata"]["uid"] else 1


def deletion_order(
    pods: Iterable[Object], now_s: float | None = None, rank: Callable[[Object], int] = lambda _: 0
) -> list[Object]:
    """Which Pods to delete first: without a node, pending, not ready, cheap, crowded (`rank`), young, restarting.

    Without `now_s` ages are compared exactly and costs do not count, as Jobs and DaemonSets want it.
    """

    def compare(first: Object, second: Object) -> int:
        nodes = bool(first["spec"].get("nodeName")), bool(second["spec"].get("nodeName"))
        if nodes[0] != nodes[1]:
            return -1 if not nodes[0] else 1
        phases = _PHASE_ORDER.get(phase(first), 0), _PHASE_ORDER.get(phase(second), 0)
        if phases[0] != phases[1]:
            return phases[0] - phases[1]
        ready = is_ready(first), is_ready(second)
        if ready[0] != ready[1]:
            return -1 if not ready[0] else 1
        if now_s is not None:
            costs = deletion_cost(first), deletion_cost(second)
            if costs[0] != costs[1]:
                return costs[0] - costs[1]
            ranks = rank(first), rank(second)
            if ranks[0] != ranks[1]:
                return ranks[1] - ranks[0]
        if ready[0]:
            since_s = ready_since_s(first), ready_since_s(second)
            if since_s[0] != since_s[1]:
                return _by_age(first, second, since_s, now_s)
        restarts = _restarts(first), _restarts(second)
        if restarts[0] != restarts[1]:
            return -1 if restarts[0] > restarts[1] else 1
        created_s = (
            seconds_of(first["metadata"].get("creationTimestamp")),
            seconds_of(second["metadata"].get("creationTimestamp")),
        )
        if created_s[0] != created_s[1]:
            return _by_age(first, second, created_s, now_s)
        return 0

    return sorted(pods, key=cmp_to_key(compare))
