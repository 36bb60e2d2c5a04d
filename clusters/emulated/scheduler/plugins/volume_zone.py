"""Volumes with zone labels are only used in their zone."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.listers import Listers
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import Cycle, Plugin
from clusters.emulated.scheduler.plugins.volume_binding import uses_claim
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import SKIP, Status, unresolvable
from clusters.emulated.scheduler.volumes.pod_claims import claim_class

Object = dict[str, Any]
# A label and the values that the volume allows.
Topology = tuple[str, frozenset[str]]

_REFUSED = unresolvable("node(s) had no available volume zone").by("VolumeZone")
_BETA_TO_GA = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_LABELS = (*_BETA_TO_GA, *_BETA_TO_GA.values())


class VolumeZone(Plugin):
    name = "VolumeZone"

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        changed = Action.ADD | Action.UPDATE
        self.registrations = (
            Registration("StorageClass", Action.ADD, _waits_for_consumer),
            Registration("Node", Action.ADD | Action.NODE_LABEL),
            Registration("PersistentVolumeClaim", changed, uses_claim),
            Registration("PersistentVolume", changed, _topology_changed),
        )

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | None:
        if not pod.claim_keys:
            return SKIP
        topologies: list[Topology] = []
        for key in pod.claim_keys:
            problem = self._add_topologies(key, topologies)
            if problem:
                return unresolvable(problem)
        if not topologies:
            return SKIP
        cycle.data[self.name] = topologies
        return None

    def _add_topologies(self, key: str, topologies: list[Topology]) -> str:
        claim = self._listers.claims.get(key)
        if claim is None:
            return f'persistentvolumeclaim "{key.partition("/")[2]}" not found'
        name = claim["spec"].get("volumeName")
        if name:
            volume = self._listers.volumes.get(name)
            if volume is None:
                return f'persistentvolume "{name}" not found'
            topologies += _topologies(volume)
            return ""
        class_name = claim_class(claim)
        if not class_name:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        storage_class = self._listers.storage_classes.get(class_name)
        if storage_class is None:
            return f'storageclass.storage.k8s.io "{class_name}" not found'
        mode = storage_class.get("volumeBindingMode")
        if mode is None:
            return f'VolumeBindingMode not set for StorageClass "{class_name}"'
        return "" if mode == "WaitForFirstConsumer" else "PersistentVolume had no name"

    def filter(self, data: list[Topology], pod: PodInfo, node: NodeInfo) -> Status | None:
        labels = node.labels
        if not any(label in labels for label in _LABELS):
            return None  # Nodes without zones are no reason to think of any.
        for label, values in data:
            value = labels.get(label)
            if value is None:
                value = labels.get(_BETA_TO_GA.get(label, label))
            if value not in values:
                return _REFUSED
        return None


def _topologies(volume: Object) -> list[Topology]:
    labels = volume["metadata"].get("labels") or {}
    found = []
    for label in _LABELS:
        value = labels.get(label)
        if value is None:
            continue
        values = [part.strip() for part in value.split("__")]
        if all(values):  # A label that cannot be read is left out.
            found.append((label, frozenset(values)))
    return found


def _waits_for_consumer(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    return new is not None and new.get("volumeBindingMode") == "WaitForFirstConsumer"


def _topology_changed(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    return old is None or new is None or _topologies(old) != _topologies(new)
