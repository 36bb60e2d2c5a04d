"""Notices nodes that fall silent, says so in their status, and taints them; see `node_health` for the rules."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import ApiFailure, Conflict, NotFound
from clusters.emulated.client.indexer import key_of
from clusters.emulated.client.resources import LEASES, NODES, PODS
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers import node_health as health
from clusters.emulated.controllers.eviction_zones import EvictionZones
from clusters.emulated.controllers.node_health import Health
from clusters.emulated.controllers.pod_conditions import is_ready

Object = dict[str, Any]

MONITOR_EVERY_S = 5.0
TAINT_EVERY_S = 0.1
_LEASES = "kube-node-lease"
# Keys of the queue: a node's name, `pods/namespace/name`, `zones/zone`.
_POD, _ZONE = "pods/", "zones/"
_TRIES_MAX = 5


class NodeLifecycleController(Controller):
    name = "node-lifecycle-controller"
    service_account = "node-controller"
    event_component = "node-controller"

    def setup(self) -> None:
        self._nodes = self.informer(NODES)
        self._leases = self.informer(LEASES, _LEASES)
        self._pods = self.informer(PODS)
        self._pods.store.add_index("node", lambda pod: [pod["spec"]["nodeName"]] if pod["spec"].get("nodeName") else [])
        self._known: dict[str, Object] = {}
        self._health: dict[str, Health] = {}
        self._zones = EvictionZones()
        self._pods_to_retry: set[str] = set()
        self._nodes.add_handler(self.enqueue, lambda _, new: self.enqueue(new))
        self._pods.add_handler(self._pod_came, self._pod_changed)
        self.periodic(MONITOR_EVERY_S, self._monitor)

    def _pod_came(self, pod: Object) -> None:
        if pod["spec"].get("nodeName"):
            self.enqueue(_POD + key_of(pod))

    def _pod_changed(self, old: Object, new: Object) -> None:
        if old["spec"].get("nodeName") != new["spec"].get("nodeName"):
            self._pod_came(new)

    def _now(self) -> str:
        return rfc3339(self.clock.now_s())

    async def reconcile(self, key: str) -> None:
        if key.startswith(_ZONE):
            await self._taint_next(key.removeprefix(_ZONE))
        elif key.startswith(_POD):
            await self._look_at_pod(key.removeprefix(_POD))
        else:
            await self._follow_conditions(key)

    # At once: what only keeps new Pods away, and labels

    async def _follow_conditions(self, name: str) -> None:
        node = self._nodes.store.get(name)
        if node is None:
            return
        taints = health.no_schedule_taints(node, self._now())
        if taints is not None:
            await self._set_taints(node, taints)
        labels = health.old_names_of_labels(node)
        if labels:
            await self.api.patch(NODES, name, {"metadata": {"labels": labels}}, type="strategic")

    async def _set_taints(self, node: Object, taints: list[Object]) -> None:
        version = node["metadata"]["resourceVersion"]
        change = {"metadata": {"resourceVersion": version}, "spec": {"taints": taints or None}}
        await self.api.patch(NODES, node["metadata"]["name"], change)

    async def _look_at_pod(self, key: str) -> None:
        """A Pod that came to a node that is silent already."""
        pod = self._pods.store.get(key)
        node = None if pod is None else self._nodes.store.get(pod["spec"].get("nodeName") or "")
        if pod is None or node is None or node["metadata"]["name"] not in self._health:
            return
        if health.condition(node, "Ready") is not None and health.readiness(node) != "True":
            await self._mark_not_ready(pod)

    # Every five seconds

    async def _monitor(self) -> None:
        nodes = {node["metadata"]["name"]: node for node in self._nodes.store.list()}
        await self._note_membership(nodes)
        states: dict[str, list[bool]] = {}
        for name, node in nodes.items():
            try:
                current, before = await self._look_at(name, node)
            except ApiFailure:
                continue  # Gone, or not to be written: nothing is evicted because of that.
            if health.EXCLUDED not in (current["metadata"].get("labels") or {}):
                states.setdefault(health.zone_of(current), []).append(health.readiness(current) == "True")
            await self._after_looking(name, current, before)
        await self._judge_disruption(states, nodes)
        for zone in self._zones.waiting():
            self.enqueue_after(_ZONE + zone, TAINT_EVERY_S)

    async def _note_membership(self, nodes: dict[str, Object]) -> None:
        for name, node in nodes.items():
            self._zones.know(health.zone_of(node))
            if name not in self._known:
                self._node_event(node, "RegisteredNode", f"Node {name} event: Registered Node {name} in Controller")
                await self._make_reachable(node)
        for name in self._known.keys() - nodes.keys():
            text = f"Node {name} event: Removing Node {name} from Controller"
            self._node_event(self._known[name], "RemovingNode", text)
            self._health.pop(name, None)
            self._pods_to_retry.discard(name)
        self._known = nodes

    def _node_event(self, node: Object, reason: str, text: str) -> None:
        metadata = node["metadata"]
        reference = {"kind": "Node", "name": metadata["name"], "uid": metadata["uid"], "apiVersion": "v1"}
        self.recorder.event(reference, "Normal", reason, text)

    async def _look_at(self, name: str, node: Object) -> tuple[Object, str]:
        """The node as it is now, and what its readiness was."""
        for attempt in range(_TRIES_MAX):
            before = health.readiness(node)
            if not self._is_overdue(name, node):
                return node, before
            conditions = health.silenced(node, self._now())
            changed = {**node, "status": {**(node.get("status") or {}), "conditions": conditions}}
            try:
                return await self.api.update(NODES, changed, subresource="status"), before
            except Conflict:
                if attempt == _TRIES_MAX - 1:
                    raise
                node = await self.api.get(NODES, name)
        raise AssertionError("the last try returns or raises")

    def _is_overdue(self, name: str, node: Object) -> bool:
        lease = self._leases.store.get(f"{_LEASES}/{name}")
        renewed = "" if lease is None else (lease.get("spec") or {}).get("renewTime") or ""
        now_s = self.clock.now_s()
        seen = self._health[name] = health.noted(self._health.get(name), node, renewed, now_s)
        ready = health.condition(node, "Ready")
        grace_s = health.STARTUP_GRACE_S if ready is None else health.GRACE_S
        # A real clock has moved on by the time it looks for the tenth time; a virtual one is exactly there.
        return now_s >= seen.seen_s + grace_s and (ready is None or ready["status"] != "Unknown")

    async def _after_looking(self, name: str, node: Object, before: str) -> None:
        if health.condition(node, "Ready") is None:
            return
        await self._keep_evicting_taint(node)
        if health.readiness(node) != "True" and before == "True":
            self._node_event(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
            self._pods_to_retry.add(name)
        if name in self._pods_to_retry:
            await self._mark_all_not_ready(name)

    async def _keep_evicting_taint(self, node: Object) -> None:
        """A node that has the wrong one of the two taints gets the other at once; a new one waits for its turn."""
        if health.readiness(node) == "True":
            await self._make_reachable(node)
            return
        taints = health.no_execute_taints(node, self._now())
        if taints is None:
            return
        if health.reachable_taints(node) is None:
            self._zones.add(health.zone_of(node), node["metadata"]["name"])
            return
        try:
            await self._set_taints(node, taints)
        except (Conflict, NotFound):
            return  # The next round sees it as it is.

    async def _make_reachable(self, node: Object) -> None:
        self._zones.remove(health.zone_of(node), node["metadata"]["name"])
        taints = health.reachable_taints(node)
        if taints is None:
            return
        try:
            await self._set_taints(node, taints)
        except (Conflict, NotFound):
            return

    # A silent kubelet cannot say so itself: its Pods leave the endpoints because of this

    async def _mark_all_not_ready(self, node: str) -> None:
        try:
            for pod in self._pods.store.by_index("node", node):
                await self._mark_not_ready(pod)
        except ApiFailure:
            return  # Again in the next round.
        self._pods_to_retry.discard(node)

    async def _mark_not_ready(self, pod: Object) -> None:
        if not is_ready(pod):
            return
        status = pod["status"]
        conditions = [
            {**each, "status": "False", "lastTransitionTime": self._now()} if each["type"] == "Ready" else each
            for each in status["conditions"]
        ]
        try:
            await self.api.update(PODS, {**pod, "status": {**status, "conditions": conditions}}, subresource="status")
        except NotFound:
            return  # It went while we were looking.
        self.recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready")

    # When everything is silent, nothing is evicted

    async def _judge_disruption(self, states: dict[str, list[bool]], nodes: dict[str, Object]) -> None:
        verdict = self._zones.judge(states, self.clock.monotonic_s())
        if verdict == "all disrupted":
            for node in nodes.values():
                await self._make_reachable(self._nodes.store.get(node["metadata"]["name"]) or node)
        elif verdict == "some recovered":
            # Back from a total silence: nobody's silence before it counts.
            for seen in self._health.values():
                seen.seen_s = self.clock.now_s()

    async def _taint_next(self, zone: str) -> None:
        """One NoExecute taint, if the zone's rate allows it now."""
        name, wait_s = self._zones.next(zone, self.clock.monotonic_s())
        if name is not None:
            node = self._nodes.store.get(name)
            taints = None if node is None else health.no_execute_taints(node, self._now())
            if node is not None and taints is not None and health.readiness(node) != "True":
                with suppress(Conflict, NotFound):  # The next round queues it again, if it is still so.
                    await self._set_taints(node, taints)
        if wait_s is not None:
            self.enqueue_after(_ZONE + zone, wait_s)
