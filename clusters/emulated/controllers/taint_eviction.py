"""Deletes Pods from nodes whose NoExecute taints they do not tolerate, at once or after tolerationSeconds."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import NotFound
from clusters.emulated.client.indexer import key_of, split_key
from clusters.emulated.client.resources import NODES, PODS
from clusters.emulated.clock.clock import rfc3339

Object = dict[str, Any]


class TaintEvictionController(Controller):
    name = "taint-eviction-controller"
    service_account = "node-controller"

    def setup(self) -> None:
        self._nodes = self.informer(NODES)
        self._pods = self.informer(PODS)
        self._pods.store.add_index("node", lambda pod: [pod["spec"]["nodeName"]] if pod["spec"].get("nodeName") else [])
        #: Pods that will have to go, by key: since when their node has been tainted, and when they go.
        self._due: dict[str, tuple[float, float]] = {}
        self._pods.add_handler(self._pod, lambda _, new: self._pod(new), lambda gone, _: self._forget(gone))
        self._nodes.add_handler(self._node, self._node_changed)

    def _pod(self, pod: Object) -> None:
        if pod["spec"].get("nodeName"):
            self.enqueue(pod)

    def _forget(self, pod: Object) -> None:
        self._due.pop(key_of(pod), None)

    def _node(self, node: Object) -> None:
        for pod in self._pods.store.by_index("node", node["metadata"]["name"]):
            self.enqueue(pod)

    def _node_changed(self, old: Object, new: Object) -> None:
        if no_execute(old) != no_execute(new):
            self._node(new)

    async def reconcile(self, key: str) -> None:
        pod = self._pods.store.get(key)
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            self._due.pop(key, None)
            return
        node = self._nodes.store.get(pod["spec"].get("nodeName") or "")
        taints = [] if node is None else no_execute(node)
        patience_s = patience(pod, taints) if taints else None
        if patience_s is None:
            if self._due.pop(key, None) is not None:
                self.recorder.event(pod, "Normal", "TaintManagerEviction", f"Cancelling deletion of Pod {key}")
            return
        now_s = self.clock.monotonic_s()
        since_s, due_s = self._due.get(key, (now_s, 0.0))
        due_s = since_s + patience_s
        self._due[key] = (since_s, due_s)
        if now_s < due_s:
            self.enqueue_after(key, due_s - now_s)
            return
        await self._evict(key, pod)

    async def _evict(self, key: str, pod: Object) -> None:
        namespace, name = split_key(key)
        self.recorder.event(pod, "Normal", "TaintManagerEviction", f"Marking for deletion Pod {key}")
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "lastTransitionTime": rfc3339(self.clock.now_s()),
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
        }
        generation = pod["metadata"].get("generation")
        if generation:
            condition["observedGeneration"] = generation
        try:
            change = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"conditions": [condition]}}
            await self.api.patch(PODS, name, change, namespace, type="strategic", subresource="status")
            await self.api.delete(PODS, name, namespace)
        except NotFound:
            pass  # It went by itself; that is all that was wanted.
        self._due.pop(key, None)


def no_execute(node: Object) -> list[Object]:
    return [taint for taint in node["spec"].get("taints") or () if taint["effect"] == "NoExecute"]


def patience(pod: Object, taints: list[Object]) -> float | None:
    """Seconds the Pod may stay under these taints: 0 if one is not tolerated, None if it may stay for ever."""
    shortest: float | None = None
    for taint in taints:
        tolerated = [each for each in pod["spec"].get("tolerations") or () if tolerates(each, taint)]
        if not tolerated:
            return 0.0
        for each in tolerated:
            seconds = each.get("tolerationSeconds")
            if seconds is not None:
                shortest = max(0.0, float(seconds)) if shortest is None else min(shortest, max(0.0, float(seconds)))
    return shortest


def tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")
