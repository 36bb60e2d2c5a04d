"""The conditions that a kubelet keeps on a Pod: sandbox, Initialized, Ready, ContainersReady, PodScheduled. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from clusters.emulated.kubelet.cri import PodState
from clusters.emulated.kubelet.pod_actions import sandbox_changed
from clusters.emulated.kubelet.restarts import is_sidecar
from clusters.kube.gostring import quote

Object = dict[str, Any]

READY_TO_START: Final = "PodReadyToStartContainers"
KUBELETS_OWN: Final = (
    READY_TO_START, "Initialized", "Ready", "ContainersReady", "PodScheduled", "PodResizePending", "PodResizeInProgress",  # noqa: E501
    "AllContainersRestarting",
)  # fmt: skip


def condition(
    kind: str, status: bool, generation: int, reason: str = "", message: str = "", *, at: str | None = None
) -> Object:
    made: Object = {"type": kind}
    if generation:
        made["observedGeneration"] = generation
    made |= {"status": "True" if status else "False", "lastProbeTime": None, "lastTransitionTime": at}
    if reason:
        made["reason"] = reason
    if message:
        made["message"] = message
    return made


def pod_conditions(
    pod: Object, state: PodState, statuses: Sequence[Object], phase: str, others: Sequence[Object]
) -> list[Object]:
    """`others` are the conditions of other owners, which readiness gates look at."""
    generation = pod["metadata"].get("generation", 0)
    needed, _, _ = sandbox_changed(pod, state)
    return [
        condition(READY_TO_START, not needed, generation),
        initialized_condition(pod, statuses, phase),
        ready_condition(pod, statuses, phase, others),
        containers_ready_condition(pod, statuses, phase),
        condition("PodScheduled", True, generation),
    ]


def initialized_condition(pod: Object, statuses: Sequence[Object], phase: str) -> Object:
    generation = pod["metadata"].get("generation", 0)
    by_name = {status["name"]: status for status in statuses}
    unknown, incomplete = [], []
    for container in pod["spec"].get("initContainers") or ():
        status = by_name.get(container["name"])
        if status is None:
            unknown.append(container["name"])
        elif not (status.get("started") if is_sidecar(container) else status.get("ready")):
            incomplete.append(container["name"])
    if phase == "Succeeded" and not unknown:
        return condition("Initialized", True, generation, "PodCompleted")
    if _any_regular_started(pod, by_name) or not (unknown or incomplete):
        return condition("Initialized", True, generation)
    message = _joined(("containers with unknown status", unknown), ("containers with incomplete status", incomplete))
    return condition("Initialized", False, generation, "ContainersNotInitialized", message)


def _any_regular_started(pod: Object, by_name: dict[str, Object]) -> bool:
    for container in pod["spec"]["containers"]:
        status = by_name.get(container["name"])
        if status is None:
            continue
        if "running" in status["state"] or "terminated" in status["state"]:
            return True
        if (status.get("lastState") or {}).get("terminated") is not None:
            return True
    return False


def containers_ready_condition(
    pod: Object, statuses: Sequence[Object], phase: str, kind: str = "ContainersReady"
) -> Object:
    generation = pod["metadata"].get("generation", 0)
    by_name = {status["name"]: status for status in statuses}
    unknown, unready = [], []
    sidecars = [each for each in pod["spec"].get("initContainers") or () if is_sidecar(each)]
    for container in [*sidecars, *pod["spec"]["containers"]]:
        status = by_name.get(container["name"])
        if status is None:
            unknown.append(container["name"])
        elif not status.get("ready"):
            unready.append(container["name"])
    if phase == "Succeeded" and not unknown:
        return condition(kind, False, generation, "PodCompleted")
    if phase == "Failed":
        return condition(kind, False, generation, "PodFailed")
    message = _joined(("containers with unknown status", unknown), ("containers with unready status", unready))
    if message:
        return condition(kind, False, generation, "ContainersNotReady", message)
    return condition(kind, True, generation)


def ready_condition(pod: Object, statuses: Sequence[Object], phase: str, others: Sequence[Object]) -> Object:
    ready = containers_ready_condition(pod, statuses, phase, "Ready")
    if ready["status"] != "True":
        return ready
    by_type = {each["type"]: each for each in others}
    messages = []
    for gate in pod["spec"].get("readinessGates") or ():
        kind = gate["conditionType"]
        found = by_type.get(kind)
        if found is None:
            messages.append(f"corresponding condition of pod readiness gate {quote(kind)} does not exist.")
        elif found["status"] != "True":
            messages.append(f'the status of pod readiness gate {quote(kind)} is not "True", but {found["status"]}')
    if messages:
        generation = pod["metadata"].get("generation", 0)
        return condition("Ready", False, generation, "ReadinessGatesNotReady", ", ".join(messages))
    return ready


def _joined(*lists: tuple[str, list[str]]) -> str:
    return ", ".join(f"{text}: [{' '.join(names)}]" for text, names in lists if names)
