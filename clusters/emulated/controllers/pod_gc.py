"""Collects Pods that nobody else will end, every 20 seconds.

finished Pods beyond 12,500           the oldest go, evicted ones first
being deleted, node out of service    go at once
node gone for at least 40 s           go, marked as disrupted
being deleted and never scheduled     go at once
"""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import NotFound
from clusters.emulated.client.indexer import key_of
from clusters.emulated.client.resources import NODES, PODS
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers.node_health import readiness
from clusters.emulated.controllers.pod_conditions import is_finished, with_pod_condition

Object = dict[str, Any]

EVERY_S = 20.0
QUARANTINE_S = 40.0
TERMINATED_MAX = 12500
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
_ORPHANED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
}


class PodGarbageCollector(Controller):
    name = "pod-garbage-collector-controller"
    service_account = "pod-garbage-collector"

    def setup(self) -> None:
        self._pods = self.informer(PODS)
        self._nodes = self.informer(NODES)
        #: Since when the nodes that Pods name have been missing.
        self._missing_since_s: dict[str, float] = {}
        self.periodic(EVERY_S, self._collect)

    async def _collect(self) -> None:
        pods = self._pods.store.list()
        for pod in surplus(pods, TERMINATED_MAX):
            await self._end(pod)
        for pod in sorted(self._on_dead_nodes(pods), key=_age):
            await self._end(pod)
        gone = await self._gone_nodes(pods)
        for pod in pods:
            if pod["spec"].get("nodeName") in gone:
                await self._end(pod, _ORPHANED)
            elif pod["metadata"].get("deletionTimestamp") and not pod["spec"].get("nodeName"):
                await self._end(pod)

    def _on_dead_nodes(self, pods: list[Object]) -> list[Object]:
        found = []
        for pod in pods:
            node = self._nodes.store.get(pod["spec"].get("nodeName") or "")
            if pod["metadata"].get("deletionTimestamp") and node is not None and readiness(node) != "True":
                taints = node["spec"].get("taints") or ()
                if any(taint["key"] == OUT_OF_SERVICE for taint in taints):
                    found.append(pod)
        return found

    async def _gone_nodes(self, pods: list[Object]) -> set[str]:
        """Nodes that have been missing for long enough, and really are."""
        now_s = self.clock.monotonic_s()
        named = {pod["spec"]["nodeName"]: None for pod in pods if pod["spec"].get("nodeName")}
        missing = [name for name in named if self._nodes.store.get(name) is None]
        self._missing_since_s = {name: self._missing_since_s.get(name, now_s) for name in missing}
        gone = set()
        for name, since_s in self._missing_since_s.items():
            if now_s - since_s >= QUARANTINE_S and not await self._exists(name):
                gone.add(name)
        return gone

    async def _exists(self, node: str) -> bool:
        try:
            await self.api.get(NODES, node)
        except NotFound:
            return False
        return True

    async def _end(self, pod: Object, condition: Object | None = None) -> None:
        metadata = pod["metadata"]
        name, namespace = metadata["name"], metadata["namespace"]
        try:
            if not is_finished(pod):
                status: Object = {"phase": "Failed"}
                if metadata.get("generation"):
                    status["observedGeneration"] = metadata["generation"]
                if condition is not None:
                    status["conditions"] = with_pod_condition(pod, condition, rfc3339(self.clock.now_s()))
                change = {"metadata": {"uid": metadata["uid"]}, "status": status}
                await self.api.patch(PODS, name, change, namespace, type="strategic", subresource="status")
            await self.api.delete(PODS, name, namespace, {"gracePeriodSeconds": 0})
        except NotFound:
            return


def _age(pod: Object) -> tuple[bool, str, str]:
    status = pod.get("status") or {}
    was_evicted = status.get("phase") == "Failed" and status.get("reason") == "Evicted"
    return not was_evicted, pod["metadata"]["creationTimestamp"], key_of(pod)


def surplus(pods: list[Object], keep: int) -> list[Object]:
    """The finished Pods that are too many."""
    finished = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in ("Pending", "Running", "Unknown")]
    return sorted(finished, key=_age)[: max(0, len(finished) - keep)]
