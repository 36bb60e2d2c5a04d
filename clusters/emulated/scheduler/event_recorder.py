"""Events in the events.k8s.io form, which the scheduler is one of the few to use: with an action, in series.

the first time                  the event is created
the second time, within 6 min   the stored event becomes a series, count 2
from then on                    counted here; written when the series ends, or every half hour
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import ApiFailure, NotFound, Unreachable
from clusters.emulated.client.resources import Resource
from clusters.emulated.clock import Clock
from clusters.emulated.clock.clock import rfc3339_micro

log = logging.getLogger(__name__)

Object = dict[str, Any]

EVENTS: Final = Resource("events.k8s.io", "v1", "events", "Event")
_SERIES_S: Final = 360.0
_NOTE_BYTES_MAX: Final = 1024
_TRIES_MAX: Final = 12
_RETRY_S: Final = 10.0


@dataclass(slots=True)
class _Known:
    event: Object
    last_s: float
    count: int = 1


class SchedulerEvents:
    """Never waits and never fails: events are sent in order by a task of its own."""

    def __init__(self, api: Api, clock: Clock, controller: str, instance: str) -> None:
        self._api = api
        self._clock = clock
        self._controller = controller
        self._instance = instance
        self._known: dict[tuple[str, ...], _Known] = {}
        self._queue: deque[tuple[Object, Object | None]] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._last_nanos = 0

    def event(self, pod: Object, type: str, reason: str, action: str, note: str, related: Object | None = None) -> None:
        now_s = self._clock.now_s()
        regarding = reference(pod)
        other = None if related is None else reference(related)
        key = (type, reason, action, *regarding.values(), *(other.values() if other else ()))
        known = self._known.get(key)
        if known is not None:
            known.count += 1
            known.last_s = now_s
            if known.count == 2:
                self._send(known.event, _series(known))
            return
        event: Object = {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": self._name(pod, now_s), "namespace": regarding["namespace"]},
            "eventTime": rfc3339_micro(now_s),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "regarding": regarding,
            "note": truncated(note),
            "type": type,
        }
        if other is not None:
            event["related"] = other
        self._known[key] = _Known(event, now_s)
        self._plan_expiry()
        self._send(event, None)

    def _name(self, pod: Object, now_s: float) -> str:
        """The name ends in the time, in nanoseconds; two events at one instant of a virtual clock still differ."""
        self._last_nanos = max(self._last_nanos + 1, int(now_s * 1e9))
        return f"{pod['metadata']['name']}.{self._last_nanos:x}"

    def _send(self, event: Object, series: Object | None) -> None:
        self._queue.append((event, series))
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send_all(), name="scheduler events")

    async def flushed(self) -> None:
        """Until what was recorded so far is sent."""
        while self._sending is not None:
            await asyncio.gather(self._sending, return_exceptions=True)

    def close(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        if self._sending is not None:
            self._sending.cancel()

    async def _send_all(self) -> None:
        try:
            while self._queue:
                await self._write(*self._queue.popleft())
        finally:
            self._sending = None

    async def _write(self, event: Object, series: Object | None) -> None:
        metadata = event["metadata"]
        for _ in range(_TRIES_MAX):
            try:
                if series is not None:
                    try:
                        await self._api.patch(
                            EVENTS, metadata["name"], {"series": series}, metadata["namespace"], type="strategic"
                        )
                        return
                    except NotFound:
                        event = {**event, "series": series}
                await self._api.create(EVENTS, event, metadata["namespace"])
                return
            except Unreachable:
                await self._clock.sleep(_RETRY_S)
            except ApiFailure as refused:
                log.debug("event %s refused: %s", event["reason"], refused.message)
                return

    # The end of a series

    def _plan_expiry(self) -> None:
        if self._expiry is None and self._known:
            self._expiry = self._clock.call_later(_SERIES_S, self._expire)

    def _expire(self) -> None:
        self._expiry = None
        too_old_s = self._clock.now_s() - _SERIES_S
        for key, known in [*self._known.items()]:
            if known.last_s <= too_old_s:
                del self._known[key]
                if known.count > 2:
                    self._send(known.event, _series(known))
        self._plan_expiry()


def _series(known: _Known) -> Object:
    return {"count": known.count, "lastObservedTime": rfc3339_micro(known.last_s)}


def reference(pod: Object) -> Object:
    metadata = pod["metadata"]
    return {
        "kind": "Pod",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "apiVersion": "v1",
        "resourceVersion": metadata["resourceVersion"],
    }


def truncated(note: str) -> str:
    encoded = note.encode()
    if len(encoded) <= _NOTE_BYTES_MAX:
        return note
    return encoded[: _NOTE_BYTES_MAX - 4].decode(errors="ignore") + " ..."
