"""A node and what its Pods take from it, kept up to date as Pods come and go.

info = NodeInfo(node); info.add(pod)      # requested grows, ports are taken
trial = info.copy(); trial.remove(pod)    # a what-if; `info` is unchanged
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.scheduler.pod_info import ANY_IP, HostPort, PodInfo
from clusters.emulated.scheduler.resource_requests import Amounts, amounts, is_scalar
from clusters.emulated.scheduler.tolerations import hard_taints

Object = dict[str, Any]


class NodeInfo:
    """`node` is None while Pods are known on a node that is not (its object is late or gone)."""

    __slots__ = (
        "allocatable_cpu_milli",
        "allocatable_ephemeral_storage",
        "allocatable_memory",
        "allocatable_pods",
        "allocatable_scalar",
        "hard_taints",
        "images",
        "labels",
        "memo",
        "name",
        "node",
        "nonzero_cpu_milli",
        "nonzero_memory",
        "pods",
        "requested_cpu_milli",
        "requested_ephemeral_storage",
        "requested_memory",
        "requested_scalar",
        "soft_taints",
        "unschedulable",
        "used_ports",
        "with_affinity",
        "with_required_anti_affinity",
    )

    def __init__(self, name: str, node: Object | None = None) -> None:
        self.name = name
        self.pods: dict[str, PodInfo] = {}
        self.with_affinity: dict[str, PodInfo] = {}
        self.with_required_anti_affinity: dict[str, PodInfo] = {}
        self.requested_cpu_milli = 0
        self.requested_memory = 0
        self.requested_ephemeral_storage = 0
        self.requested_scalar: Amounts = {}
        self.nonzero_cpu_milli = 0
        self.nonzero_memory = 0
        self.used_ports: dict[HostPort, int] = {}
        # What a plugin worked out from this node's sums alone; forgotten when they change.
        self.memo: dict[tuple[str, int, int], int] = {}
        self.node: Object | None = None
        self.labels: Mapping[str, str] = {}
        self.unschedulable = False
        self.hard_taints: tuple[Object, ...] = ()
        self.soft_taints: tuple[Object, ...] = ()
        self.images: dict[str, int] = {}
        self._set_allocatable({})
        if node is not None:
            self.set_node(node)

    def set_node(self, node: Object) -> None:
        spec, status = node.get("spec") or {}, node.get("status") or {}
        self.node = node
        self.labels = node["metadata"].get("labels") or {}
        self.unschedulable = bool(spec.get("unschedulable"))
        self.hard_taints = hard_taints(node)
        self.soft_taints = tuple(t for t in spec.get("taints") or () if t.get("effect") == "PreferNoSchedule")
        self._set_allocatable(amounts(status.get("allocatable")))
        self.images = {
            name: int(image.get("sizeBytes") or 0)
            for image in status.get("images") or ()
            for name in image.get("names") or ()
        }

    def _set_allocatable(self, allocatable: Amounts) -> None:
        self.memo = {}
        self.allocatable_cpu_milli = allocatable.get("cpu", 0)
        self.allocatable_memory = allocatable.get("memory", 0)
        self.allocatable_ephemeral_storage = allocatable.get("ephemeral-storage", 0)
        self.allocatable_pods = allocatable.get("pods", 0)
        self.allocatable_scalar = {name: number for name, number in allocatable.items() if is_scalar(name)}

    def add(self, pod: PodInfo) -> None:
        assert pod.uid not in self.pods, f"{pod.key} is already counted on node {self.name}"
        self.pods[pod.uid] = pod
        if pod.has_affinity:
            self.with_affinity[pod.uid] = pod
            if pod.affinity.required_anti:
                self.with_required_anti_affinity[pod.uid] = pod
        self._count(pod, 1)
        for port in pod.host_ports:
            self.used_ports[port] = self.used_ports.get(port, 0) + 1

    def remove(self, pod: PodInfo) -> None:
        counted = self.pods.pop(pod.uid)
        self.with_affinity.pop(pod.uid, None)
        self.with_required_anti_affinity.pop(pod.uid, None)
        self._count(counted, -1)
        for port in counted.host_ports:
            left = self.used_ports[port] - 1
            if left:
                self.used_ports[port] = left
            else:
                del self.used_ports[port]

    def _count(self, pod: PodInfo, sign: int) -> None:
        request = pod.request
        self.requested_cpu_milli += sign * request.cpu_milli
        self.requested_memory += sign * request.memory
        self.requested_ephemeral_storage += sign * request.ephemeral_storage
        self.nonzero_cpu_milli += sign * request.nonzero_cpu_milli
        self.nonzero_memory += sign * request.nonzero_memory
        for name, number in request.scalar.items():
            self.requested_scalar[name] = self.requested_scalar.get(name, 0) + sign * number
        if self.memo:
            self.memo = {}

    def copy(self) -> NodeInfo:
        """For trying out: its Pods, ports and sums are its own; Pods themselves are shared."""
        clone = NodeInfo.__new__(NodeInfo)
        for slot in NodeInfo.__slots__:
            setattr(clone, slot, getattr(self, slot))
        clone.pods = dict(self.pods)
        clone.with_affinity = dict(self.with_affinity)
        clone.with_required_anti_affinity = dict(self.with_required_anti_affinity)
        clone.requested_scalar = dict(self.requested_scalar)
        clone.used_ports = dict(self.used_ports)
        clone.memo = {}
        return clone

    def port_conflict(self, wanted: HostPort) -> bool:
        """The any-address 0.0.0.0 collides with every address of the same protocol and port."""
        address, protocol, port = wanted
        if address == ANY_IP:
            return any(used[1] == protocol and used[2] == port for used in self.used_ports)
        return wanted in self.used_ports or (ANY_IP, protocol, port) in self.used_ports

    def __repr__(self) -> str:
        return f"NodeInfo({self.name}, {len(self.pods)} pods)"
