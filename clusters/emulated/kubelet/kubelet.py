"""The kubelet of one node: registers it, keeps it alive, and runs the Pods that are bound to it.

    kubelet = Kubelet(context, NodeOptions("node-1"))
    await kubelet.run()                     # until cancelled; the containers go on without it

Levers are on its parts: `kubelet.machine.runtime`, `.cni`, `.registry`, `kubelet.pulls`, `kubelet.volumes`,
`kubelet.node` (heartbeat), `kubelet.admission_error`.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Sequence
from typing import Any, Final

from clusters.emulated.client.controller import ComponentContext
from clusters.emulated.client.events import EventRecorder
from clusters.emulated.client.resources import PODS, SERVICES
from clusters.emulated.kubelet.admission import NodeFacts, admit
from clusters.emulated.kubelet.api_status import TERMINAL
from clusters.emulated.kubelet.connections import Connections
from clusters.emulated.kubelet.container_lifecycle import ContainerLifecycle
from clusters.emulated.kubelet.cri import EXITED, CriError
from clusters.emulated.kubelet.faults import Faults
from clusters.emulated.kubelet.hooks import Hooks
from clusters.emulated.kubelet.image_pulls import ImagePulls
from clusters.emulated.kubelet.machine import Machine, NodeOptions
from clusters.emulated.kubelet.node_reports import NodeReports
from clusters.emulated.kubelet.node_status import NodeHealth
from clusters.emulated.kubelet.pleg import PodLifecycleEvents
from clusters.emulated.kubelet.pod_names import container_field
from clusters.emulated.kubelet.pod_statuses import PodStatuses
from clusters.emulated.kubelet.pod_sync import PodSync
from clusters.emulated.kubelet.pod_workers import PodWorkers, Worker
from clusters.emulated.kubelet.probes import Probes
from clusters.emulated.kubelet.references import References
from clusters.emulated.kubelet.resources import Amounts, pod_amounts, qos_class
from clusters.emulated.kubelet.volumes import Volumes
from clusters.emulated.store.levers import Lever
from clusters.kube.timestamps import unix_s

log = logging.getLogger(__name__)

Object = dict[str, Any]

#: How often the runtime is asked whether it is well, and how long it may be away.
RUNTIME_CHECK_S: Final = 5.0
RUNTIME_PATIENCE_S: Final = 30.0
_DEADLINE: Final = ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline")


class Kubelet:
    def __init__(self, context: ComponentContext, node: NodeOptions | str) -> None:
        self.options = NodeOptions(node) if isinstance(node, str) else node
        self.context = context
        self.clock = context.clock
        options = self.options
        self.machine = options.machine or Machine.of(options, context.clock, context.randomness.derived("machine"))
        self.recorder = EventRecorder(
            context.api, "kubelet", options.name, clock=context.clock, randomness=context.randomness
        )
        self.host_ip = options.internal_ip
        self._pods: dict[str, Object] = {}
        self._requests: dict[str, Amounts] = {}
        self._rejected: set[str] = set()
        self._faults = Faults()
        self._runtime_ok_s = context.clock.monotonic_s()
        self._network_error = ""
        self._runtime_error = ""
        self._check: asyncio.TimerHandle | None = None
        self._began_s = context.clock.monotonic_s()
        self._tasks: set[asyncio.Task[None]] = set()
        #: Whether it answers: between its start and its end.
        self.is_running = False
        #: Set once the api-server knows the node.
        self.registered = asyncio.Event()
        self._assemble()

    def _assemble(self) -> None:
        api, clock, machine, runtime = self.context.api, self.clock, self.machine, self.machine.runtime
        self.node = NodeReports(api, clock, self.options, machine, self.recorder, self._health)
        self.references = References(api)
        self.pulls = ImagePulls(clock, machine.images, machine.registry)
        self.connections = Connections(runtime, clock)
        self.volumes = Volumes(
            api, clock, self.references, lambda: (self.host_ip, self.allocatable), self.recorder.event, machine.disk,
            set(self.options.csi_drivers),
        )  # fmt: skip
        self.statuses = PodStatuses(api, clock, self._pods.get, lambda uid: self.workers.could_be_running(uid))
        self.probes = Probes(
            runtime, self.connections, clock, self.statuses.get, self._probe_changed, self._probe_event
        )
        self.containers = ContainerLifecycle(
            runtime, self.pulls, self.volumes, self.references, Hooks(runtime, self.connections, clock), self.recorder,
            clock, self,
        )  # fmt: skip
        self.pleg = PodLifecycleEvents(runtime, clock, self._runtime_changed)
        self.sync = PodSync(
            api, clock, runtime, self.statuses, self.probes, self.volumes, self.references, self.containers,
            self.recorder, lambda: self._network_error, self._past_deadline, self.host_ip,
            lambda uid: self.workers.is_terminating(uid),
        )  # fmt: skip
        self.workers = PodWorkers(
            self.sync, self.pleg, clock, self.context.randomness, self.recorder.event, self._pod_finished
        )

    # What containers learn of the node

    @property
    def allocatable(self) -> Object:
        found: Object = (self.node.node.get("status") or {}).get("allocatable") or {}
        return found

    async def services(self, namespace: str) -> Sequence[Object]:
        return self._services.store.list()

    def pods(self) -> list[Object]:
        """The Pods of this node, as it knows them."""
        return [*self._pods.values()]

    # Levers

    def admission_error(self, message: str) -> Lever:
        """Every Pod is refused with UnexpectedAdmissionError."""
        return self._faults.pull("admission", message)

    # Life

    async def run(self) -> None:
        informers = self.context.informers
        self.machine.changed.append(self._machine_changed)
        self.is_running = True
        try:
            self.node.event("Normal", "Starting", "Starting kubelet.")
            await self.node.register()
            self.registered.set()
            self.node.event("Normal", "NodeAllocatableEnforced", "Updated Node Allocatable limit across pods")
            self._services = informers.informer(SERVICES)
            pods = informers.informer(PODS, field_selector=f"spec.nodeName={self.options.name}")
            await self._services.start()
            await self._services.wait_synced()
            self._look_at_everything()
            pods.add_handler(self._added, lambda _, new: self._updated(new), lambda pod, _: self._deleted(pod))
            await pods.start()
            await pods.wait_synced()
            self._kill_orphans()
            async with asyncio.TaskGroup() as group:
                group.create_task(self.node.run(), name="node reports")
                group.create_task(self.statuses.run(), name="pod statuses")
        finally:
            await self._close()

    async def _close(self) -> None:
        self.is_running = False
        self.machine.changed.remove(self._machine_changed)
        if self._check is not None:
            self._check.cancel()
        self.pleg.close()
        self.probes.close()
        tasks = [*self.workers.close(), *self._tasks]
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for uid in [*self._pods]:
            self.volumes.unmount(uid)
        self.recorder.stop()
        self.context.informers.release()

    def _look_at_everything(self) -> None:
        """What runs already, from before a restart."""
        if self.machine.runtime.is_up():
            for uid in self.machine.runtime.pod_uids():
                self.pleg.reinspect(uid)
        self.pleg.relist()

    def _kill_orphans(self) -> None:
        """What runs here though nobody wants it any more: Pods that were removed while no kubelet was there."""
        if not self.machine.runtime.is_up():
            return
        for uid in self.machine.runtime.pod_uids():
            if uid not in self._pods:
                self._background(self._clean_up(uid, kill=True))

    def _background(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work, name="kubelet")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Pods

    def _added(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        self._pods[uid] = pod
        phase = (pod.get("status") or {}).get("phase")
        if phase not in TERMINAL and not pod["metadata"].get("deletionTimestamp"):
            refused = admit(pod, self._facts(uid))
            if refused is not None:
                self._rejected.add(uid)
                self.recorder.event(pod, "Warning", refused.reason, refused.message)
                status = {"qosClass": qos_class(pod), "phase": "Failed", "reason": refused.reason}
                status["message"] = f"Pod was rejected: {refused.message}"
                status["observedGeneration"] = pod["metadata"].get("generation", 0)
                self.statuses.set(pod, status)
                return
        self._requests[uid] = pod_amounts(pod, "requests")
        self.workers.update(pod)
        self._watch_deadline(pod)

    def _facts(self, uid: str) -> NodeFacts:
        active = [
            other
            for each, other in self._pods.items()
            if each != uid and each in self._requests and not self._is_over(each, other)
        ]
        return NodeFacts(
            self.node.node,
            active,
            [self._requests[other["metadata"]["uid"]] for other in active],
            self.options.allowed_sysctls,
            self.options.app_armor,
            unexpected=self._faults.match("admission") or "",
        )

    def _is_over(self, uid: str, pod: Object) -> bool:
        worker = self.workers.get(uid)
        return (worker is not None and worker.terminated) or (pod.get("status") or {}).get("phase") in TERMINAL

    def _updated(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        before = self._pods.get(uid)
        if before is None:
            self._added(pod)  # The name was deleted and created anew meanwhile.
            return
        self._pods[uid] = pod
        if uid in self._rejected:
            if pod["metadata"].get("deletionTimestamp"):
                self.statuses.terminate(pod)
            return
        self.probes.update_pod(pod)
        worker = self.workers.get(uid)
        if worker is None or not _only_status_changed(before, pod):
            self.workers.update(pod)
            self._watch_deadline(pod)
        else:
            worker.pod = pod
            if _gates_changed(before, pod):
                self.workers.sync(uid)
        if pod["metadata"].get("deletionTimestamp"):
            self.statuses.reconsider(uid)

    def _deleted(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        self._pods.pop(uid, None)
        self._requests.pop(uid, None)
        self._rejected.discard(uid)
        worker = self.workers.get(uid)
        self.workers.remove(pod)
        if worker is None or worker.finished:
            self._forget(uid)

    def _pod_finished(self, worker: Worker) -> None:
        if worker.deleted:
            self._forget(worker.uid)

    def _forget(self, uid: str) -> None:
        self.statuses.forget(uid)
        self._background(self._clean_up(uid, kill=False))

    async def _clean_up(self, uid: str, kill: bool) -> None:
        """Takes away what the runtime still has of a Pod that is gone."""
        runtime = self.machine.runtime
        try:
            state = runtime.pod_state(uid)
            for container in state.containers:
                if kill:
                    await runtime.stop_container(container.id.removeprefix("containerd://"), 2)
                await runtime.remove_container(container.id.removeprefix("containerd://"))
            for sandbox_id, _, _, _, _ in state.sandboxes:
                await runtime.stop_pod_sandbox(sandbox_id)
                await runtime.remove_pod_sandbox(sandbox_id)
        except CriError as error:
            log.warning("%s: what is left of pod %s stays: %s", self.options.name, uid, error)
        self.pleg.forget(uid)

    # Deadlines

    def _watch_deadline(self, pod: Object) -> None:
        limit_s = pod["spec"].get("activeDeadlineSeconds")
        if limit_s is None:
            return
        status = self.statuses.get(pod["metadata"]["uid"]) or pod.get("status") or {}
        began_s = unix_s(status["startTime"]) if status.get("startTime") else self.clock.now_s()
        self.workers.wake_at(pod["metadata"]["uid"], began_s + limit_s)

    def _past_deadline(self, pod: Object) -> tuple[str, str] | None:
        limit_s = pod["spec"].get("activeDeadlineSeconds")
        if limit_s is None:
            return None
        status = self.statuses.get(pod["metadata"]["uid"]) or pod.get("status") or {}
        if not status.get("startTime") or self.clock.now_s() - unix_s(status["startTime"]) < limit_s:
            return None
        self.recorder.event(pod, "Normal", *_DEADLINE)
        return _DEADLINE

    # What the runtime and the probes say

    def _runtime_changed(self, uid: str, died: str) -> None:
        if uid in self._pods:
            self.workers.sync(uid)
        if died.startswith("containerd://"):
            self._background(self._remove_older(uid, died))

    async def _remove_older(self, uid: str, died: str) -> None:
        """Of the containers that ended, only the last one of each name stays."""
        state = self.pleg.get(uid)
        name = next((each.name for each in state.containers if each.id == died), "")
        ended = [each for each in state.containers if each.name == name and each.state == EXITED]
        try:
            for container in ended[1:]:
                await self.machine.runtime.remove_container(container.id.removeprefix("containerd://"))
        except CriError:
            return  # It is tried again when the next one ends.

    def _probe_changed(self, kind: str, pod: Object, container_id: str, result: bool | None) -> None:
        uid = pod["metadata"]["uid"]
        current = self._pods.get(uid, pod)
        if kind == "readiness":
            self.statuses.set_ready(current, container_id, result is True)
        elif kind == "startup":
            self.statuses.set_started(current, container_id, result is True)
        elif result is not False:
            return
        self.workers.sync(uid)

    def _probe_event(self, pod: Object, container: Object, reason: str, message: str) -> None:
        self.recorder.event(pod, "Warning", reason, message, field_path=container_field(pod, container["name"]))

    # The node's health

    def _health(self) -> NodeHealth:
        errors = [each for each in (self._runtime_error, self._network_error) if each]
        return NodeHealth(frozenset(), tuple(errors))

    def _machine_changed(self) -> None:
        """Not known before the runtime is asked next."""
        if self._check is None:
            passed_s = self.clock.monotonic_s() - self._began_s
            next_s = (math.floor(passed_s / RUNTIME_CHECK_S + 1e-9) + 1) * RUNTIME_CHECK_S
            self._check = self.clock.call_later(next_s - passed_s, self._check_runtime)

    def _check_runtime(self) -> None:
        self._check = None
        now_s = self.clock.monotonic_s()
        try:
            condition = self.machine.runtime.condition()
        except CriError:
            away_s = now_s - self._runtime_ok_s
            self._runtime_error = "container runtime is down" if away_s > RUNTIME_PATIENCE_S else ""
            self._machine_changed()
            return
        self._runtime_ok_s, self._runtime_error = now_s, ""
        if condition.network_ready:
            self._network_error = ""
        else:
            self._network_error = (
                "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
                f"message:{condition.network_message}"
            )
            self._machine_changed()


def _only_status_changed(before: Object, after: Object) -> bool:
    return before["spec"] == after["spec"] and _without_versions(before["metadata"]) == _without_versions(
        after["metadata"]
    )


def _without_versions(metadata: Object) -> Object:
    return {name: value for name, value in metadata.items() if name not in ("resourceVersion", "managedFields")}


def _gates_changed(before: Object, after: Object) -> bool:
    gates = {gate["conditionType"] for gate in after["spec"].get("readinessGates") or ()}
    if not gates:
        return False

    def said(pod: Object) -> dict[str, str]:
        conditions = (pod.get("status") or {}).get("conditions") or ()
        return {each["type"]: each["status"] for each in conditions if each["type"] in gates}

    return said(before) != said(after)
