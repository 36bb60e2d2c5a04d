"""The frame of a controller: informers fill a queue of keys, workers reconcile one key at a time.

class ReplicaSetController(Controller):
    name = "replicaset-controller"

    def setup(self) -> None:
        self.replica_sets = self.informer(REPLICA_SETS)
        self.replica_sets.add_handler(self.enqueue, lambda _, new: self.enqueue(new))

    async def reconcile(self, key: str) -> None:
        replica_set = self.replica_sets.store.get(key)
        if replica_set is None:
            return  # Deleted while it waited in the queue.
        ...
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from clusters.emulated.client.api import Api
from clusters.emulated.client.authority import Authority
from clusters.emulated.client.errors import ApiFailure, Conflict
from clusters.emulated.client.events import EventRecorder
from clusters.emulated.client.indexer import key_of
from clusters.emulated.client.informers import InformerFactory, SharedInformer
from clusters.emulated.client.metrics import ControlledMetrics
from clusters.emulated.client.resources import Resource
from clusters.emulated.client.workqueue import WorkQueue
from clusters.emulated.clock import Clock, Randomness

log = logging.getLogger(__name__)

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ComponentContext:
    """Everything a component has of the world."""

    api: Api
    clock: Clock
    randomness: Randomness
    informers: InformerFactory
    #: Only where the component was given the cluster's keys.
    authority: Authority | None = None
    #: What tests say about the use of resources; see `client.metrics`.
    metrics: ControlledMetrics | None = None


class Controller:
    """`run()` works until it is cancelled, and leaves nothing behind. Not to be run twice: make a new one."""

    #: As the real one is called, e.g. `deployment-controller`.
    name: str = ""
    #: In kube-system, where it differs from the name: `endpointslice-controller`.
    service_account: str = ""
    #: Acts as kube-controller-manager itself instead of as a ServiceAccount, as the one that signs tokens must.
    as_manager: bool = False
    #: The source of its events, where it differs from the name: `endpoint-slice-controller`.
    event_component: str = ""
    workers: int = 1
    #: A key that failed this often in a row is dropped until something changes; None retries for ever.
    retries_max: int | None = None

    def __init__(self, context: ComponentContext) -> None:
        self.context = context
        self.api = context.api
        self.clock = context.clock
        self.randomness = context.randomness
        self.queue: WorkQueue[str] = WorkQueue(context.clock, context.randomness)
        self.recorder = EventRecorder(
            context.api, self.event_component or self.name, clock=context.clock, randomness=context.randomness
        )
        self._loops: list[tuple[float, Callable[[], Awaitable[None]]]] = []

    # For the subclass to say

    def setup(self) -> None:
        """Asks for informers, adds handlers and indexes. Called once, before anything runs."""

    async def reconcile(self, key: str) -> None:
        """Brings the world closer to what the object of this key wants. Whatever it raises is tried again later."""

    # For the subclass to use

    def informer(
        self, resource: Resource, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> SharedInformer:
        return self.context.informers.informer(resource, namespace, label_selector, field_selector)

    def enqueue(self, obj_or_key: Object | str) -> None:
        self.queue.add(obj_or_key if isinstance(obj_or_key, str) else key_of(obj_or_key))

    def enqueue_after(self, obj_or_key: Object | str, delay_s: float) -> None:
        self.queue.add_after(obj_or_key if isinstance(obj_or_key, str) else key_of(obj_or_key), delay_s)

    def periodic(self, every_s: float, work: Callable[[], Awaitable[None]]) -> None:
        """Has `work` done every so often while the controller runs, first at once. Call it in `setup`."""
        self._loops.append((every_s, work))

    # Life

    async def run(self) -> None:
        informers = self.context.informers
        try:
            self.setup()
            await informers.start_all()
            await informers.wait_synced()
            async with asyncio.TaskGroup() as group:
                for number in range(self.workers):
                    group.create_task(self._work(), name=f"{self.name} worker {number}")
                for every_s, work in self._loops:
                    group.create_task(periodic(self.clock, every_s, work, self.name), name=f"{self.name} loop")
        finally:
            self.queue.shut_down()
            self.recorder.stop()
            informers.release()

    async def _work(self) -> None:
        queue = self.queue
        while True:
            key = await queue.get()
            try:
                await self.reconcile(key)
            except Conflict as conflict:
                log.debug("%s: %s: %s", self.name, key, conflict.message)
                self._retry(key)
            except ApiFailure as failed:
                log.warning("%s: %s will be tried again: %s", self.name, key, failed.message)
                self._retry(key)
            except Exception:
                # A broken object must not keep the controller from serving the others.
                log.exception("%s: %s could not be reconciled", self.name, key)
                self._retry(key)
            else:
                queue.forget(key)
            finally:
                queue.done(key)

    def _retry(self, key: str) -> None:
        if self.retries_max is not None and self.queue.num_requeues(key) >= self.retries_max:
            log.warning("%s: %s is dropped after %d tries", self.name, key, self.retries_max)
            self.queue.forget(key)
        else:
            self.queue.add_rate_limited(key)


async def periodic(clock: Clock, every_s: float, work: Callable[[], Awaitable[None]], name: str = "") -> None:
    """Does `work` now and then again `every_s` after each end of it; a failure is logged and does not end it."""
    while True:
        try:
            await work()
        except ApiFailure as failed:
            log.warning("%s: will be tried again in %g s: %s", name, every_s, failed.message)
        except Exception:
            log.exception("%s: will be tried again in %g s", name, every_s)
        await clock.sleep(every_s)
