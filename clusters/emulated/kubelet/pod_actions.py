"""What a sync of a Pod has to do, decided from the Pod's spec and from what the runtime has of it. Pure.

no sandbox                       create one, start the first init container, or all containers
an init container failed         start it again, or give up the Pod (restartPolicy Never)
a container ended                start it again, if its policy says so
a probe failed                   kill the container, and start it again
nothing left to run              kill the Pod
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from clusters.emulated.kubelet.cri import CREATED, EXITED, READY, RUNNING, ContainerState, PodState
from clusters.emulated.kubelet.restarts import is_sidecar, restarts_on_failure, should_be_restarted

Object = dict[str, Any]
#: The last result of a container's probe ("liveness", "startup"): True, False or None for unknown.
ProbeResult = Callable[[str, str], bool | None]


@dataclass(frozen=True, slots=True)
class Kill:
    container: ContainerState
    spec: Object
    message: str
    #: "liveness" or "startup": whose terminationGracePeriodSeconds counts.
    probe: str = ""


@dataclass(slots=True)
class PodActions:
    kill_pod: bool = False
    create_sandbox: bool = False
    sandbox_id: str = ""
    attempt: int = 0
    init_to_start: list[int] = field(default_factory=list)
    to_start: list[int] = field(default_factory=list)
    ephemeral_to_start: list[int] = field(default_factory=list)
    to_kill: list[Kill] = field(default_factory=list)


def sandbox_changed(pod: Object, state: PodState) -> tuple[bool, int, str]:
    """Whether a new sandbox is needed, its attempt, and the id of the one there is."""
    if not state.sandboxes:
        return True, 0, ""
    sandbox_id, sandbox_state, attempt, ip, host_network = state.sandboxes[0]
    ready = sum(each[1] == READY for each in state.sandboxes)
    if ready > 1 or sandbox_state != READY:
        return True, attempt + 1, sandbox_id
    if host_network != bool(pod["spec"].get("hostNetwork")):
        return True, attempt + 1, ""
    if not host_network and not ip:
        return True, attempt + 1, sandbox_id
    return False, attempt, sandbox_id


def compute_pod_actions(pod: Object, state: PodState, probe_result: ProbeResult) -> PodActions:
    needed, attempt, sandbox_id = sandbox_changed(pod, state)
    actions = PodActions(kill_pod=needed, create_sandbox=needed, sandbox_id=sandbox_id, attempt=attempt)
    if needed:
        _begin(pod, state, actions)
        return actions
    spec = pod["spec"]
    for index, container in enumerate(spec.get("ephemeralContainers") or ()):
        if state.find(container["name"]) is None:
            actions.ephemeral_to_start.append(index)
    initialized = _init_actions(pod, state, actions, probe_result)
    if actions.kill_pod or not initialized:
        return actions
    kept = _container_actions(pod, state, actions, probe_result)
    if not kept and not actions.to_start:
        actions.kill_pod = True
        actions.init_to_start = []
    return actions


def any_regular_created(pod: Object, state: PodState) -> bool:
    """Whether any regular container was ever created: then initialization is over."""
    return any(state.find(container["name"]) is not None for container in pod["spec"]["containers"])


def _begin(pod: Object, state: PodState, actions: PodActions) -> None:
    """All over again, in a new sandbox."""
    if not restarts_on_failure(pod) and actions.attempt != 0 and state.containers:
        actions.create_sandbox = False
        return
    to_start = []
    for index, container in enumerate(pod["spec"]["containers"]):
        policy = container.get("restartPolicy") or pod["spec"].get("restartPolicy")
        found = state.find(container["name"])
        succeeded = found is not None and found.state == EXITED and found.exit_code == 0
        if not (policy == "OnFailure" and succeeded):
            to_start.append(index)
    if not to_start and any_regular_created(pod, state):
        actions.create_sandbox = False
    elif pod["spec"].get("initContainers"):
        actions.init_to_start = [0]
    else:
        actions.to_start = to_start


def _init_actions(pod: Object, state: PodState, actions: PodActions, probe_result: ProbeResult) -> bool:
    """Looks at the init containers from the last to the first; returns whether initialization is over."""
    containers = pod["spec"].get("initContainers") or []
    if not containers:
        return True
    found = [state.find(container["name"]) for container in pod["spec"]["containers"]]
    initialized = any(each is not None and each.state in (CREATED, RUNNING) for each in found)
    passed = initialized
    starts: list[int] = []
    last = len(containers) - 1
    for index in range(last, -1, -1):
        container = containers[index]
        status = state.find(container["name"])
        sidecar = is_sidecar(container)
        if status is None:
            if passed and sidecar:
                starts.append(index)
            continue
        if passed and not sidecar:
            continue
        if status.state == CREATED:
            starts.append(index)
        elif status.state == RUNNING:
            if sidecar and _sidecar_started(container, status, actions, starts, index, probe_result):
                if index == last:
                    initialized = True
                elif not passed:
                    starts.append(index + 1)
                _check_sidecar(container, status, actions, starts, index, probe_result)
        elif sidecar:
            starts.append(index)
        elif status.exit_code != 0:
            if not should_be_restarted(container, pod, state):
                actions.kill_pod = True
                actions.init_to_start = []
                return False
            starts.append(index)
        elif index == last:
            initialized = True
        else:
            starts.append(index + 1)
        passed = True
    if not passed:
        starts.append(0)
    actions.init_to_start = starts[::-1]
    return initialized


def _sidecar_started(
    container: Object, status: ContainerState, actions: PodActions, starts: list[int], index: int, result: ProbeResult
) -> bool:
    if not container.get("startupProbe"):
        return True
    started = result("startup", status.id)
    if started is False:
        message = f"Init container {container['name']} failed startup probe"
        actions.to_kill.append(Kill(status, container, message, "startup"))
        starts.append(index)
    return started is True


def _check_sidecar(
    container: Object, status: ContainerState, actions: PodActions, starts: list[int], index: int, result: ProbeResult
) -> None:
    if container.get("livenessProbe") and result("liveness", status.id) is False:
        message = f"Init container {container['name']} failed liveness probe"
        actions.to_kill.append(Kill(status, container, message, "liveness"))
        starts.append(index)


def _container_actions(pod: Object, state: PodState, actions: PodActions, probe_result: ProbeResult) -> int:
    kept = 0
    for index, container in enumerate(pod["spec"]["containers"]):
        status = state.find(container["name"])
        if status is None or status.state != RUNNING:
            if should_be_restarted(container, pod, state):
                actions.to_start.append(index)
            continue
        policy = container.get("restartPolicy")
        restart = restarts_on_failure(pod) if policy is None else policy != "Never"
        if probe_result("liveness", status.id) is False:
            message, probe = f"Container {container['name']} failed liveness probe", "liveness"
        elif probe_result("startup", status.id) is False:
            message, probe = f"Container {container['name']} failed startup probe", "startup"
        else:
            kept += 1
            continue
        if restart:
            message += ", will be restarted"
            actions.to_start.append(index)
        actions.to_kill.append(Kill(status, container, message, probe))
    return kept
