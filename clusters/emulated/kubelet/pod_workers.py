"""One worker per Pod, which syncs it again and again, one sync at a time, until nothing of it is left.

    sync → terminating → terminated → finished

A Pod begins to terminate when it is deleted, evicted, removed, or has run to its end; from then on only its end is
worked on. Between syncs a worker is nothing but a record.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from clusters.emulated.clock import Clock, Randomness
from clusters.emulated.kubelet.api_status import TERMINAL
from clusters.emulated.kubelet.cri import CriError
from clusters.emulated.kubelet.pleg import PodLifecycleEvents
from clusters.emulated.kubelet.pod_sync import PodSync, SyncOutcome

log = logging.getLogger(__name__)

Object = dict[str, Any]

RESYNC_S: Final = 60.0
BACK_OFF_S: Final = 10.0
TRANSIENT_S: Final = 1.0
_JITTER: Final = 0.5
#: How often a real kubelet looks which Pods are due.
TICK_S: Final = 1.0


@dataclass(slots=True, eq=False)
class Worker:
    pod: Object
    pending: bool = False
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None
    started: bool = False
    terminating: bool = False
    terminated: bool = False
    finished: bool = False
    evicted: bool = False
    #: Gone from the api-server: nobody wants its status any more.
    deleted: bool = False
    grace_s: int = 0
    override: Callable[[Object], None] | None = None
    last_mark: int = -1
    waiting: list[asyncio.Future[None]] = field(default_factory=list)

    @property
    def uid(self) -> str:
        uid: str = self.pod["metadata"]["uid"]
        return uid


class PodWorkers:
    """`finished(worker)` is told when nothing of a Pod is left."""

    def __init__(
        self,
        sync: PodSync,
        pleg: PodLifecycleEvents,
        clock: Clock,
        randomness: Randomness,
        event: Callable[[Object, str, str, str], None],
        finished: Callable[[Worker], None],
    ) -> None:
        self._sync = sync
        self._pleg = pleg
        self._clock = clock
        self._randomness = randomness
        self._event = event
        self._finished = finished
        self._workers: dict[str, Worker] = {}
        self._began_s = clock.monotonic_s()

    # Asking

    def get(self, uid: str) -> Worker | None:
        return self._workers.get(uid)

    def is_terminating(self, uid: str) -> bool:
        worker = self._workers.get(uid)
        return worker is not None and worker.terminating

    def could_be_running(self, uid: str) -> bool:
        """Whether containers of this Pod may still run."""
        worker = self._workers.get(uid)
        return worker is not None and worker.started and not worker.terminated

    # Telling

    def update(self, pod: Object) -> None:
        """A Pod that is new, or has changed."""
        uid = pod["metadata"]["uid"]
        worker = self._workers.get(uid)
        if worker is None:
            worker = self._workers[uid] = Worker(pod)
            if pod["status"].get("phase") in TERMINAL if "status" in pod else False:
                self._terminate(worker)
        if worker.finished:
            return
        worker.pod = pod
        if pod["metadata"].get("deletionTimestamp") or (pod.get("status") or {}).get("phase") in TERMINAL:
            self._terminate(worker)
        self._wake(worker)

    def sync(self, uid: str) -> None:
        """Something of the Pod changed in the runtime."""
        worker = self._workers.get(uid)
        if worker is not None and not worker.finished:
            self._wake(worker)

    def remove(self, pod: Object) -> None:
        """Gone from the api-server: what still runs is killed."""
        worker = self._workers.get(pod["metadata"]["uid"])
        if worker is None:
            return
        worker.deleted = True
        if worker.finished:
            self._forget(worker)
            return
        worker.pod = pod
        self._terminate(worker)
        self._wake(worker)

    async def kill(
        self, pod: Object, grace_s: int | None, override: Callable[[Object], None] | None, evict: bool
    ) -> None:
        """Ends a Pod from within (eviction, shutdown); returns when its containers have ended."""
        worker = self._workers.get(pod["metadata"]["uid"])
        if worker is None or worker.terminated or worker.finished:
            return
        worker.override = override or worker.override
        worker.evicted = worker.evicted or evict
        self._terminate(worker, grace_s)
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        worker.waiting.append(gone)
        self._wake(worker)
        await gone

    def close(self) -> list[asyncio.Task[None]]:
        """Stops everything; returns the tasks that are being cancelled."""
        tasks = []
        for worker in self._workers.values():
            if worker.timer is not None:
                worker.timer.cancel()
            if worker.task is not None:
                worker.task.cancel()
                tasks.append(worker.task)
        return tasks

    def _terminate(self, worker: Worker, grace_s: int | None = None) -> None:
        metadata, spec = worker.pod["metadata"], worker.pod["spec"]
        grace, given = worker.grace_s, False
        for wish in (metadata.get("deletionGracePeriodSeconds"), grace_s):
            if wish is not None and (grace == 0 or wish < grace):
                grace, given = wish, True
        if not given and grace == 0:
            grace = spec.get("terminationGracePeriodSeconds", 30)
        worker.grace_s = max(grace, 1)
        worker.terminating = True

    # Working

    def _wake(self, worker: Worker) -> None:
        worker.pending = True
        if worker.task is None:
            name = f"pod {worker.pod['metadata']['name']}"
            worker.task = asyncio.get_running_loop().create_task(self._work(worker), name=name)

    async def _work(self, worker: Worker) -> None:
        try:
            while worker.pending and not worker.finished:
                worker.pending = False
                await self._once(worker)
        finally:
            worker.task = None

    async def _once(self, worker: Worker) -> None:
        try:
            state = await self._pleg.newer_than(worker.uid, worker.last_mark)
            pod, was_terminating, was_terminated = worker.pod, worker.terminating, worker.terminated
            if was_terminated:
                outcome = await self._sync.sync_terminated(pod, state)
            elif was_terminating:
                if not worker.started and not state.sandboxes:
                    # Never begun here: there is nothing to stop.
                    worker.started = True
                outcome = await self._sync.sync_terminating(pod, state, worker.grace_s, worker.override)
            else:
                worker.started = True
                outcome = await self._sync.sync(pod, state)
        except CriError as error:
            outcome = SyncOutcome(error=str(error))
            was_terminating, was_terminated = worker.terminating, worker.terminated
        except Exception:
            # A Pod that no kubelet can run must not wedge its worker.
            log.exception("pod %s could not be synced", worker.pod["metadata"]["name"])
            self._event(worker.pod, "Warning", "FailedSync", "error determining status: the kubelet failed")
            outcome = SyncOutcome(error="internal error")
            was_terminating, was_terminated = worker.terminating, worker.terminated
        worker.last_mark = self._pleg.mark()
        if outcome.acted and not outcome.error:
            self._pleg.relist_pod(worker.uid)
        self._advance(worker, outcome, was_terminating, was_terminated)

    def _advance(self, worker: Worker, outcome: SyncOutcome, was_terminating: bool, was_terminated: bool) -> None:
        if outcome.error:
            self._again_later(worker, self._delay_s(outcome))
        elif was_terminated:
            self._finish(worker)
        elif was_terminating:
            worker.terminated, worker.pending = True, True
            for gone in worker.waiting:
                if not gone.done():
                    gone.set_result(None)
            worker.waiting.clear()
        elif outcome.is_terminal:
            worker.terminating, worker.pending = True, True
            self._terminate(worker)
        else:
            self._again_later(worker, RESYNC_S)

    def _delay_s(self, outcome: SyncOutcome) -> float:
        if outcome.network:
            return TRANSIENT_S
        if outcome.back_off_until_s is not None:
            return min(max(outcome.back_off_until_s - self._clock.now_s(), 0.0), RESYNC_S)
        return BACK_OFF_S

    def _again_later(self, worker: Worker, delay_s: float) -> None:
        """After the delay and up to half of it more, when the next second ticks."""
        due_s = self._clock.monotonic_s() - self._began_s + delay_s * (1 + _JITTER * self._randomness.fraction())
        due_s = math.ceil(due_s / TICK_S) * TICK_S
        if worker.timer is not None:
            worker.timer.cancel()
        delay_s = max(due_s - (self._clock.monotonic_s() - self._began_s), 0.0)
        worker.timer = self._clock.call_later(delay_s, lambda: self.sync(worker.uid))

    def wake_at(self, uid: str, at_s: float) -> None:
        """Has a Pod synced at a time of its own (its deadline), when the next second ticks."""
        delay_s = max(at_s - self._clock.now_s(), 0.0)
        due_s = math.ceil((self._clock.monotonic_s() - self._began_s + delay_s) / TICK_S) * TICK_S
        self._clock.call_later(max(due_s - (self._clock.monotonic_s() - self._began_s), 0.0), lambda: self.sync(uid))

    def _finish(self, worker: Worker) -> None:
        worker.finished = True
        if worker.timer is not None:
            worker.timer.cancel()
            worker.timer = None
        self._finished(worker)
        if worker.deleted:
            self._forget(worker)

    def _forget(self, worker: Worker) -> None:
        self._workers.pop(worker.uid, None)
        if worker.timer is not None:
            worker.timer.cancel()
        self._sync.forget(worker.uid)
