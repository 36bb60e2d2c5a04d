"""The kube-scheduler: takes Pods from the queue one by one, decides, and binds them in the background.

scheduler = Scheduler(context)
await scheduler.run()        # until it is cancelled; a new one catches up from the informers
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

from clusters.emulated.client.controller import ComponentContext
from clusters.emulated.client.errors import ApiFailure
from clusters.emulated.client.resources import PODS
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.scheduler.algorithm import Algorithm
from clusters.emulated.scheduler.cache import Cache
from clusters.emulated.scheduler.cluster_events import Action, Event
from clusters.emulated.scheduler.event_recorder import SchedulerEvents
from clusters.emulated.scheduler.eviction import Eviction
from clusters.emulated.scheduler.fit_error import FitError, NoNodesError, PluginError
from clusters.emulated.scheduler.framework import Framework
from clusters.emulated.scheduler.informed import Handlers, listers_of
from clusters.emulated.scheduler.plugin import Cycle
from clusters.emulated.scheduler.plugins.default_preemption import DefaultPreemption
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.pod_status import condition, status_patch
from clusters.emulated.scheduler.preemption import Preemption
from clusters.emulated.scheduler.profile import default_profile
from clusters.emulated.scheduler.queue.nominator import Nominator
from clusters.emulated.scheduler.queue.queued_pod import QueuedPod
from clusters.emulated.scheduler.queue.scheduling_queue import SchedulingQueue
from clusters.emulated.scheduler.volumes.binder import VolumeBinder

log = logging.getLogger(__name__)

Object = dict[str, Any]

UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"
# Bindings under way at once; the next Pod is decided when one of them is done.
_BINDINGS_MAX: Final = 256


class Scheduler:
    """Not to be run twice: make a new one."""

    name = "default-scheduler"

    def __init__(self, context: ComponentContext) -> None:
        self._api = context.api
        self._clock = context.clock
        self._informers = context.informers
        self._listers = listers_of(context.informers)
        self._cache = Cache()
        self._nominator = Nominator(self._is_waiting)
        self._events = SchedulerEvents(context.api, context.clock, self.name, f"{self.name}-kaput")
        self._eviction = Eviction(
            context.api, context.clock, self._events, self._listers, self._nominator, self._activate
        )
        preemption = DefaultPreemption(self._eviction)
        binder = VolumeBinder(context.api, context.clock, self._listers)
        profile = default_profile(self._cache, self._listers, binder, preemption)
        self._framework = Framework(profile, self._nominator)
        preemption.preemption = Preemption(
            self._cache, self._framework, self._listers, context.clock, context.randomness
        )
        self._algorithm = Algorithm(self._cache, self._framework, context.randomness)
        self._queue = SchedulingQueue(
            context.clock,
            self._framework.run_pre_enqueue,
            {plugin.name: tuple(plugin.registrations) for plugin in self._framework.plugins},
            self._nominator,
        )
        self._bindings: set[asyncio.Task[None]] = set()

    def _activate(self, key: str) -> None:
        self._queue.activate(key)

    def _is_waiting(self, pod: PodInfo) -> bool:
        known = self._listers.pods.get(pod.key)
        return known is not None and known["metadata"]["uid"] == pod.uid and not known["spec"].get("nodeName")

    # Life

    async def run(self) -> None:
        try:
            await self._informers.start_all()
            await self._informers.wait_synced()
            Handlers(self._cache, self._queue, self.name).attach(self._informers)
            while True:
                queued = await self._queue.pop()
                self._schedule_one(queued)
                # Bindings and events get their turn after every decision.
                await asyncio.sleep(0)
                while len(self._bindings) >= _BINDINGS_MAX:
                    await asyncio.wait(self._bindings, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._close()

    def _close(self) -> None:
        self._informers.release()
        self._queue.close()
        self._eviction.close()
        self._events.close()
        for task in self._bindings:
            task.cancel()

    # One attempt

    def _schedule_one(self, queued: QueuedPod) -> None:
        pod = queued.info
        if pod.terminating:
            note = f"skip schedule deleting pod: {pod.key}"
            self._events.event(pod.pod, "Warning", "FailedScheduling", "Scheduling", note)
            return
        if self._cache.is_assumed(pod.uid):
            return
        cycle = Cycle()
        try:
            node_name = self._algorithm.schedule(cycle, pod)
        except NoNodesError as none:
            self._failed(queued, UNSCHEDULABLE, none.message, nominated="")
        except FitError as unfit:
            nominated = self._after_no_fit(cycle, pod, unfit)
            queued.plugins = set(unfit.diagnosis.plugins)
            self._failed(queued, UNSCHEDULABLE, unfit.message, nominated, plugins=True)
        except PluginError as problem:
            self._failed(queued, SCHEDULER_ERROR, problem.message, nominated="")
        except Exception as unexpected:
            # An object that nobody foresaw must not keep the scheduler from serving the other Pods.
            log.exception("%s could not be scheduled", pod.key)
            self._failed(queued, SCHEDULER_ERROR, str(unexpected), nominated="")
        else:
            self._place(queued, cycle, node_name)

    def _after_no_fit(self, cycle: Cycle, pod: PodInfo, unfit: FitError) -> str | None:
        result = self._framework.run_post_filter(cycle, pod, unfit.diagnosis)
        if result.status is not None:
            unfit.diagnosis.post_filter_message = result.status.message
        return result.nominated_node

    def _place(self, queued: QueuedPod, cycle: Cycle, node_name: str) -> None:
        pod = queued.info
        self._cache.assume(pod, node_name)
        self._nominator.remove(pod.uid)
        try:
            self._framework.run_reserve(cycle, pod, node_name)
        except PluginError as problem:
            self._framework.run_unreserve(cycle, pod, node_name)
            self._cache.forget(pod.uid)
            self._failed(queued, SCHEDULER_ERROR, problem.message, nominated="")
            return
        task = asyncio.get_running_loop().create_task(self._bind(queued, cycle, node_name))
        self._bindings.add(task)
        task.add_done_callback(self._bindings.discard)

    # Binding

    async def _bind(self, queued: QueuedPod, cycle: Cycle, node_name: str) -> None:
        pod = queued.info
        try:
            if self._framework.pre_bind_pending(cycle, node_name):
                # Tells others, such as an autoscaler, where the Pod is going while its volumes are made.
                await self._write_status(pod.pod, None, node_name)
                await self._framework.run_pre_bind(cycle, pod, node_name)
            binding = {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
                "target": {"kind": "Node", "name": node_name},
            }
            await self._api.create(PODS, binding, pod.namespace, name=pod.name, subresource="binding")
        except ApiFailure as refused:
            message = f'running Bind plugin "DefaultBinder": {refused.message}'
            self._binding_failed(queued, cycle, node_name, message)
        except PluginError as problem:
            self._binding_failed(queued, cycle, node_name, problem.message)
        except Exception as unexpected:
            log.exception("%s could not be bound", pod.key)
            self._binding_failed(queued, cycle, node_name, str(unexpected))
        else:
            note = f"Successfully assigned {pod.key} to {node_name}"
            self._events.event(pod.pod, "Normal", "Scheduled", "Binding", note)

    def _binding_failed(self, queued: QueuedPod, cycle: Cycle, node_name: str, message: str) -> None:
        pod = queued.info
        self._framework.run_unreserve(cycle, pod, node_name)
        self._cache.forget(pod.uid)
        self._queue.move(Event("Pod", Action.DELETE), pod.pod, None)
        self._failed(queued, SCHEDULER_ERROR, message, nominated="")

    # Failure

    def _failed(
        self, queued: QueuedPod, reason: str, message: str, nominated: str | None, *, plugins: bool = False
    ) -> None:
        """Back into the queue, an event, and the PodScheduled condition."""
        if not plugins:
            queued.plugins = set()
        pod = queued.info.pod
        known = self._listers.pods.get(queued.info.key)
        if known is not None and not known["spec"].get("nodeName"):
            if known["metadata"]["uid"] != queued.info.uid:
                return  # Another Pod of that name; it has its own place in the queue.
            pod = known
            queued.info = PodInfo(known)
            self._queue.add_unschedulable(queued)
            self._nominator.add(queued.info, nominated)
        log.debug("unable to schedule %s: %s", queued.info.key, message)
        self._events.event(pod, "Warning", "FailedScheduling", "Scheduling", message)
        wanted = condition("PodScheduled", "False", reason, message, pod)
        task = asyncio.get_running_loop().create_task(self._write_status(pod, wanted, nominated))
        self._bindings.add(task)
        task.add_done_callback(self._bindings.discard)

    async def _write_status(self, pod: Object, wanted: Object | None, nominated: str | None) -> None:
        change = status_patch(pod, wanted, nominated, rfc3339(self._clock.now_s()))
        if change is None:
            return
        metadata = pod["metadata"]
        try:
            await self._api.patch(
                PODS, metadata["name"], change, metadata["namespace"], type="strategic", subresource="status"
            )
        except ApiFailure as refused:
            # The next attempt writes it again; a Pod that is gone needs no condition.
            log.info("the status of %s/%s was not written: %s", metadata["namespace"], metadata["name"], refused)
