"""Notices nodes that fall silent, says so in their status, and taints them; see `node_health` for the rules."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import Conflict, NotFound
from clusters.emulated.client.resources import LEASES, NODES, PODS
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers import node_health as health
from clusters.emulated.controllers.node_health import Health

Object = dict[str, Any]

MONITOR_EVERY_S = 5.0
GRACE_S = 50.0
STARTUP_GRACE_S = 60.0
TAINT_EVERY_S = 0.1
_LEASES = "kube-node-lease"


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
        self._to_evict: dict[str, None] = {}
        self._next_taint_s: dict[str, float] = {}
        self._all_disrupted = False
        self._nodes.add_handler(self.enqueue, lambda _, new: self.enqueue(new))
        self._pods.add_handler(self._pod_came)
        self.periodic(MONITOR_EVERY_S, self._monitor)
        self.periodic(TAINT_EVERY_S, self._taint_unhealthy)

    def _pod_came(self, pod: Object) -> None:
        node = self._nodes.store.get(pod["spec"].get("nodeName") or "")
        if node is not None:
            self.enqueue(node)

    async def reconcile(self, key: str) -> None:
        """The taints that follow from conditions at once: they only keep new Pods away."""
        node = self._nodes.store.get(key)
        if node is None:
            return
        taints = health.no_schedule_taints(node, self._now())
        if taints is not None:
            await self._set_taints(node, taints)

    def _now(self) -> str:
        return rfc3339(self.clock.now_s())

    async def _set_taints(self, node: Object, taints: list[Object]) -> None:
        version = node["metadata"]["resourceVersion"]
        change = {"metadata": {"resourceVersion": version}, "spec": {"taints": taints or None}}
        await self.api.patch(NODES, node["metadata"]["name"], change)

    # Every five seconds

    async def _monitor(self) -> None:
        nodes = {node["metadata"]["name"]: node for node in self._nodes.store.list()}
        self._note_membership(nodes)
        for name, node in nodes.items():
            try:
                await self._look_at(name, node)
            except (Conflict, NotFound):
                continue  # It changed or went; the next round sees it as it is.
        await self._judge_disruption(self._nodes.store.list())

    def _note_membership(self, nodes: dict[str, Object]) -> None:
        for name, node in nodes.items():
            if name not in self._known:
                self._node_event(node, "RegisteredNode", f"Registered Node {name} in Controller")
        for name in self._known.keys() - nodes.keys():
            self._node_event(self._known[name], "RemovingNode", f"Removing Node {name} from Controller")
            self._health.pop(name, None)
            self._to_evict.pop(name, None)
        self._known = nodes

    def _node_event(self, node: Object, reason: str, text: str) -> None:
        name = node["metadata"]["name"]
        self.recorder.event(node, "Normal", reason, f"Node {name} event: {text}")

    async def _look_at(self, name: str, node: Object) -> None:
        now_s = self.clock.monotonic_s()
        ready = health.condition(node, "Ready")
        heartbeat = "" if ready is None else ready.get("lastHeartbeatTime") or ""
        lease = self._leases.store.get(f"{_LEASES}/{name}")
        renewed = "" if lease is None else (lease.get("spec") or {}).get("renewTime") or ""
        seen = self._health.get(name)
        if seen is None or seen.heartbeat != heartbeat or renewed > seen.renewed:
            seen = self._health[name] = Health(heartbeat, renewed, now_s)
        before = health.readiness(node)
        grace_s = STARTUP_GRACE_S if ready is None else GRACE_S
        if now_s > seen.seen_s + grace_s and (ready is None or before != "Unknown"):
            conditions = health.silenced(node, self._now())
            changed = {**node, "status": {**(node.get("status") or {}), "conditions": conditions}}
            node = await self.api.update(NODES, changed, subresource="status")
            self._health[name] = Health(heartbeat, renewed, seen.seen_s)
        await self._after_looking(name, node, before)

    async def _after_looking(self, name: str, node: Object, before: str) -> None:
        now = health.readiness(node)
        if health.condition(node, "Ready") is None:
            return
        if now == "True":
            self._to_evict.pop(name, None)
            taints = health.reachable_taints(node)
            if taints is not None:
                await self._set_taints(node, taints)
            return
        self._to_evict[name] = None
        if before == "True":
            text = f"Node {name} status is now: NodeNotReady"
            self.recorder.event(node, "Normal", "NodeNotReady", text)
        await self._mark_pods_not_ready(name)

    async def _mark_pods_not_ready(self, node: str) -> None:
        """A silent kubelet cannot say so itself: its Pods leave the endpoints because of this."""
        for pod in self._pods.store.by_index("node", node):
            conditions = (pod.get("status") or {}).get("conditions") or []
            if not any(each["type"] == "Ready" and each["status"] == "True" for each in conditions):
                continue
            changed = [
                {**each, "status": "False", "lastTransitionTime": self._now()} if each["type"] == "Ready" else each
                for each in conditions
            ]
            metadata = pod["metadata"]
            change = {"metadata": {"uid": metadata["uid"]}, "status": {"conditions": changed}}
            try:
                await self.api.patch(PODS, metadata["name"], change, metadata["namespace"], subresource="status")
            except NotFound:
                continue  # It went while we were looking.
            self.recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready")

    # When everything is silent, nothing is evicted

    async def _judge_disruption(self, nodes: list[Object]) -> None:
        judged = [
            node
            for node in nodes
            if "node.kubernetes.io/exclude-disruption" not in (node["metadata"].get("labels") or {})
        ]
        all_disrupted = bool(judged) and all(health.readiness(node) != "True" for node in judged)
        if all_disrupted and not self._all_disrupted:
            for node in nodes:
                taints = health.reachable_taints(node)
                if taints is not None:
                    await self._set_taints(node, taints)
        elif self._all_disrupted and not all_disrupted:
            # Back from a total silence: nobody's silence before it counts.
            for seen in self._health.values():
                seen.seen_s = self.clock.monotonic_s()
        self._all_disrupted = all_disrupted

    async def _taint_unhealthy(self) -> None:
        """NoExecute taints, a few at a time per zone."""
        if self._all_disrupted or not self._to_evict:
            return
        now_s = self.clock.monotonic_s()
        for name in list(self._to_evict):
            node = self._nodes.store.get(name)
            if node is None or health.readiness(node) == "True":
                self._to_evict.pop(name, None)
                continue
            taints = health.no_execute_taints(node, self._now())
            zone = health.zone_of(node)
            if taints is None or now_s < self._next_taint_s.get(zone, 0.0):
                continue
            rate = self._rate(zone)
            if rate:
                await self._set_taints(node, taints)
                self._next_taint_s[zone] = now_s + 1 / rate

    def _rate(self, zone: str) -> float:
        states = [health.readiness(node) for node in self._nodes.store.list() if health.zone_of(node) == zone]
        ready = sum(state == "True" for state in states)
        return health.eviction_rate(ready, len(states) - ready)
