"""What the runtime has of each Pod, as the kubelet knows it, and the events that say it changed.

A real kubelet asks its runtime for everything once a second, and for one Pod right after a sync that changed it. Here
the runtime tells which Pods changed, so that the second's tick is only taken when there is something to see; what is
seen, and when, is the same.

    newer_than(uid, mark)   the state of a Pod as it was seen after this mark; waits for the next look if need be
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from clusters.emulated.clock import Clock
from clusters.emulated.kubelet.cri import EMPTY, EXITED, READY, RUNNING, CriError, PodState
from clusters.emulated.kubelet.runtime import Runtime

PERIOD_S: Final = 1.0
#: A runtime that has not answered for so long makes the node unhealthy.
HEALTHY_S: Final = 180.0


@dataclass(slots=True)
class _Seen:
    state: PodState
    mark: int
    events: dict[str, str]


class PodLifecycleEvents:
    """`notify(uid, died)` is called once per event, in order; `died` is the id of a container that ended."""

    def __init__(self, runtime: Runtime, clock: Clock, notify: Callable[[str, str], None]) -> None:
        self._runtime = runtime
        self._clock = clock
        self._notify = notify
        self._mark = 0
        self._global_mark = 0
        self._seen: dict[str, _Seen] = {}
        self._changed: dict[str, None] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._tick: asyncio.TimerHandle | None = None
        self._began_s = clock.monotonic_s()
        self.last_looked_s = clock.monotonic_s()
        runtime.watchers.append(self._on_change)

    def close(self) -> None:
        if self._on_change in self._runtime.watchers:
            self._runtime.watchers.remove(self._on_change)
        if self._tick is not None:
            self._tick.cancel()

    def mark(self) -> int:
        """A point in the order of things; later looks have greater marks."""
        self._mark += 1
        return self._mark

    # Asking

    def get(self, uid: str) -> PodState:
        seen = self._seen.get(uid)
        return EMPTY if seen is None else seen.state

    async def newer_than(self, uid: str, mark: int) -> PodState:
        while max(self._global_mark, seen.mark if (seen := self._seen.get(uid)) is not None else 0) <= mark:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            self._plan()
            await waiting
        return self.get(uid)

    # Looking

    def relist(self) -> None:
        """Looks at everything, at once."""
        mark = self.mark()
        if not self._runtime.is_up():
            if self._changed or self._waiting:
                self._plan()
            return
        self.last_looked_s = self._clock.monotonic_s()
        for uid in [*self._changed]:
            self._look(uid, mark)
        self._global_mark = mark
        self._release()
        if self._changed:
            self._plan()

    def relist_pod(self, uid: str) -> None:
        """Looks at one Pod, at once: a sync has just changed it."""
        mark = self.mark()
        if self._runtime.is_up():
            self._look(uid, mark)
            self._release()

    def forget(self, uid: str) -> None:
        if self._runtime.is_up() and not self._runtime.pod_state(uid).containers:
            self._seen.pop(uid, None)

    def reinspect(self, uid: str) -> None:
        self._on_change(uid)

    def _release(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _on_change(self, uid: str) -> None:
        self._changed[uid] = None
        self._plan()

    def _plan(self) -> None:
        if self._tick is None:
            passed_s = self._clock.monotonic_s() - self._began_s
            next_s = (math.floor(passed_s / PERIOD_S + 1e-9) + 1) * PERIOD_S
            self._tick = self._clock.call_later(max(next_s - passed_s, 0.0), self._ticked)

    def _ticked(self) -> None:
        self._tick = None
        self.relist()

    def _look(self, uid: str, mark: int) -> None:
        self._changed.pop(uid, None)
        try:
            state = self._runtime.pod_state(uid)
        except CriError:
            self._changed[uid] = None
            return
        events = {each[0]: "running" if each[1] == READY else "exited" for each in state.sandboxes}
        events |= {each.id: each.state for each in state.containers if each.state in (RUNNING, EXITED)}
        known = self._seen.get(uid)
        before = known.events if known is not None else {}
        if (
            not state.ips
            and known is not None
            and known.state.ips
            and not any(each[1] == READY for each in state.sandboxes)
        ):
            state = PodState(known.state.ips, state.sandboxes, state.containers)
        self._seen[uid] = _Seen(state, mark, events)
        # Containers first, the youngest of them first, then sandboxes: the order in which a relist reports.
        order = [*(each.id for each in state.containers), *(each[0] for each in state.sandboxes)]
        for each_id in [each for each in order if each in events]:
            if before.get(each_id) != events[each_id]:
                self._notify(uid, each_id if events[each_id] == EXITED else "")
        for gone, last in before.items():
            if gone not in events and last == RUNNING:
                self._notify(uid, gone)
