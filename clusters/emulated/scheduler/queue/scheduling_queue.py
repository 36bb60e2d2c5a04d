"""Pods that have no node yet, each in one of three places.

active          next to be tried: by priority, then by age
backing off     failed a short while ago; tried early only when nothing is active
unschedulable   waits for an event that one of the plugins that refused it finds helpful (5 minutes at most)

queue.add(pod)                       # active (or gated: unschedulable until its gates are gone)
queued = await queue.pop()           # tried, refused by NodeResourcesFit
queue.add_unschedulable(queued)      # unschedulable
queue.move(Event("Pod", DELETE), …)  # a Pod left a node: active or backing off again
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from clusters.emulated.clock import Clock
from clusters.emulated.scheduler.cluster_events import TIMEOUT, Event, Registration, pod_changes
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.queue import backoff
from clusters.emulated.scheduler.queue.nominator import Nominator
from clusters.emulated.scheduler.queue.queued_pod import QueuedPod
from clusters.emulated.scheduler.status import Status

Object = dict[str, Any]

UNSCHEDULABLE_MAX_S: Final = 300.0
FLUSH_EVERY_S: Final = 30.0


class SchedulingQueue:
    """`pre_enqueue` may gate a Pod. `registrations` are, by plugin, the events that may help its Pods."""

    def __init__(
        self,
        clock: Clock,
        pre_enqueue: Callable[[PodInfo], Status | None],
        registrations: Mapping[str, tuple[Registration, ...]],
        nominator: Nominator,
    ) -> None:
        self.nominator = nominator
        self._clock = clock
        self._pre_enqueue = pre_enqueue
        self._registrations = registrations
        self._active: dict[str, QueuedPod] = {}
        self._active_heap: list[tuple[int, float, int, QueuedPod]] = []
        self._backing_off: dict[str, QueuedPod] = {}
        self._unschedulable: dict[str, QueuedPod] = {}
        self._sequence = itertools.count()
        self._wake = asyncio.Event()
        self._started_s = clock.now_s()
        self._backoff_timer: asyncio.TimerHandle | None = None
        self._flush_timer: asyncio.TimerHandle | None = None

    def close(self) -> None:
        for timer in (self._backoff_timer, self._flush_timer):
            if timer is not None:
                timer.cancel()

    # Taking out

    async def pop(self) -> QueuedPod:
        while (queued := self.try_pop()) is None:
            self._wake.clear()
            await self._wake.wait()
        return queued

    def try_pop(self) -> QueuedPod | None:
        while self._active_heap:
            queued = heapq.heappop(self._active_heap)[3]
            if self._active.get(queued.info.key) is queued:
                del self._active[queued.info.key]
                queued.attempts += 1
                return queued
        # Errors wait out their back-off, to spare the api-server; the others only wait behind active Pods.
        early = [one for one in self._backing_off.values() if one.plugins]
        if not early:
            return None
        queued = min(early, key=lambda one: (backoff.until_s(one), -one.info.priority, one.timestamp_s))
        del self._backing_off[queued.info.key]
        queued.attempts += 1
        return queued

    # Putting in

    def add(self, info: PodInfo) -> None:
        queued = QueuedPod(info, self._clock.now_s())
        if self._to_active(queued):
            self.nominator.add(info)

    def add_unschedulable(self, queued: QueuedPod) -> None:
        """After a failed attempt. Nothing can have happened meanwhile: attempts do not wait for anything."""
        if queued.plugins:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        queued.timestamp_s = self._clock.now_s()
        queued.backoff_until_s = None
        if queued.plugins:
            self._to_unschedulable(queued)
        else:
            self._to_backoff(queued)

    def update(self, old: Object, info: PodInfo) -> None:
        """The Pod changed while it waits."""
        old_nominated = (old.get("status") or {}).get("nominatedNodeName") or ""
        for waiting in (self._active, self._backing_off):
            queued = waiting.get(info.key)
            if queued is not None:
                queued.info = info
                self.nominator.update(old_nominated, info)
                return
        queued = self._unschedulable.get(info.key)
        if queued is None:
            self.add(info)
            return
        queued.info = info
        self.nominator.update(old_nominated, info)
        for event in pod_changes(old, info.pod):
            if self._is_worth_requeuing(queued, event, old, info.pod):
                self._requeue(queued)
                if info.key not in self._unschedulable:
                    return

    def delete(self, key: str, uid: str) -> None:
        self.nominator.remove(uid)
        for waiting in (self._active, self._backing_off, self._unschedulable):
            waiting.pop(key, None)

    def activate(self, key: str) -> None:
        """Try it now, whatever it waits for."""
        queued = self._unschedulable.pop(key, None) or self._backing_off.pop(key, None)
        if queued is not None:
            self._to_active(queued)

    # Events

    def move(
        self,
        event: Event,
        old: Object | None,
        new: Object | None,
        only: Callable[[PodInfo], bool] | None = None,
    ) -> None:
        """Something happened: Pods that may profit leave the unschedulable ones."""
        if not self._unschedulable:
            return
        waiting = [one for one in self._unschedulable.values() if only is None or only(one.info)]
        self._move(waiting, event, old, new)

    def _move(self, waiting: Iterable[QueuedPod], event: Event, old: Object | None, new: Object | None) -> None:
        for queued in waiting:
            if queued.gated_by and event is not TIMEOUT and not self._concerns(queued.gated_by, event):
                continue
            if self._is_worth_requeuing(queued, event, old, new):
                self._requeue(queued)

    def _concerns(self, plugin: str, event: Event) -> bool:
        return any(
            one.resource == event.resource and event.action & one.actions for one in self._registrations.get(plugin, ())
        )

    def _is_worth_requeuing(self, queued: QueuedPod, event: Event, old: Object | None, new: Object | None) -> bool:
        if not queued.plugins or event is TIMEOUT:
            return True
        for plugin in queued.plugins:
            for registration in self._registrations.get(plugin, ()):
                if (
                    registration.resource == event.resource
                    and event.action & registration.actions
                    and registration.hint(queued.info, old, new)
                ):
                    return True
        return False

    # Between the places

    def _requeue(self, queued: QueuedPod) -> None:
        if backoff.is_backing_off(queued, self._clock.now_s()):
            self._to_backoff(queued)
        else:
            self._to_active(queued)

    def _gate(self, queued: QueuedPod) -> bool:
        status = self._pre_enqueue(queued.info)
        if status is None:
            queued.gated_by = ""
            return False
        queued.gated_by = status.plugin
        queued.plugins.add(status.plugin)
        self._to_unschedulable(queued)
        return True

    def _to_active(self, queued: QueuedPod, *, checked: bool = False) -> bool:
        if not checked and self._gate(queued):
            return False
        info = queued.info
        self._unschedulable.pop(info.key, None)
        self._backing_off.pop(info.key, None)
        self._active[info.key] = queued
        heapq.heappush(self._active_heap, (-info.priority, queued.timestamp_s, next(self._sequence), queued))
        self._wake.set()
        return True

    def _to_backoff(self, queued: QueuedPod) -> None:
        if self._gate(queued):
            return
        self._unschedulable.pop(queued.info.key, None)
        self._backing_off[queued.info.key] = queued
        if queued.plugins:
            self._wake.set()
        self._plan_backoff()

    def _to_unschedulable(self, queued: QueuedPod) -> None:
        self._unschedulable[queued.info.key] = queued
        self._plan_flush()

    # Time

    def _plan_backoff(self) -> None:
        if self._backoff_timer is not None or not self._backing_off:
            return
        over_s = min(map(backoff.over_at_s, self._backing_off.values()))
        delay_s = max(0.0, over_s - self._clock.now_s())
        self._backoff_timer = self._clock.call_later(delay_s, self._backoff_over)

    def _backoff_over(self) -> None:
        self._backoff_timer = None
        now_s = self._clock.now_s()
        for queued in [*self._backing_off.values()]:
            # A timer may be early by less than the clock's grain; then it is planned again.
            if not backoff.is_backing_off(queued, now_s):
                del self._backing_off[queued.info.key]
                self._to_active(queued, checked=True)
        self._plan_backoff()

    def _plan_flush(self) -> None:
        if self._flush_timer is not None or not self._unschedulable:
            return
        now_s = self._clock.now_s()
        oldest_s = min(max(one.timestamp_s, one.flushed_at_s) for one in self._unschedulable.values())
        # As a loop that looks every 30 s would find it, without looking when there is nothing to find.
        rounds = math.floor((max(oldest_s + UNSCHEDULABLE_MAX_S, now_s) - self._started_s) / FLUSH_EVERY_S) + 1
        delay_s = self._started_s + rounds * FLUSH_EVERY_S - now_s
        self._flush_timer = self._clock.call_later(max(0.0, delay_s), self._flush)

    def _flush(self) -> None:
        self._flush_timer = None
        now_s = self._clock.now_s()
        overdue = []
        for queued in self._unschedulable.values():
            if now_s - max(queued.timestamp_s, queued.flushed_at_s) > UNSCHEDULABLE_MAX_S:
                queued.flushed_at_s = now_s
                overdue.append(queued)
        self._move(overdue, TIMEOUT, None, None)
        self._plan_flush()

    def __len__(self) -> int:
        return len(self._active) + len(self._backing_off) + len(self._unschedulable)
