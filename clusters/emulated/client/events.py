"""Events about objects, as `kubectl describe` shows them, sent without making anybody wait.

recorder = EventRecorder(api, "kubelet", host="node-1", clock=clock, randomness=randomness)
recorder.event(pod, "Normal", "Pulled", "Container image already present on machine")
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Any, Final

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import AlreadyExists, ApiFailure, NotFound, Unreachable
from clusters.emulated.client.event_correlation import Correlated, EventCorrelator
from clusters.emulated.client.resources import EVENTS
from clusters.emulated.clock import Clock, Randomness
from clusters.emulated.clock.clock import rfc3339

log = logging.getLogger(__name__)

Object = dict[str, Any]

_QUEUED_MAX: Final = 1000
_TRIES_MAX: Final = 12
_RETRY_S: Final = 10.0
_NAME_MAX: Final = 253


def reference_to(obj: Object, field_path: str = "") -> Object:
    """The ObjectReference of an object, as an event's involvedObject carries it."""
    metadata = obj["metadata"]
    reference = {
        "kind": obj.get("kind", ""),
        "namespace": metadata.get("namespace", ""),
        "name": metadata["name"],
        "uid": metadata.get("uid", ""),
        "apiVersion": obj.get("apiVersion", ""),
        "resourceVersion": metadata.get("resourceVersion", ""),
        "fieldPath": field_path,
    }
    return {name: value for name, value in reference.items() if value}


class EventRecorder:
    def __init__(self, api: Api, component: str, host: str = "", *, clock: Clock, randomness: Randomness) -> None:
        self._api = api
        self._component = component
        self._host = host
        self._clock = clock
        self._randomness = randomness
        self._correlator = EventCorrelator()
        self._queue: deque[Object] = deque()
        self._sending: asyncio.Task[None] | None = None

    def event(
        self,
        obj_or_ref: Object,
        type: str,
        reason: str,
        message: str,
        *,
        field_path: str = "",
        annotations: dict[str, str] | None = None,
    ) -> None:
        """Notes an event about an object, or about what an ObjectReference names; it is sent when there is time.

        `field_path` tells which part is meant, e.g. `spec.containers{web}`.
        """
        if len(self._queue) >= _QUEUED_MAX:
            log.error("%s: too many queued events; dropped %s: %s", self._component, reason, message)
            return
        reference = reference_to(obj_or_ref, field_path) if "metadata" in obj_or_ref else dict(obj_or_ref)
        if field_path:
            reference["fieldPath"] = field_path
        self._queue.append(self._made(reference, type, reason, message, annotations))
        if self._sending is None:
            self._sending = asyncio.get_running_loop().create_task(self._send_all(), name=f"events {self._component}")

    @property
    def idle(self) -> bool:
        """Whether everything noted so far has been sent or given up."""
        return self._sending is None

    def stop(self) -> None:
        """What is queued is not sent any more."""
        self._queue.clear()
        if self._sending is not None:
            self._sending.cancel()

    def _made(
        self, reference: Object, type: str, reason: str, message: str, annotations: dict[str, str] | None
    ) -> Object:
        now = rfc3339(self._clock.now_s())
        metadata: Object = {
            "name": self._name(reference.get("name", "")),
            "namespace": reference.get("namespace") or "default",
        }
        if annotations:
            metadata["annotations"] = annotations
        source = {"component": self._component}
        if self._host:
            source["host"] = self._host
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": metadata,
            "involvedObject": reference,
            "reason": reason,
            "message": message,
            "source": source,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": type,
            "eventTime": None,
            "reportingComponent": self._component,
            "reportingInstance": self._host,
        }

    def _name(self, about: str) -> str:
        # A second of cluster time may hold many events at exactly one instant: what a real clock would tell
        # apart by its nanoseconds, chance does.
        nanoseconds = int(self._clock.now_s() * 1e6) * 1000 + int(self._randomness.fraction() * 1e6)
        name = f"{about}.{nanoseconds:x}"
        return name if len(name) <= _NAME_MAX else self._randomness.uid()

    async def _send_all(self) -> None:
        try:
            while self._queue:
                event = self._queue.popleft()
                correlated = self._correlator.correlate(event, self._clock.monotonic_s())
                if correlated is not None:
                    await self._send(correlated)
        finally:
            self._sending = None

    async def _send(self, correlated: Correlated) -> None:
        event = correlated.event
        for attempt in range(_TRIES_MAX):
            try:
                self._correlator.stored(await self._write(correlated))
                return
            except Unreachable:
                delay_s = _RETRY_S if attempt else _RETRY_S * self._randomness.fraction()
                await self._clock.sleep(delay_s)
            except ApiFailure as refused:
                # Also while the namespace is being deleted; nothing is gained by sending it again.
                level = logging.DEBUG if isinstance(refused, AlreadyExists) or refused.code == 403 else logging.ERROR
                log.log(level, "%s: event %s refused: %s", self._component, event["reason"], refused.message)
                return
        log.error("%s: event %s not sent: the api-server cannot be reached", self._component, event["reason"])

    async def _write(self, correlated: Correlated) -> Object:
        event = correlated.event
        name, namespace = event["metadata"]["name"], event["metadata"]["namespace"]
        if correlated.patch is not None:
            try:
                return await self._api.patch(EVENTS, name, correlated.patch, namespace, type="strategic")
            except NotFound:
                log.debug("event %s/%s expired meanwhile; it begins anew", namespace, name)
        return await self._api.create(EVENTS, event, namespace)
