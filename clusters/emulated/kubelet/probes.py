"""Probes: a worker per container and kind, ticking from the moment the Pod is there, and the results they keep.

startup     until it succeeds the others wait; its failure kills the container
readiness   its result is the container's readiness; a status that is generated asks for one at once
liveness    its failure kills the container; then it holds until there is a new one
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from clusters.emulated.clock import Clock
from clusters.emulated.kubelet.api_status import TERMINAL
from clusters.emulated.kubelet.connections import ConnectError, Connections, UnknownPortError, http_target, resolve_port
from clusters.emulated.kubelet.cri import CriError
from clusters.emulated.kubelet.expansion import expand
from clusters.emulated.kubelet.restarts import is_sidecar, should_restart
from clusters.emulated.kubelet.runtime import Runtime
from clusters.kube.timestamps import unix_s

Object = dict[str, Any]

KINDS: Final = ("startup", "readiness", "liveness")
_INITIAL: Final[dict[str, bool | None]] = {"startup": None, "readiness": False, "liveness": True}
_TITLES: Final = {"startup": "Startup", "readiness": "Readiness", "liveness": "Liveness"}
_TRIES_MAX: Final = 3


class ProbeFailure(Exception):
    """The probe says no; the text is its output."""


class ProbeUnknown(Exception):
    """The probe could not be made; the text says why."""


@dataclass(slots=True, eq=False)
class _Worker:
    pod: Object
    container: Object
    kind: str
    spec: Object
    container_id: str = ""
    on_hold: bool = False
    last: bool | None = None
    run: int = 0
    timer: asyncio.TimerHandle | None = None
    probing: asyncio.Task[None] | None = None
    asked_again: bool = field(default=False)

    @property
    def period_s(self) -> float:
        return float(self.spec.get("periodSeconds") or 10)


class Probes:
    """`status(uid)` is the Pod's status as it was decided last. `changed(kind, pod, container_id, result)` is told of
    every change of a result; `event(pod, container, message, warning)` of what goes wrong."""

    def __init__(
        self,
        runtime: Runtime,
        connections: Connections,
        clock: Clock,
        status: Callable[[str], Object | None],
        changed: Callable[[str, Object, str, bool | None], None],
        event: Callable[[Object, Object, str, str], None],
    ) -> None:
        self._runtime = runtime
        self._connections = connections
        self._clock = clock
        self._status = status
        self._changed = changed
        self._event = event
        self._workers: dict[tuple[str, str, str], _Worker] = {}
        self._results: dict[tuple[str, str], bool | None] = {}

    # Results

    def result(self, kind: str, container_id: str) -> bool | None:
        """True, False; None when there is none or it is unknown yet."""
        return self._results.get((kind, container_id))

    def started_and_ready(self, uid: str, container: Object, status: Object) -> tuple[bool, bool]:
        if "running" not in status["state"]:
            return False, False
        container_id, name = status["containerID"], container["name"]
        if ("startup", container_id) in self._results:
            started = self._results["startup", container_id] is True
        else:
            started = bool(status.get("started")) or (uid, name, "startup") not in self._workers
        if not started:
            return False, False
        if self._results.get(("readiness", container_id)) is True:
            return True, True
        worker = self._workers.get((uid, name, "readiness"))
        if worker is None:
            return True, True
        self._trigger(worker)
        return True, False

    def _set(self, worker: _Worker, result: bool | None) -> None:
        key = (worker.kind, worker.container_id)
        if key in self._results and self._results[key] == result:
            return
        self._results[key] = result
        self._changed(worker.kind, worker.pod, worker.container_id, result)

    # Workers

    def add_pod(self, pod: Object) -> None:
        spec = pod["spec"]
        sidecars = [each for each in spec.get("initContainers") or () if is_sidecar(each)]
        for container in (*spec["containers"], *sidecars):
            for kind in KINDS:
                probe = container.get(f"{kind}Probe")
                key = (pod["metadata"]["uid"], container["name"], kind)
                if probe and key not in self._workers:
                    worker = self._workers[key] = _Worker(pod, container, kind, probe)
                    self._tick(worker)

    def update_pod(self, pod: Object) -> None:
        for (uid, _, _), worker in self._workers.items():
            if uid == pod["metadata"]["uid"]:
                worker.pod = pod

    def stop_liveness_and_startup(self, uid: str) -> None:
        for key in [key for key in self._workers if key[0] == uid and key[2] != "readiness"]:
            worker = self._workers[key]
            if worker.container_id:
                self._results[worker.kind, worker.container_id] = True
            self._stop(key)

    def remove_pod(self, uid: str) -> None:
        for key in [key for key in self._workers if key[0] == uid]:
            self._stop(key)

    def close(self) -> None:
        for key in [*self._workers]:
            self._stop(key)

    def _stop(self, key: tuple[str, str, str]) -> None:
        worker = self._workers.pop(key)
        if worker.timer is not None:
            worker.timer.cancel()
        if worker.probing is not None:
            worker.probing.cancel()
        self._results.pop((worker.kind, worker.container_id), None)

    def _trigger(self, worker: _Worker) -> None:
        """A probe now rather than at the next tick, which counts anew."""
        if worker.probing is not None:
            worker.asked_again = True
            return
        if worker.timer is not None:
            worker.timer.cancel()
        worker.timer = self._clock.call_later(0, lambda: self._tick(worker))

    def _tick(self, worker: _Worker) -> None:
        worker.timer = self._clock.call_later(worker.period_s, lambda: self._tick(worker))
        if worker.probing is None and self._is_due(worker):
            worker.probing = asyncio.get_running_loop().create_task(self._probe(worker), name="probe")

    def _is_due(self, worker: _Worker) -> bool:
        """Whether the container is to be probed now; keeps the worker's idea of the container."""
        uid, name = worker.pod["metadata"]["uid"], worker.container["name"]
        status = self._status(uid)
        if status is None:
            return False
        if status["phase"] in TERMINAL:
            self._stop((uid, name, worker.kind))
            return False
        found = _container_status(status, name)
        if found is None or not found.get("containerID"):
            return False
        if worker.container_id != found["containerID"]:
            self._results.pop((worker.kind, worker.container_id), None)
            worker.container_id, worker.on_hold = found["containerID"], False
            self._set(worker, _INITIAL[worker.kind])
        if worker.on_hold:
            return False
        if "running" not in found["state"]:
            self._set(worker, False)
            ended = found["state"].get("terminated")
            if ended and not should_restart(worker.container, worker.pod["spec"], ended["exitCode"]):
                self._stop((uid, name, worker.kind))
            return False
        if worker.pod["metadata"].get("deletionTimestamp") and worker.kind != "readiness":
            self._set(worker, True)
            self._stop((uid, name, worker.kind))
            return False
        since_s = self._clock.now_s() - unix_s(found["state"]["running"]["startedAt"])
        if int(since_s) < (worker.spec.get("initialDelaySeconds") or 0):
            return False
        return bool(found.get("started")) == (worker.kind != "startup")

    async def _probe(self, worker: _Worker) -> None:
        try:
            result = await self._outcome(worker)
        finally:
            worker.probing = None
        key = (worker.pod["metadata"]["uid"], worker.container["name"], worker.kind)
        if result is None or self._workers.get(key) is not worker:
            return
        if worker.last == result:
            worker.run += 1
        else:
            worker.last, worker.run = result, 1
        threshold = worker.spec.get("successThreshold" if result else "failureThreshold") or (1 if result else 3)
        if worker.run >= threshold:
            if (worker.kind == "liveness" and not result) or worker.kind == "startup":
                # Nothing more is to be learned of this container.
                worker.on_hold, worker.run = True, 0
            self._set(worker, result)
        if worker.asked_again:
            worker.asked_again = False
            self._trigger(worker)

    async def _outcome(self, worker: _Worker) -> bool | None:
        """None when the probe could not be made: that counts for nothing."""
        title = _TITLES[worker.kind]
        for attempt in range(1, _TRIES_MAX + 1):
            try:
                await self._once(worker)
                return True
            except ProbeFailure as failure:
                self._event(worker.pod, worker.container, "Unhealthy", f"{title} probe failed: {failure}")
                return False
            except ProbeUnknown as unknown:
                if attempt == _TRIES_MAX:
                    message = f"{title} probe errored and resulted in unknown state: {unknown}"
                    self._event(worker.pod, worker.container, "Unhealthy", message)
        return None

    async def _once(self, worker: _Worker) -> None:
        spec, container = worker.spec, worker.container
        timeout_s = float(spec.get("timeoutSeconds") or 1)
        status = self._status(worker.pod["metadata"]["uid"]) or {}
        pod_ip = status.get("podIP", "")
        try:
            if "exec" in spec:
                await self._exec(worker, spec["exec"].get("command") or [], timeout_s)
            elif "httpGet" in spec:
                await self._http(worker, spec["httpGet"], pod_ip, timeout_s)
            elif "tcpSocket" in spec:
                action = spec["tcpSocket"]
                port = resolve_port(action["port"], container)
                await self._connections.tcp(action.get("host") or pod_ip, port, timeout_s)
            elif "grpc" in spec:
                action = spec["grpc"]
                await self._connections.grpc(pod_ip, action["port"], action.get("service") or "", timeout_s)
        except ConnectError as error:
            raise ProbeFailure(str(error)) from error
        except UnknownPortError as error:
            raise ProbeUnknown(str(error)) from error

    async def _exec(self, worker: _Worker, command: list[str], timeout_s: float) -> None:
        static = {each["name"]: each["value"] for each in worker.container.get("env") or () if each.get("value")}
        argv = [expand(word, static) for word in command]
        try:
            done = await self._runtime.exec(worker.container_id, argv, timeout_s)
        except CriError as error:
            if error.code == "DeadlineExceeded":
                raise ProbeFailure(f'command timed out: "{" ".join(argv)}" timed out after {timeout_s:g}s') from error
            raise ProbeUnknown(str(error)) from error
        if done.code != 0:
            raise ProbeFailure(done.stdout + done.stderr)

    async def _http(self, worker: _Worker, action: Object, pod_ip: str, timeout_s: float) -> None:
        url, host, port, path = http_target(action, worker.container, pod_ip)
        answer = await self._connections.http(url, host, port, path, timeout_s)
        if answer.status >= 400:
            raise ProbeFailure(f"HTTP probe failed with statuscode: {answer.status}")
        if answer.status >= 300:
            self._event(
                worker.pod, worker.container, "ProbeWarning",
                f"{_TITLES[worker.kind]} probe warning: Probe terminated redirects, Response body: {answer.body}",
            )  # fmt: skip


def _container_status(status: Object, name: str) -> Object | None:
    for kind in ("containerStatuses", "initContainerStatuses"):
        for each in status.get(kind) or ():
            if each["name"] == name:
                found: Object = each
                return found
    return None
