"""Turns what the informers see into the scheduler's own state: the cache, the queue, and events that may help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from clusters.emulated.client.informers import InformerFactory
from clusters.emulated.client.resources import (
    CSI_DRIVERS,
    CSI_NODES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    SERVICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Resource,
)
from clusters.emulated.scheduler.cache import Cache
from clusters.emulated.scheduler.cluster_events import Action, Event, node_changes, pod_changes
from clusters.emulated.scheduler.listers import Listers
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.queue.scheduling_queue import SchedulingQueue

Object = dict[str, Any]

CSI_STORAGE_CAPACITIES: Final = Resource("storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity")
RESOURCE_CLAIMS: Final = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")

# Pods that are over take no room; for this informer they are gone.
NOT_OVER: Final = "status.phase!=Succeeded,status.phase!=Failed"

_POD_ADDED = Event("Pod", Action.ADD)
_POD_DELETED = Event("Pod", Action.DELETE)

# Only told to the queue; plugins look them up in the listers.
_OTHERS: Final = (
    PERSISTENT_VOLUMES,
    PERSISTENT_VOLUME_CLAIMS,
    STORAGE_CLASSES,
    CSI_NODES,
    CSI_DRIVERS,
    CSI_STORAGE_CAPACITIES,
    VOLUME_ATTACHMENTS,
    RESOURCE_CLAIMS,
)


def listers_of(informers: InformerFactory) -> Listers:
    return Listers(
        pods=informers.informer(PODS, field_selector=NOT_OVER).store,
        nodes=informers.informer(NODES).store,
        namespaces=informers.informer(NAMESPACES).store,
        claims=informers.informer(PERSISTENT_VOLUME_CLAIMS).store,
        volumes=informers.informer(PERSISTENT_VOLUMES).store,
        storage_classes=informers.informer(STORAGE_CLASSES).store,
        csi_nodes=informers.informer(CSI_NODES).store,
        csi_drivers=informers.informer(CSI_DRIVERS).store,
        csi_storage_capacities=informers.informer(CSI_STORAGE_CAPACITIES).store,
        volume_attachments=informers.informer(VOLUME_ATTACHMENTS).store,
        services=informers.informer(SERVICES).store,
        replication_controllers=informers.informer(REPLICATION_CONTROLLERS).store,
        replica_sets=informers.informer(REPLICA_SETS).store,
        stateful_sets=informers.informer(STATEFUL_SETS).store,
        pod_disruption_budgets=informers.informer(POD_DISRUPTION_BUDGETS).store,
        resource_claims=informers.informer(RESOURCE_CLAIMS).store,
    )


class Handlers:
    """`scheduler_name`: Pods that name another scheduler are counted once placed, and never queued."""

    def __init__(self, cache: Cache, queue: SchedulingQueue, scheduler_name: str) -> None:
        self._cache = cache
        self._queue = queue
        self._scheduler_name = scheduler_name

    def attach(self, informers: InformerFactory) -> None:
        """Nodes first, so that Pods find theirs; the queue is filled when all is known."""
        informers.informer(NODES).add_handler(self.node_added, self.node_updated, self.node_deleted)
        pods = informers.informer(PODS, field_selector=NOT_OVER)
        pods.add_handler(self.pod_added, self.pod_updated, self.pod_deleted)
        for resource in _OTHERS:
            informers.informer(resource).add_handler(*self._forwarding(resource.kind))

    def _forwarding(
        self, kind: str
    ) -> tuple[Callable[[Object], None], Callable[[Object, Object], None], Callable[[Object, bool], None]]:
        move = self._queue.move
        added, updated, deleted = (Event(kind, one) for one in (Action.ADD, Action.UPDATE, Action.DELETE))
        return (
            lambda obj: move(added, None, obj),
            lambda old, new: move(updated, old, new),
            lambda obj, _: move(deleted, obj, None),
        )

    # Nodes

    def node_added(self, node: Object) -> None:
        self._cache.set_node(node)
        self._queue.move(Event("Node", Action.ADD), None, node)

    def node_updated(self, old: Object, new: Object) -> None:
        self._cache.set_node(new)
        for event in node_changes(old, new):
            self._queue.move(event, old, new)

    def node_deleted(self, node: Object, _: bool) -> None:
        self._queue.move(Event("Node", Action.DELETE), node, None)
        self._cache.remove_node(node["metadata"]["name"])

    # Pods

    def _is_ours(self, pod: Object) -> bool:
        return bool(pod["spec"].get("schedulerName") == self._scheduler_name)

    def pod_added(self, pod: Object) -> None:
        if pod["spec"].get("nodeName"):
            self._cache.add_pod(PodInfo(pod))
            self._queue.move(_POD_ADDED, None, pod)
        elif self._is_ours(pod):
            self._queue.add(PodInfo(pod))

    def pod_updated(self, old: Object, new: Object) -> None:
        if old["metadata"]["uid"] != new["metadata"]["uid"]:
            # Deleted and created anew while nobody watched.
            self.pod_deleted(old, True)
            self.pod_added(new)
        elif old["spec"].get("nodeName"):
            self._cache.add_pod(PodInfo(new))
            for event in pod_changes(old, new):
                self._queue.move(event, old, new)
        elif new["spec"].get("nodeName"):
            self._cache.add_pod(PodInfo(new))
            self._queue.move(_POD_ADDED, None, new)
            if self._is_ours(old):
                self._queue.delete(_key(old), old["metadata"]["uid"])
        elif self._is_ours(new):
            self._waiting_pod_updated(old, new)

    def _waiting_pod_updated(self, old: Object, new: Object) -> None:
        uid = new["metadata"]["uid"]
        if self._cache.is_assumed(uid):
            # It is on its way to a node. Its binding will fail if it is deleted; the room is free at once.
            if "deletionTimestamp" in new["metadata"] and "deletionTimestamp" not in old["metadata"]:
                self._cache.forget(uid)
                self._queue.move(_POD_DELETED, new, None)
            return
        self._queue.update(old, PodInfo(new))
        nominated = (old.get("status") or {}).get("nominatedNodeName")
        if nominated and nominated != (new.get("status") or {}).get("nominatedNodeName"):
            # Room that was promised to it is free for Pods that are not more important.
            priority = old["spec"].get("priority") or 0
            self._queue.move(_POD_DELETED, old, None, only=lambda info: info.priority <= priority)

    def pod_deleted(self, pod: Object, _: bool) -> None:
        uid = pod["metadata"]["uid"]
        if pod["spec"].get("nodeName"):
            self._cache.remove_pod(uid)
            self._queue.move(_POD_DELETED, pod, None)
            return
        if not self._is_ours(pod):
            return
        self._queue.delete(_key(pod), uid)
        if self._cache.is_assumed(uid):
            self._cache.forget(uid)
            self._queue.move(_POD_DELETED, pod, None)
        elif (pod.get("status") or {}).get("nominatedNodeName"):
            priority = pod["spec"].get("priority") or 0
            self._queue.move(_POD_DELETED, pod, None, only=lambda info: info.priority <= priority)


def _key(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
