"""Volumes that only one Pod may use: certain disks, and claims of mode ReadWriteOncePod."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.cache import Cache
from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.listers import Listers
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.plugin import Cycle, Plugin
from clusters.emulated.scheduler.plugins.volume_binding import uses_claim
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import SKIP, Status, unresolvable, unschedulable

Object = dict[str, Any]

_DISK_CONFLICT = unschedulable("node(s) had no available disk").by("VolumeRestrictions")
_IN_USE = unschedulable(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
).by("VolumeRestrictions")
_DISKS = ("gcePersistentDisk", "awsElasticBlockStore", "rbd", "iscsi")


class _Data:
    __slots__ = ("conflicts", "exclusive")

    def __init__(self, exclusive: frozenset[str], conflicts: int) -> None:
        self.exclusive = exclusive
        self.conflicts = conflicts


class VolumeRestrictions(Plugin):
    name = "VolumeRestrictions"

    def __init__(self, cache: Cache, listers: Listers) -> None:
        self._cache = cache
        self._listers = listers
        self.registrations = (
            Registration("Pod", Action.DELETE, _freed_a_volume),
            Registration("Node", Action.ADD),
            Registration("PersistentVolumeClaim", Action.ADD, uses_claim),
        )

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | None:
        if not pod.volumes:
            return SKIP
        exclusive = set()
        for key in pod.claim_keys:
            claim = self._listers.claims.get(key)
            if claim is None:
                return unresolvable(f'persistentvolumeclaim "{key.partition("/")[2]}" not found')
            if "ReadWriteOncePod" in (claim["spec"].get("accessModes") or ()):
                exclusive.add(key)
        conflicts = sum(self._cache.claim_in_use(key) for key in exclusive)
        if not conflicts and not any(_is_disk(volume) for volume in pod.volumes):
            return SKIP
        cycle.data[self.name] = _Data(frozenset(exclusive), conflicts)
        return None

    def filter(self, data: _Data, pod: PodInfo, node: NodeInfo) -> Status | None:
        disks = [volume for volume in pod.volumes if _is_disk(volume)]
        if disks and any(_conflict(disk, other) for disk in disks for other in node.pods.values()):
            return _DISK_CONFLICT
        return _IN_USE if data.conflicts > 0 else None

    def copy_data(self, data: _Data) -> _Data:
        return _Data(data.exclusive, data.conflicts)

    def add_pod(self, data: _Data, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
        data.conflicts += sum(key in data.exclusive for key in other.claim_keys)

    def remove_pod(self, data: _Data, pod: PodInfo, other: PodInfo, node: NodeInfo) -> None:
        data.conflicts -= sum(key in data.exclusive for key in other.claim_keys)


def _is_disk(volume: Object) -> bool:
    return any(volume.get(kind) for kind in _DISKS)


def _conflict(volume: Object, other: PodInfo) -> bool:
    return any(_same_disk(volume, existing) for existing in other.volumes)


def _same_disk(one: Object, other: Object) -> bool:
    """The same disk, unless both only read it (an EBS disk cannot even be shared for reading)."""
    for kind in _DISKS:
        first, second = one.get(kind), other.get(kind)
        if not first or not second:
            continue
        both_read = bool(first.get("readOnly") and second.get("readOnly"))
        if kind == "awsElasticBlockStore":
            return bool(first["volumeID"] == second["volumeID"])
        if kind == "gcePersistentDisk":
            same = first["pdName"] == second["pdName"]
        elif kind == "iscsi":
            same = first["iqn"] == second["iqn"]
        else:
            same = bool(set(first["monitors"]) & set(second["monitors"])) and all(
                (first.get(name) or default) == (second.get(name) or default)
                for name, default in (("pool", "rbd"), ("image", ""))
            )
        if same and not both_read:
            return True
    return False


def _freed_a_volume(pod: PodInfo, old: Object | None, new: Object | None) -> bool:
    if old is None or old["metadata"]["namespace"] != pod.namespace:
        return False
    deleted = PodInfo(old)
    if any(_conflict(volume, deleted) for volume in pod.volumes if _is_disk(volume)):
        return True
    return bool(set(pod.claim_keys) & set(deleted.claim_keys))
