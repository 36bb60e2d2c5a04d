"""Which events may help a Pod that topology spread refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.emulated.scheduler.plugins.spread_constraints import Constraint, has_all_keys
from clusters.emulated.scheduler.pod_info import PodInfo

Object = dict[str, Any]


class SpreadHints:
    def __init__(self, constraints: Callable[[PodInfo], list[Constraint]]) -> None:
        self._constraints = constraints

    def after_pod_change(self, pod: PodInfo, old: Object | None, new: Object | None) -> bool:
        """A Pod that counts came, went, or began or ceased to match."""
        if any(one is not None and not _is_involved(one, pod) for one in (old, new)):
            return False
        constraints = self._constraints(pod)
        if old is not None and new is not None:
            itself = new["metadata"]["uid"] == pod.uid
            if itself and old["spec"].get("tolerations") != new["spec"].get("tolerations"):
                return any(constraint.honor_taints for constraint in constraints)
            before, after = _labels(old), _labels(new)
            return any(one.selector.matches(before) != one.selector.matches(after) for one in constraints)
        changed = new if new is not None else old
        assert changed is not None, "an event has an object"
        labels = _labels(changed)
        return any(constraint.selector.matches(labels) for constraint in constraints)

    def after_node_change(self, pod: PodInfo, old: Object | None, new: Object | None) -> bool:
        """A domain came, went or changed."""
        constraints = self._constraints(pod)
        matched_before = old is not None and has_all_keys(_labels(old), constraints)
        matches_now = new is not None and has_all_keys(_labels(new), constraints)
        if old is None or new is None:
            return matched_before or matches_now
        if matched_before != matches_now:
            return True
        if not matches_now:
            return False
        moved = any(_labels(old).get(c.topology_key) != _labels(new).get(c.topology_key) for c in constraints)
        return moved or (old.get("spec") or {}).get("taints") != (new.get("spec") or {}).get("taints")


def _labels(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("labels") or {}


def _is_involved(changed: Object, pod: PodInfo) -> bool:
    if changed["metadata"]["uid"] == pod.uid:
        return True
    if not changed["spec"].get("nodeName") and not (changed.get("status") or {}).get("nominatedNodeName"):
        return False
    return bool(changed["metadata"]["namespace"] == pod.namespace)
