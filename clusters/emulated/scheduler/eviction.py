"""Pushing victims out: each is told why in its status, deleted with its grace, and an event says by whom."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import ApiFailure, NotFound
from clusters.emulated.client.resources import PODS
from clusters.emulated.clock import Clock
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.scheduler.event_recorder import SchedulerEvents
from clusters.emulated.scheduler.listers import Listers
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.pod_status import condition, status_patch
from clusters.emulated.scheduler.queue.nominator import Nominator

log = logging.getLogger(__name__)

Object = dict[str, Any]


class Eviction:
    """While it is under way for a Pod, that Pod is not tried again: its victims may still be counted."""

    def __init__(
        self,
        api: Api,
        clock: Clock,
        events: SchedulerEvents,
        listers: Listers,
        nominator: Nominator,
        activate: Callable[[str], None],
    ) -> None:
        self._api = api
        self._clock = clock
        self._events = events
        self._listers = listers
        self._nominator = nominator
        self._activate = activate
        self._under_way: dict[str, PodInfo | None] = {}  # By uid of the preemptor: its last victim, once known.
        self._tasks: set[asyncio.Task[None]] = set()

    def is_under_way(self, uid: str) -> bool:
        if uid not in self._under_way:
            return False
        last = self._under_way[uid]
        if last is None:
            return True
        victim = self._listers.pods.get(last.key)
        return victim is not None and "deletionTimestamp" not in victim["metadata"]

    def start(self, pod: PodInfo, node_name: str, victims: Sequence[PodInfo]) -> None:
        """Returns at once. Victims that are leaving already are not told again."""
        staying = [victim for victim in victims if not victim.terminating]
        if not staying:
            return
        self._under_way[pod.uid] = None
        task = asyncio.get_running_loop().create_task(self._evict(pod, node_name, staying))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()

    async def _evict(self, pod: PodInfo, node_name: str, victims: Sequence[PodInfo]) -> None:
        failed = False
        try:
            await self._take_back_lesser_promises(pod, node_name)
            # The last one is known by name: as soon as it is seen leaving, the Pod may be tried again.
            for victim in victims:
                if victim is victims[-1]:
                    self._under_way[pod.uid] = victim
                await self._evict_one(pod, node_name, victim)
        except ApiFailure as refused:
            log.error("preemption for %s on %s failed: %s", pod.key, node_name, refused.message)
            failed = True
        finally:
            del self._under_way[pod.uid]
        if failed:
            self._activate(pod.key)

    async def _take_back_lesser_promises(self, pod: PodInfo, node_name: str) -> None:
        for other in self._nominator.of_node(node_name):
            if other.priority < pod.priority and other.nominated_node_name:
                change = {"status": {"nominatedNodeName": None}}
                try:
                    await self._api.patch(
                        PODS, other.name, change, other.namespace, type="strategic", subresource="status"
                    )
                except ApiFailure as refused:
                    # It would only have been tried elsewhere a little sooner.
                    log.error("cannot clear the nomination of %s: %s", other.key, refused.message)

    async def _evict_one(self, pod: PodInfo, node_name: str, victim: PodInfo) -> None:
        scheduler = pod.spec.get("schedulerName", "")
        wanted = condition(
            "DisruptionTarget",
            "True",
            "PreemptionByScheduler",
            f"{scheduler}: preempting to accommodate a higher priority pod",
            victim.pod,
        )
        change = status_patch(victim.pod, wanted, None, rfc3339(self._clock.now_s()))
        try:
            if change is not None:
                await self._api.patch(
                    PODS, victim.name, change, victim.namespace, type="strategic", subresource="status"
                )
            await self._api.delete(PODS, victim.name, victim.namespace)
        except NotFound:
            return  # It left by itself.
        note = f"Preempted by pod {pod.uid} on node {node_name}"
        self._events.event(victim.pod, "Normal", "Preempted", "Preempting", note, related=pod.pod)
