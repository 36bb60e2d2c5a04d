"""A CSI driver can attach only so many volumes to a node."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.fit_error import PluginError
from clusters.emulated.scheduler.listers import Listers
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import Cycle, Plugin
from clusters.emulated.scheduler.plugins.volume_binding import uses_claim
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import SKIP, Status, unresolvable, unschedulable
from clusters.emulated.scheduler.volumes.pod_claims import (
    claim_class,
    claim_names,
    is_for_pod,
    key_of,
    not_for_pod,
)

Object = dict[str, Any]

_REFUSED = unschedulable("node(s) exceed max volume count").by("NodeVolumeLimits")


class NodeVolumeLimits(Plugin):
    name = "NodeVolumeLimits"

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self.registrations = (
            Registration("CSINode", Action.ADD),
            Registration("CSINode", Action.UPDATE, _limit_rose),
            Registration("Pod", Action.DELETE, _freed_a_volume),
            Registration("PersistentVolumeClaim", Action.ADD, uses_claim),
            Registration("VolumeAttachment", Action.DELETE, _uses_claims),
        )

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | None:
        return None if claim_names(pod) else SKIP

    def filter(self, data: Any, pod: PodInfo, node: NodeInfo) -> Status | None:
        wanted: dict[str, str] = {}
        problem = self._collect(pod, wanted, new=True)
        if problem:
            return unresolvable(problem)
        limits = _limits(self._listers.csi_nodes.get(node.name))
        if not wanted or not limits:
            return None
        attached: dict[str, str] = {}
        for other in node.pods.values():
            if other.volumes:
                self._collect(other, attached, new=False)
        attached = {**self._attachments(node.name), **attached}
        for driver in {*wanted.values()}:
            if driver not in limits:
                continue
            new = sum(1 for volume, of in wanted.items() if of == driver and volume not in attached)
            if new and new + sum(of == driver for of in attached.values()) > limits[driver]:
                return _REFUSED
        return None

    def _collect(self, pod: PodInfo, volumes: dict[str, str], *, new: bool) -> str:
        """Adds volume → driver. Returns what is missing, for a new Pod."""
        for name, ephemeral in claim_names(pod):
            claim = self._listers.claims.get(f"{pod.namespace}/{name}")
            if claim is None:
                if new:
                    return f'looking up PVC {pod.namespace}/{name}: persistentvolumeclaim "{name}" not found'
                continue
            if ephemeral and not is_for_pod(pod, claim):
                raise PluginError(not_for_pod(pod, claim))
            driver, handle = self._driver_of(claim)
            if driver and handle:
                volumes[f"{driver}/{handle}"] = driver
        return ""

    def _driver_of(self, claim: Object) -> tuple[str, str]:
        name = claim["spec"].get("volumeName")
        volume = self._listers.volumes.get(name) if name else None
        if volume is not None:
            source = volume["spec"].get("csi")
            return (source["driver"], source["volumeHandle"]) if source else ("", "")
        storage_class = self._listers.storage_classes.get(claim_class(claim))
        if storage_class is None:
            return "", ""
        # The volume does not exist yet; its claim stands for it.
        return storage_class.get("provisioner") or "", f"\0{key_of(claim)}"

    def _attachments(self, node_name: str) -> dict[str, str]:
        found = {}
        for attachment in self._listers.volume_attachments.list():
            spec = attachment["spec"]
            if spec.get("nodeName") != node_name:
                continue
            volume = self._listers.volumes.get((spec.get("source") or {}).get("persistentVolumeName") or "")
            source = volume["spec"].get("csi") if volume else None
            if source:
                found[f"{source['driver']}/{source['volumeHandle']}"] = source["driver"]
        return found


def _limits(csi_node: Object | None) -> dict[str, int]:
    if csi_node is None:
        return {}
    return {
        driver["name"]: driver["allocatable"]["count"]
        for driver in csi_node["spec"].get("drivers") or ()
        if (driver.get("allocatable") or {}).get("count") is not None
    }


def _limit_rose(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    before, now = _limits(old), _limits(new)
    return any(count > before.get(driver, 0) for driver, count in now.items())


def _freed_a_volume(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    if old is None or not (old["spec"].get("nodeName") or (old.get("status") or {}).get("nominatedNodeName")):
        return False
    return any(
        volume.get("persistentVolumeClaim") or volume.get("ephemeral") for volume in old["spec"].get("volumes") or ()
    )


def _uses_claims(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    return bool(pod.claim_keys)
