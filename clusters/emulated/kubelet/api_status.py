"""The whole status that a kubelet reports for a Pod. Pure: everything it depends on is passed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clusters.emulated.kubelet.container_statuses import Reason, container_statuses
from clusters.emulated.kubelet.cri import CREATED, RUNNING, PodState
from clusters.emulated.kubelet.phase import pod_phase
from clusters.emulated.kubelet.pod_conditions import KUBELETS_OWN, pod_conditions
from clusters.emulated.kubelet.resources import pod_amounts, pod_resources, qos_class, shown
from clusters.emulated.kubelet.restarts import is_sidecar

Object = dict[str, Any]
#: Whether a container (spec, status) has started, and whether it is ready, as its probes say.
Probed = Callable[[Object, Object], tuple[bool, bool]]

TERMINAL = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class StatusInputs:
    reason_of: Reason
    probed: Probed
    #: Phase, reason and message that override what the containers say (deadline, eviction), or None.
    evicted: Callable[[Object], tuple[str, str] | None]
    host_ips: tuple[str, ...]


def generate(pod: Object, state: PodState, old: Object, is_terminal: bool, inputs: StatusInputs) -> Object:
    """`old` is the status that this kubelet reported last, or the api-server's before there was one."""
    spec, api_status = pod["spec"], pod.get("status") or {}
    regular = container_statuses(pod, state, spec["containers"], old.get("containerStatuses") or (), inputs.reason_of)
    inits = container_statuses(
        pod,
        state,
        spec.get("initContainers") or (),
        old.get("initContainerStatuses") or (),
        inputs.reason_of,
        init=True,
    )
    ephemeral = container_statuses(
        pod, state, spec.get("ephemeralContainers") or (), old.get("ephemeralContainerStatuses") or (), inputs.reason_of
    )
    has_started = any(
        (found := state.find(container["name"])) is not None and found.state in (CREATED, RUNNING)
        for container in spec["containers"]
    )
    phase = pod_phase(pod, [*regular, *inits], is_terminal, has_started)
    if phase not in TERMINAL:
        for before in (old.get("phase"), api_status.get("phase")):
            if before in TERMINAL:
                phase = before
                break
    status: Object = {"phase": phase}
    if phase == old.get("phase"):
        for name in ("reason", "message"):
            value = old.get(name) or api_status.get(name)
            if value:
                status[name] = value
    evicted = inputs.evicted(pod)
    if evicted is not None:
        status |= {"phase": "Failed", "reason": evicted[0], "message": evicted[1]}
    if api_status.get("phase") in TERMINAL:
        status["phase"] = api_status["phase"]
    _apply_probes(spec, regular, inits, inputs.probed)
    others = [each for each in api_status.get("conditions") or () if each["type"] not in KUBELETS_OWN]
    for each in old.get("conditions") or ():
        if each["type"] == "DisruptionTarget" and each not in others:
            others = [other for other in others if other["type"] != "DisruptionTarget"] + [each]
    status["conditions"] = others + pod_conditions(pod, state, [*inits, *regular], status["phase"], others)
    _addresses(pod, state, status, inputs.host_ips)
    if inits:
        status["initContainerStatuses"] = inits
    status["containerStatuses"] = regular
    if ephemeral:
        status["ephemeralContainerStatuses"] = ephemeral
    status["qosClass"] = qos_class(pod)
    requests = shown(pod_amounts(pod, "requests"))
    if requests:
        status["allocatedResources"] = requests
    status["resources"] = pod_resources(pod, api_status.get("phase") == "Running")
    generation = pod["metadata"].get("generation", 0)
    if generation:
        status["observedGeneration"] = generation
    return status


def _apply_probes(spec: Object, regular: list[Object], inits: list[Object], probed: Probed) -> None:
    by_name = {container["name"]: container for container in spec["containers"]}
    for status in regular:
        status["started"], status["ready"] = probed(by_name[status["name"]], status)
    for container, status in zip(spec.get("initContainers") or (), inits, strict=True):
        started, ready = probed(container, status)
        status["started"] = started
        if is_sidecar(container):
            status["ready"] = ready
        else:
            ended = status["state"].get("terminated")
            status["ready"] = ended is not None and ended["exitCode"] == 0


def _addresses(pod: Object, state: PodState, status: Object, host_ips: tuple[str, ...]) -> None:
    ips = state.ips
    if pod["spec"].get("hostNetwork"):
        ips = ips or host_ips
    status["hostIP"] = host_ips[0]
    status["hostIPs"] = [{"ip": ip} for ip in host_ips]
    if ips:
        status["podIP"] = ips[0]
        status["podIPs"] = [{"ip": ip} for ip in ips]
