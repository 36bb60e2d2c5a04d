"""Which events may help a Pod that inter-pod affinity refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.scheduler import affinity_terms
from clusters.emulated.scheduler.affinity_terms import AffinityTerm
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.kube.selectors import SelectorError

Object = dict[str, Any]


def after_pod_change(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    """A wanted Pod came, an unwanted one went, or one that did not want this one."""
    if old is not None and new is not None and new["metadata"]["uid"] == pod.uid:
        return True
    if any(one is not None and not _is_placed(one) for one in (old, new)):
        return False
    near, away = pod.affinity.required, pod.affinity.required_anti
    if old is not None and new is not None:
        return (not _all_match(near, old) and _all_match(near, new)) or (
            _all_match(away, old) and not _all_match(away, new)
        )
    if new is not None:
        return _all_match(near, new)
    assert old is not None, "an event has an object"
    return _all_match(away, old) or _all_match(_anti_terms(old), pod.pod)


def after_node_change(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    """The node is, or became, part of a domain that matters; or left one that is forbidden."""
    if new is None:
        return False
    before, now = (None if old is None else _labels(old)), _labels(new)
    for term in pod.affinity.required:
        key = term.topology_key
        if key in now and (before is None or before.get(key) != now[key]):
            return True
    for term in pod.affinity.required_anti:
        key = term.topology_key
        if before is None or (key in before and before[key] != now.get(key)):
            return True
    return False


def _is_placed(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName") or (pod.get("status") or {}).get("nominatedNodeName"))


def _anti_terms(pod: Object) -> tuple[AffinityTerm, ...]:
    try:
        return affinity_terms.read(pod).required_anti
    except SelectorError:
        return ()


def _all_match(terms: tuple[AffinityTerm, ...], pod: Object) -> bool:
    labels, namespace = _labels(pod), pod["metadata"]["namespace"]
    return bool(terms) and all(term.matches(namespace, labels, {}) for term in terms)


def _labels(obj: Object) -> Mapping[str, str]:
    return obj["metadata"].get("labels") or {}
