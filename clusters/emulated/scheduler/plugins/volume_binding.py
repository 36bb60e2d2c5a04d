"""A Pod goes where its volumes are, or where volumes for its waiting claims can be found or made."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.listers import Listers
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import Cycle, Plugin
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import SKIP, Status, unresolvable
from clusters.emulated.scheduler.volumes.binder import (
    ClaimsOfPod,
    PodVolumes,
    VolumeBinder,
    VolumeConflictError,
)
from clusters.emulated.scheduler.volumes.pod_claims import claim_names, is_for_pod, not_for_pod

Object = dict[str, Any]


class _Data:
    __slots__ = ("all_bound", "by_node", "claims")

    def __init__(self, claims: ClaimsOfPod) -> None:
        self.claims = claims
        self.by_node: dict[str, PodVolumes] = {}
        self.all_bound = True


class VolumeBinding(Plugin):
    name = "VolumeBinding"

    def __init__(self, listers: Listers, binder: VolumeBinder) -> None:
        self._listers = listers
        self._binder = binder
        changed = Action.ADD | Action.UPDATE
        self.registrations = (
            Registration("StorageClass", changed, _class_helps),
            Registration("PersistentVolumeClaim", changed, uses_claim),
            Registration("PersistentVolume", changed),
            Registration("Node", Action.ADD | Action.NODE_LABEL),
            Registration("CSINode", Action.ADD),
            Registration("CSIStorageCapacity", changed),
        )

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | None:
        names = claim_names(pod)
        if not names:
            return SKIP
        for name, ephemeral in names:
            problem = self._problem(pod, name, ephemeral)
            if problem:
                return unresolvable(problem)
        claims = self._binder.claims_of(pod)
        if claims.immediate:
            return unresolvable("pod has unbound immediate PersistentVolumeClaims")
        cycle.data[self.name] = _Data(claims)
        return None

    def _problem(self, pod: PodInfo, name: str, ephemeral: bool) -> str:
        claim = self._listers.claims.get(f"{pod.namespace}/{name}")
        if claim is None:
            if ephemeral:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            return f'persistentvolumeclaim "{name}" not found'
        if (claim.get("status") or {}).get("phase") == "Lost":
            volume = claim["spec"].get("volumeName") or ""
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
        if "deletionTimestamp" in claim["metadata"]:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if ephemeral and not is_for_pod(pod, claim):
            return not_for_pod(pod, claim)
        return ""

    def filter(self, data: _Data, pod: PodInfo, node: NodeInfo) -> Status | None:
        try:
            data.by_node[node.name] = self._binder.find(data.claims, node)
        except VolumeConflictError as conflict:
            return unresolvable(*conflict.reasons)
        return None

    def reserve(self, cycle: Cycle, pod: PodInfo, node_name: str) -> None:
        data = cycle.data.get(self.name)
        if data is not None and node_name in data.by_node:
            data.all_bound = self._binder.assume(pod, node_name, data.by_node[node_name])

    def unreserve(self, cycle: Cycle, pod: PodInfo, node_name: str) -> None:
        data = cycle.data.get(self.name)
        if data is not None and node_name in data.by_node:
            self._binder.revert(data.by_node[node_name])

    def pre_bind_pending(self, cycle: Cycle, node_name: str) -> bool:
        data = cycle.data.get(self.name)
        return data is not None and not data.all_bound

    async def pre_bind(self, cycle: Cycle, pod: PodInfo, node_name: str) -> None:
        if self.pre_bind_pending(cycle, node_name):
            await self._binder.bind(pod, node_name, cycle.data[self.name].by_node[node_name])


def uses_claim(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    if new is None or new["metadata"]["namespace"] != pod.namespace:
        return False
    return any(name == new["metadata"]["name"] for name, _ in claim_names(pod))


def _class_helps(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    if old is None or new is None:
        return True
    return bool((old.get("allowedTopologies") or []) != (new.get("allowedTopologies") or []))
