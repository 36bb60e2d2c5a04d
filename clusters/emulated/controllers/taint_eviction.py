"""Deletes Pods from nodes whose NoExecute taints they do not tolerate, at once or after tolerationSeconds.

tainted, not tolerated          Marking for deletion, deleted
tainted, tolerated for 10 s     due in 10 s; what changes meanwhile does not move that moment …
… and the taint goes            Cancelling deletion
… and nothing happens           Marking for deletion, deleted
"""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import NotFound
from clusters.emulated.client.indexer import key_of, split_key
from clusters.emulated.client.resources import NODES, PODS
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers.pod_conditions import with_pod_condition

Object = dict[str, Any]

_CONDITION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByTaintManager",
    "message": "Taint manager: deleting due to NoExecute taint",
}


class TaintEvictionController(Controller):
    name = "taint-eviction-controller"
    service_account = "node-controller"

    def setup(self) -> None:
        self._nodes = self.informer(NODES)
        self._pods = self.informer(PODS)
        self._pods.store.add_index("node", lambda pod: [pod["spec"]["nodeName"]] if pod["spec"].get("nodeName") else [])
        #: When Pods that will have to go will be deleted, by key.
        self._due_s: dict[str, float] = {}
        self._pods.add_handler(self._pod, self._pod_changed, lambda gone, _: self._cancel(key_of(gone)))
        self._nodes.add_handler(self._node, self._node_changed)

    def _pod(self, pod: Object) -> None:
        if pod["spec"].get("nodeName"):
            self.enqueue(pod)

    def _pod_changed(self, old: Object, new: Object) -> None:
        before, after = old["spec"], new["spec"]
        if before.get("nodeName") != after.get("nodeName") or before.get("tolerations") != after.get("tolerations"):
            self._pod(new)

    def _node(self, node: Object) -> None:
        for pod in self._pods.store.by_index("node", node["metadata"]["name"]):
            self.enqueue(pod)

    def _node_changed(self, old: Object, new: Object) -> None:
        if no_execute(old) != no_execute(new):
            self._node(new)

    async def reconcile(self, key: str) -> None:
        pod = self._pods.store.get(key)
        if pod is None:
            return  # Its deletion was an event, and cancelled what was planned.
        node = self._nodes.store.get(pod["spec"].get("nodeName") or "")
        if node is None:
            return  # Whoever collects Pods of nodes that are gone will see to it.
        patience_s = patience(pod, no_execute(node))
        if patience_s is None:
            self._cancel(key)
            return
        now_s = self.clock.monotonic_s()
        due_s = self._due_s.get(key)
        if patience_s <= 0:
            if due_s is not None and due_s > now_s:
                self._cancel(key)
            await self._evict(key)
        elif due_s is None:
            self._due_s[key] = now_s + patience_s
            self.enqueue_after(key, patience_s)
        elif now_s < due_s:
            self.enqueue_after(key, due_s - now_s)
        else:
            await self._evict(key)

    def _cancel(self, key: str) -> None:
        if self._due_s.pop(key, None) is not None:
            self._say(key, f"Cancelling deletion of Pod {key}")

    def _say(self, key: str, text: str) -> None:
        namespace, name = split_key(key)
        # The real one keeps no more than the name: its events carry no uid.
        reference = {"kind": "Pod", "namespace": namespace, "name": name, "apiVersion": "v1"}
        self.recorder.event(reference, "Normal", "TaintManagerEviction", text)

    async def _evict(self, key: str) -> None:
        namespace, name = split_key(key)
        self._say(key, f"Marking for deletion Pod {key}")
        try:
            pod = await self.api.get(PODS, name, namespace)
            conditions = with_pod_condition(pod, _CONDITION, rfc3339(self.clock.now_s()))
            if conditions is not None:
                change = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"conditions": conditions}}
                await self.api.patch(PODS, name, change, namespace, type="strategic", subresource="status")
            await self.api.delete(PODS, name, namespace)
        except NotFound:
            pass  # It went by itself; that is all that was wanted.
        self._due_s.pop(key, None)


def no_execute(node: Object) -> list[Object]:
    return [taint for taint in node["spec"].get("taints") or () if taint["effect"] == "NoExecute"]


def patience(pod: Object, taints: list[Object]) -> float | None:
    """Seconds the Pod may stay under these taints: 0 if one is not tolerated, None if it may stay for ever.

    Of several tolerations for the same taint only the first counts.
    """
    shortest: float | None = None
    tolerations = pod["spec"].get("tolerations") or ()
    for taint in taints:
        found = next((each for each in tolerations if tolerates(each, taint)), None)
        if found is None:
            return 0.0
        seconds = found.get("tolerationSeconds")
        if seconds is not None:
            allowed = max(0.0, float(seconds))
            shortest = allowed if shortest is None else min(shortest, allowed)
    return shortest


def tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")
