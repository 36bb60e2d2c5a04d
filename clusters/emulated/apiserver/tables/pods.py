"""The row of a Pod: how many containers are ready, and the one word that says what is going on."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.tables.durations import since
from clusters.emulated.apiserver.tables.texts import NONE, age, is_true, name_of
from clusters.kube.timestamps import unix_s

Object = dict[str, Any]
Cells = list[Any]

_COMPLETED = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def pod(obj: Object, now_s: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    summary = _Summary(obj, spec, status)
    restarts = str(summary.restarts)
    if summary.restarts and summary.last_restart:
        restarts = f"{summary.restarts} ({since(summary.last_restart, now_s)} ago)"
    ips = status.get("podIPs") or ()
    return [
        name_of(obj),
        f"{summary.ready}/{summary.total}",
        summary.reason,
        restarts,
        age(obj, now_s),
        (ips[0].get("ip") if ips else "") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    ]


def row_conditions(obj: Object) -> list[Object] | None:
    """Finished Pods are marked, so that clients can leave them out."""
    phase = (obj.get("status") or {}).get("phase", "")
    message = _COMPLETED.get(phase)
    return message and [{"type": "Completed", "status": "True", "reason": phase, "message": message}]  # type: ignore[return-value]


def _readiness_gates(spec: Object, status: Object) -> str:
    gates = spec.get("readinessGates")
    if not gates:
        return NONE
    met = sum(is_true(status.get("conditions"), gate["conditionType"]) for gate in gates)
    return f"{met}/{len(gates)}"


class _Summary:
    """Worked out in the order of a Pod's life: phase, init containers, containers, deletion."""

    def __init__(self, obj: Object, spec: Object, status: Object) -> None:
        self.ready = 0
        self.restarts = 0
        self.last_restart = ""
        self._sidecar_restarts = 0
        self._last_sidecar_restart = ""
        init = spec.get("initContainers") or ()
        self._init_total = len(init)
        self._sidecars = {each["name"] for each in init if each.get("restartPolicy") == "Always"}
        self.total = len(spec.get("containers") or ()) + len(self._sidecars)
        phase = status.get("phase", "")
        self.reason: str = status.get("reason") or phase
        for each in status.get("conditions") or ():
            if each.get("type") == "PodScheduled" and each.get("reason") == "SchedulingGated":
                self.reason = "SchedulingGated"
        initializing = self._init_containers(status)
        if not initializing or is_true(status.get("conditions"), "Initialized"):
            self._containers(status)
        if obj["metadata"].get("deletionTimestamp"):
            if status.get("reason") == "NodeLost":
                self.reason = "Unknown"
            elif phase not in ("Succeeded", "Failed"):
                self.reason = "Terminating"

    def _init_containers(self, status: Object) -> bool:
        """Whether one of them is not done yet; then it gives the reason."""
        for position, container in enumerate(status.get("initContainerStatuses") or ()):
            restarts = container.get("restartCount", 0)
            ended = _last_termination(container)
            self.restarts += restarts
            self.last_restart = _later(self.last_restart, ended)
            is_sidecar = container.get("name") in self._sidecars
            if is_sidecar:
                self._sidecar_restarts += restarts
                self._last_sidecar_restart = _later(self._last_sidecar_restart, ended)
            state = container.get("state") or {}
            terminated, waiting = state.get("terminated"), state.get("waiting")
            if terminated is not None and not terminated.get("exitCode"):
                continue
            if is_sidecar and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            if terminated is not None:
                self.reason = "Init:" + _termination(terminated)
            elif waiting is not None and waiting.get("reason", "") not in ("", "PodInitializing"):
                self.reason = f"Init:{waiting['reason']}"
            else:
                self.reason = f"Init:{position}/{self._init_total}"
            return True
        return False

    def _containers(self, status: Object) -> None:
        self.restarts, self.last_restart = self._sidecar_restarts, self._last_sidecar_restart
        running = False
        error_reason = ""
        # Last to first: the first container's reason is the one that stays.
        for container in reversed(status.get("containerStatuses") or ()):
            self.restarts += container.get("restartCount", 0)
            self.last_restart = _later(self.last_restart, _last_termination(container))
            state = container.get("state") or {}
            terminated, waiting = state.get("terminated"), state.get("waiting")
            if waiting is not None and waiting.get("reason"):
                self.reason = waiting["reason"]
            elif terminated is not None:
                self.reason = _termination(terminated)
                if terminated.get("exitCode"):
                    error_reason = self.reason
            elif container.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            if running and is_true(status.get("conditions"), "Ready"):
                self.reason = "Running"
            elif error_reason:
                self.reason = error_reason
            elif running:
                self.reason = "NotReady"


def _termination(terminated: Object) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _last_termination(container: Object) -> str:
    terminated = (container.get("lastState") or {}).get("terminated") or {}
    finished: str = terminated.get("finishedAt") or ""
    return finished


def _later(one: str, other: str) -> str:
    if not other:
        return one
    return other if not one or unix_s(one) < unix_s(other) else one


CELLS = {("", "Pod"): pod}
