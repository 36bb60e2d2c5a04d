"""nodeSelector and node affinity: required terms filter, preferred terms score."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.node_selection import NodeMatcher, node_selector_term, required_node_affinity
from clusters.emulated.scheduler.plugin import Cycle, Plugin, normalised
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import SKIP, Status, unresolvable

Object = dict[str, Any]

_REFUSED = unresolvable("node(s) didn't match Pod's node affinity/selector").by("NodeAffinity")
_CONFLICT = unresolvable("pod affinity terms conflict")


class NodeAffinity(Plugin):
    name = "NodeAffinity"

    def __init__(self) -> None:
        self.registrations = (Registration("Node", Action.ADD | Action.NODE_LABEL, _began_to_match),)

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | frozenset[str] | None:
        matcher = required_node_affinity(pod.pod)
        if matcher is None:
            return SKIP
        cycle.data[self.name] = matcher
        names = _named_nodes(pod.spec)
        if names is None:
            return None
        return names or _CONFLICT

    def filter(self, data: NodeMatcher, pod: PodInfo, node: NodeInfo) -> Status | None:
        return None if data(node.labels, node.name) else _REFUSED

    def scores(self, cycle: Cycle, pod: PodInfo, nodes: list[NodeInfo]) -> list[int] | None:
        terms = _node_affinity(pod.spec).get("preferredDuringSchedulingIgnoredDuringExecution")
        if not terms:
            return None
        weighted = [
            (int(term["weight"]), matcher)
            for term in terms
            if term.get("weight") and (matcher := node_selector_term(term.get("preference") or {}))
        ]
        return normalised(
            [sum(weight for weight, matches in weighted if matches(node.labels, node.name)) for node in nodes]
        )


def _node_affinity(spec: Object) -> Object:
    return (spec.get("affinity") or {}).get("nodeAffinity") or {}


def _named_nodes(spec: Object) -> frozenset[str] | None:
    """The only nodes that can match, if every term names nodes (as the Pods of a DaemonSet do)."""
    required = _node_affinity(spec).get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = required.get("nodeSelectorTerms")
    if not terms:
        return None
    names: frozenset[str] = frozenset()
    for term in terms:
        of_term: frozenset[str] | None = None
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("operator") == "In":
                values = frozenset(field.get("values") or ())
                of_term = values if of_term is None else of_term & values
        if of_term is None:
            return None
        names |= of_term
    return names


def _began_to_match(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    matcher = required_node_affinity(pod.pod)
    if matcher is None or new is None:
        return matcher is None
    if not _matches(matcher, new):
        return False
    return old is None or not _matches(matcher, old)


def _matches(matcher: NodeMatcher, node: Object) -> bool:
    return matcher(node["metadata"].get("labels") or {}, node["metadata"]["name"])
