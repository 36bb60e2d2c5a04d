"""Keeping a node registered: the Node object, its status, its Lease, and the events about it.

The Lease is renewed every 10 s. The status is written when it changed, looked at every 10 s, and otherwise every five
minutes. A node that somebody deleted is registered anew.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import AlreadyExists, ApiFailure, Conflict, NotFound
from clusters.emulated.client.resources import LEASES, NODES
from clusters.emulated.clock import Clock
from clusters.emulated.clock.clock import rfc3339_micro
from clusters.emulated.kubelet.container_lifecycle import Recorder
from clusters.emulated.kubelet.faults import Faults
from clusters.emulated.kubelet.machine import Machine, NodeOptions
from clusters.emulated.kubelet.node_status import EVENTS, NodeHealth, node_conditions, node_object, node_status
from clusters.emulated.store.levers import Lever

log = logging.getLogger(__name__)

Object = dict[str, Any]

LEASE_DURATION_S: Final = 40
RENEW_EVERY_S: Final = 10.0
#: A status that did not change is reported only so often; the Lease is the heartbeat.
REPORT_EVERY_S: Final = 300.0
_NAMESPACE: Final = "kube-node-lease"


class NodeReports:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        options: NodeOptions,
        machine: Machine,
        recorder: Recorder,
        health: Callable[[], NodeHealth],
    ) -> None:
        self._api = api
        self._clock = clock
        self._options = options
        self._machine = machine
        self._recorder = recorder
        self._health = health
        self._lease: Object | None = None
        self._reported: Object = {}
        self._reported_s = float("-inf")
        self._said: dict[str, str] = {}
        self._faults = Faults()
        self.node: Object = {}

    def stop_heartbeat(self) -> Lever:
        """Neither Lease nor status is written; everything else goes on."""
        return self._faults.pull("heartbeat")

    # Life

    async def register(self) -> None:
        """Until the api-server has taken it."""
        while True:
            try:
                await self._register()
                await self._renew()
                return
            except ApiFailure as failed:
                log.warning("%s could not register: %s", self._options.name, failed.message)
                await self._clock.sleep(1.0)

    async def run(self) -> None:
        while True:
            await self._clock.sleep(RENEW_EVERY_S)
            if self._faults.match("heartbeat") is not None:
                continue
            try:
                await self._renew()
                await self.report()
            except ApiFailure as failed:
                # As a kubelet that cannot reach its api-server: it goes on trying.
                log.warning("%s could not report: %s", self._options.name, failed.message)

    # The Node

    async def _register(self) -> None:
        health = self._health()
        node = node_object(self._options, self._machine, health, self._clock.now_s())
        try:
            self.node = await self._api.create(NODES, node)
            self._reported, self._reported_s = node["status"], self._clock.monotonic_s()
        except AlreadyExists:  # Known from before a restart.
            self.node = await self._api.get(NODES, self._options.name)
            await self.report(force=True)
        self._tell(node["status"]["conditions"])

    async def report(self, force: bool = False) -> None:
        """Writes the status if there is anything new to say."""
        now_s = self._clock.monotonic_s()
        known = (self.node.get("status") or {}).get("conditions") or ()
        conditions = node_conditions(self._clock.now_s(), self._health(), known)
        status = {**node_status(self._options, self._machine), "conditions": conditions}
        changed = _essence(status) != _essence(self._reported)
        if not (changed or force or now_s - self._reported_s >= REPORT_EVERY_S):
            return
        try:
            self.node = await self._api.patch(
                NODES, self._options.name, {"status": status}, type="strategic", subresource="status"
            )
        except NotFound:
            await self._register()
            return
        self._reported, self._reported_s = status, now_s
        self._tell(conditions)

    def _tell(self, conditions: list[Object]) -> None:
        for condition in conditions:
            if self._said.get(condition["type"]) != condition["status"]:
                self._said[condition["type"]] = condition["status"]
                self.event("Normal", EVENTS[condition["type"], condition["status"]])

    def event(self, type: str, reason: str, message: str = "") -> None:
        name = self._options.name
        reference = {"kind": "Node", "name": name, "uid": name}
        self._recorder.event(reference, type, reason, message or f"Node {name} status is now: {reason}")

    # The Lease

    async def _renew(self) -> None:
        """Moved on and written back at the revision that is known; read anew only when somebody else wrote it."""
        renewed = rfc3339_micro(self._clock.now_s())
        if self._lease is not None:
            self._lease["spec"]["renewTime"] = renewed
            try:
                self._lease = await self._api.update(LEASES, self._lease)
                return
            except (Conflict, NotFound):
                self._lease = None
        try:
            lease = await self._api.get(LEASES, self._options.name, _NAMESPACE)
        except NotFound:
            self._lease = await self._api.create(LEASES, self._new_lease(renewed), _NAMESPACE)
            return
        lease["spec"]["renewTime"] = renewed
        self._lease = await self._api.update(LEASES, lease)

    def _new_lease(self, renewed: str) -> Object:
        name = self._options.name
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": self.node["metadata"]["uid"]}
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": _NAMESPACE, "ownerReferences": [owner]},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": LEASE_DURATION_S, "renewTime": renewed},
        }


def _essence(status: Object) -> Object:
    """A status without its times."""
    conditions = [
        (each["type"], each["status"], each["reason"], each["message"]) for each in status.get("conditions") or ()
    ]
    return {**status, "conditions": conditions}
