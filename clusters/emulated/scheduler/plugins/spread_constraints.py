"""Topology spread constraints, read from a Pod or made up from what the Pod belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from clusters.emulated.scheduler.fit_error import PluginError
from clusters.emulated.scheduler.listers import Listers
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.node_selection import NodeMatcher
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.tolerations import untolerated
from clusters.kube import selectors
from clusters.kube.selectors import Requirement, Selector, SelectorError

Object = dict[str, Any]

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class Constraint:
    """`self_match` is 1 when the Pod itself counts, else 0."""

    max_skew: int
    topology_key: str
    selector: Selector
    selector_key: str
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False
    self_match: int = 0


def constraints_of(pod: PodInfo, action: str) -> list[Constraint]:
    """Those of the Pod that are hard (`DoNotSchedule`) or soft (`ScheduleAnyway`)."""
    found = []
    for given in pod.spec.get("topologySpreadConstraints") or ():
        if given.get("whenUnsatisfiable") != action:
            continue
        try:
            selector = selectors.from_label_selector(given.get("labelSelector"))
        except SelectorError as unreadable:
            raise PluginError(
                f"get constraints from pod: obtaining pod's hard topology spread constraints: {unreadable}"
            ) from unreadable
        selector = _with_label_keys(selector, given.get("matchLabelKeys") or (), pod.labels)
        found.append(
            Constraint(
                given["maxSkew"],
                given["topologyKey"],
                selector,
                _key(selector),
                given.get("minDomains") or 1,
                (given.get("nodeAffinityPolicy") or "Honor") == "Honor",
                (given.get("nodeTaintsPolicy") or "Ignore") == "Honor",
                int(selector.matches(pod.labels)),
            )
        )
    return found


def _with_label_keys(selector: Selector, keys: Sequence[str], labels: Mapping[str, str]) -> Selector:
    more = [Requirement(key, "=", (labels[key],)) for key in keys if key in labels]
    if not more or selector.selects_nothing:
        return selector
    return Selector([*more, *selector.requirements])


def _key(selector: Selector) -> str:
    return "\0" if selector.selects_nothing else str(selector)


def default_constraints(pod: PodInfo, listers: Listers) -> list[Constraint]:
    """At most 3 more on a node and 5 more in a zone than elsewhere, softly, for Pods of a Service or controller."""
    selector = default_selector(pod, listers)
    if selector.empty:
        return []
    key = _key(selector)
    own = int(selector.matches(pod.labels))
    return [
        Constraint(3, HOSTNAME, selector, key, self_match=own),
        Constraint(5, ZONE, selector, key, self_match=own),
    ]


def default_selector(pod: PodInfo, listers: Listers) -> Selector:
    """What the Pod's Services and its controller select, together."""
    wanted: dict[str, str] = {}
    for service in listers.services_of(pod.namespace):
        selector = (service.get("spec") or {}).get("selector")
        if selector and selector.items() <= pod.labels.items():
            wanted.update(selector)
    owner = next((one for one in pod.pod["metadata"].get("ownerReferences") or () if one.get("controller")), None)
    if owner is None:
        return selectors.from_map(wanted)
    key = f"{pod.namespace}/{owner['name']}"
    kind = (owner["apiVersion"], owner["kind"])
    if kind == ("v1", "ReplicationController"):
        controller = listers.replication_controllers.get(key)
        wanted.update((controller["spec"].get("selector") or {}) if controller else {})
        return selectors.from_map(wanted)
    store = {
        ("apps/v1", "ReplicaSet"): listers.replica_sets,
        ("apps/v1", "StatefulSet"): listers.stateful_sets,
    }.get(kind)
    controller = store.get(key) if store is not None else None
    base = selectors.from_map(wanted)
    if controller is None:
        return base
    more = _selector_of(controller)
    return Selector([*base.requirements, *more.requirements]) if base.requirements else more


def _selector_of(controller: Object) -> Selector:
    selector = controller["spec"].get("selector") or {}
    labels = selector.get("matchLabels")
    if labels and not selector.get("matchExpressions"):
        return selectors.from_map(labels)  # The api-server has checked it; reading it plainly is quick.
    return selectors.from_label_selector(selector)


def has_all_keys(labels: Mapping[str, str], constraints: Sequence[Constraint]) -> bool:
    return all(constraint.topology_key in labels for constraint in constraints)


def counts_node(constraint: Constraint, pod: PodInfo, node: NodeInfo, matches: NodeMatcher) -> bool:
    """Whether a node takes part: by default only where the Pod's node affinity would let it go."""
    if constraint.honor_affinity and not matches(node.labels, node.name):
        return False
    return not constraint.honor_taints or untolerated(pod.tolerations, node.hard_taints) is None
