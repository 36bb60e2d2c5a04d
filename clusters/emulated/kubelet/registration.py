"""Nodes that report: registered as a kubelet registers itself, Lease and status kept fresh.

Each node speaks as `system:node:<name>` through the whole chain, Node authorizer and NodeRestriction included.
Pods bound to such a node stay Pending: nothing runs them. The taint `node.kubernetes.io/not-ready`, which
admission puts on every new node, is the node controller's to remove and stays until there is one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final

from clusters.base import ApiError
from clusters.emulated.apiserver.http import Handler
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.client.by_path import STRATEGIC_MERGE_PATCH, PathApi
from clusters.emulated.clock import Clock
from clusters.emulated.clock.clock import rfc3339, rfc3339_micro

Object = dict[str, Any]

LEASE_DURATION_S: Final = 40
RENEW_EVERY_S: Final = 10.0
#: A status that did not change is reported only so often; the Lease is the heartbeat.
REPORT_EVERY_S: Final = 300.0
_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

log = logging.getLogger(__name__)


def node_names(count: int) -> list[str]:
    return [f"node-{number}" for number in range(1, count + 1)]


class NodeRegistration:
    """Keeps these nodes registered from `start()` to `stop()`."""

    def __init__(self, handler: Handler, clock: Clock, names: Sequence[str], kubelet_version: str) -> None:
        self._nodes = [_Node(handler, clock, name, number, kubelet_version) for number, name in enumerate(names, 1)]
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Registers all nodes; they are Ready when this returns."""
        for node in self._nodes:
            await node.register()
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(node.keep_alive(), name=node.name) for node in self._nodes]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []


class _Node:
    def __init__(self, handler: Handler, clock: Clock, name: str, number: int, kubelet_version: str) -> None:
        user = UserInfo(f"system:node:{name}", groups=("system:nodes", "system:authenticated"))
        self.name = name
        self._api = PathApi(handler, user, user_agent=f"kubelet/{kubelet_version}")
        self._clock = clock
        self._address = f"172.18.{number // 250}.{number % 250 + 2}"
        self._kubelet_version = kubelet_version
        self._uid = ""

    async def register(self) -> None:
        node = node_object(self.name, self._address, self._kubelet_version, self._clock.now_s())
        answer = await self._api.request("POST", "/api/v1/nodes", node)
        if answer.code == 409:  # Known from before a restart.
            answer = await self._api.request("GET", f"/api/v1/nodes/{self.name}")
        if answer.code >= 400:
            raise ApiError("POST", "/api/v1/nodes", answer)
        self._uid = answer.body["metadata"]["uid"]
        await self._report()
        await self._renew()

    async def keep_alive(self) -> None:
        reported_s = self._clock.monotonic_s()
        while True:
            await self._clock.sleep(RENEW_EVERY_S)
            try:
                await self._renew()
                if self._clock.monotonic_s() - reported_s >= REPORT_EVERY_S:
                    await self._report()
                    reported_s = self._clock.monotonic_s()
            except ApiError as error:
                # As a kubelet that cannot reach its api-server: it goes on trying.
                log.warning("%s could not report: %s", self.name, error)

    async def _renew(self) -> None:
        """The Lease is the node's pulse: read, moved on, written back at the revision that was read."""
        path = f"{_LEASES}/{self.name}"
        answer = await self._api.request("GET", path)
        renewed = rfc3339_micro(self._clock.now_s())
        if answer.code == 404:
            await self._api.create(_LEASES, lease_object(self.name, self._uid, renewed))
            return
        if answer.code >= 400:
            raise ApiError("GET", path, answer)
        lease: Object = answer.body
        lease["spec"]["renewTime"] = renewed
        await self._api.update(path, lease)

    async def _report(self) -> None:
        now_s = self._clock.now_s()
        known = await self._api.get(f"/api/v1/nodes/{self.name}")
        conditions = node_conditions(now_s, known.get("status", {}).get("conditions", ()))
        status = {**node_status(self._address, self.name, self._kubelet_version), "conditions": conditions}
        await self._api.patch(f"/api/v1/nodes/{self.name}/status", {"status": status}, STRATEGIC_MERGE_PATCH)


def node_object(name: str, address: str, kubelet_version: str, now_s: float) -> Object:
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": labels,
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "status": {**node_status(address, name, kubelet_version), "conditions": node_conditions(now_s)},
    }


def node_status(address: str, name: str, kubelet_version: str) -> Object:
    """Four cores and 16 GiB; allocatable is less by what a kubelet keeps back for evictions."""
    fixed = {"cpu": "4", "hugepages-1Gi": "0", "hugepages-2Mi": "0", "pods": "110"}
    return {
        "capacity": {**fixed, "ephemeral-storage": "102350Mi", "memory": "16777216Ki"},
        "allocatable": {**fixed, "ephemeral-storage": "96589578081", "memory": "16674816Ki"},
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
            "kernelVersion": "6.12.0",
            "osImage": "Kaput (emulated)",
            "containerRuntimeVersion": "containerd://2.1.0",
            "kubeletVersion": kubelet_version,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    }


def node_conditions(now_s: float, known: Sequence[Object] = ()) -> list[Object]:
    """What a healthy kubelet says of its node; a condition that stays as it is keeps its transition time."""
    now = rfc3339(now_s)
    since = {(each["type"], each["status"]): each.get("lastTransitionTime", now) for each in known}
    said = (
        ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    )
    return [
        {
            "type": kind,
            "status": status,
            "lastHeartbeatTime": now,
            "lastTransitionTime": since.get((kind, status), now),
            "reason": reason,
            "message": message,
        }
        for kind, status, reason, message in said
    ]


def lease_object(name: str, node_uid: str, renewed: str) -> Object:
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node_uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-node-lease", "ownerReferences": [owner]},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": LEASE_DURATION_S, "renewTime": renewed},
    }
