"""One sync of a Pod: towards what its spec wants, towards its end, and after its end.

sync                 report the status, mount volumes, then sandbox and containers as `compute_pod_actions` says
sync_terminating     report, stop every container, report how they ended
sync_terminated      report, unmount, and say that nothing of the Pod is left
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import ApiFailure, NotFound
from clusters.emulated.client.resources import RUNTIME_CLASSES
from clusters.emulated.clock import Clock
from clusters.emulated.kubelet import api_status
from clusters.emulated.kubelet.api_status import StatusInputs
from clusters.emulated.kubelet.back_off import BackOff, duration
from clusters.emulated.kubelet.container_lifecycle import ContainerLifecycle, Recorder, StartFailed
from clusters.emulated.kubelet.cri import EXITED, CriError, PodState, Sandbox
from clusters.emulated.kubelet.pod_actions import PodActions, compute_pod_actions
from clusters.emulated.kubelet.pod_names import describe
from clusters.emulated.kubelet.pod_statuses import PodStatuses
from clusters.emulated.kubelet.probes import Probes
from clusters.emulated.kubelet.references import References, UnusableReferenceError
from clusters.emulated.kubelet.restarts import is_sidecar
from clusters.emulated.kubelet.runtime import Runtime
from clusters.emulated.kubelet.volumes import Volumes, VolumesNotReadyError

Object = dict[str, Any]

NETWORK_NOT_READY = "network is not ready"


@dataclass(slots=True)
class SyncOutcome:
    """How a sync ended: `error` empty is success."""

    is_terminal: bool = False
    #: Something was done, so that the runtime is to be looked at.
    acted: bool = False
    error: str = ""
    #: When the first back-off ends, if containers wait for one.
    back_off_until_s: float | None = None
    network: bool = False


@dataclass(slots=True)
class _Results:
    acted: bool = False
    errors: list[str] = field(default_factory=list)
    back_off_until_s: float | None = None

    def outcome(self) -> SyncOutcome:
        return SyncOutcome(False, self.acted, "; ".join(self.errors), self.back_off_until_s)


class PodSync:
    def __init__(
        self,
        api: Api,
        clock: Clock,
        runtime: Runtime,
        statuses: PodStatuses,
        probes: Probes,
        volumes: Volumes,
        references: References,
        containers: ContainerLifecycle,
        recorder: Recorder,
        network_error: Callable[[], str],
        evicted: Callable[[Object], tuple[str, str] | None],
        host_ip: str,
        is_terminating: Callable[[str], bool],
    ) -> None:
        self._api = api
        self._clock = clock
        self._runtime = runtime
        self._statuses = statuses
        self._probes = probes
        self._volumes = volumes
        self._references = references
        self._containers = containers
        self._recorder = recorder
        self._network_error = network_error
        self._evicted = evicted
        self._host_ip = host_ip
        self._is_terminating = is_terminating
        self._back_off = BackOff(clock)
        #: Why containers could not be started, by Pod.
        self._reasons: dict[str, dict[str, tuple[str, str]]] = {}

    # Status

    def _generate(self, pod: Object, state: PodState, is_terminal: bool) -> Object:
        uid = pod["metadata"]["uid"]
        old = self._statuses.get(uid) or pod.get("status") or {}
        inputs = StatusInputs(
            reason_of=(self._reasons.get(uid) or {}).get,
            probed=lambda container, status: self._probes.started_and_ready(uid, container, status),
            evicted=self._evicted,
            host_ips=(self._host_ip,),
        )
        return api_status.generate(pod, state, old, is_terminal, inputs)

    # Towards the spec

    async def sync(self, pod: Object, state: PodState) -> SyncOutcome:
        status = self._generate(pod, state, False)
        phase = status["phase"]
        self._statuses.set(pod, status)
        if phase in api_status.TERMINAL:
            return SyncOutcome(is_terminal=True)
        network_error = self._network_error()
        if network_error and not pod["spec"].get("hostNetwork"):
            message = f"{NETWORK_NOT_READY}: {network_error}"
            self._recorder.event(pod, "Warning", "NetworkNotReady", message)
            return SyncOutcome(error=message, network=True)
        try:
            await self._volumes.wait_mounted(pod)
        except VolumesNotReadyError as error:
            if error.event:
                self._recorder.event(pod, "Warning", "FailedMount", f"Unable to attach or mount volumes: {error}")
            return SyncOutcome(error=str(error))
        secrets = await self._pull_secrets(pod)
        self._probes.add_pod(pod)
        ips = tuple(each["ip"] for each in status.get("podIPs") or ())
        results = await self._act(pod, state, ips, secrets)
        return results.outcome()

    async def _pull_secrets(self, pod: Object) -> list[Object]:
        found, failed = [], []
        for reference in pod["spec"].get("imagePullSecrets") or ():
            if not reference.get("name"):
                continue
            try:
                found.append(await self._references.secret(pod["metadata"]["namespace"], reference["name"]))
            except UnusableReferenceError:
                failed.append(reference["name"])
        if failed:
            self._recorder.event(
                pod,
                "Warning",
                "FailedToRetrieveImagePullSecret",
                f"Unable to retrieve some image pull secrets ({', '.join(failed)}); attempting to pull the image may "
                "not succeed.",
            )
        return found

    async def _act(self, pod: Object, state: PodState, ips: tuple[str, ...], secrets: Sequence[Object]) -> _Results:
        results = _Results()
        actions = compute_pod_actions(pod, state, self._probes.result)
        if actions.create_sandbox and actions.sandbox_id:
            self._recorder.event(
                pod, "Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created."
            )
        try:
            if not await self._kill(pod, state, actions, results):
                return results
        except CriError as error:
            results.errors.append(str(error))
            return results
        await self._prune(pod, state, actions)
        sandbox = self._runtime.sandbox(actions.sandbox_id)
        if actions.create_sandbox:
            sandbox = await self._create_sandbox(pod, actions, results)
            if sandbox is None:
                return results
            ips = (sandbox.ip,) if sandbox.ip else ()
            self._statuses.sandbox_is_ready(pod)
        if sandbox is not None:
            await self._start_all(pod, sandbox, state, actions, ips, secrets, results)
        return results

    async def _kill(self, pod: Object, state: PodState, actions: PodActions, results: _Results) -> bool:
        if actions.kill_pod:
            if state.sandboxes or state.running():
                results.acted = True
            errors = await self._kill_pod(pod, state, None)
            results.errors += errors
            return not errors
        for kill in actions.to_kill:
            results.acted = True
            await self._containers.kill(pod, kill.container.id, kill.container.name, kill.message, probe=kill.probe)
        return True

    async def _kill_pod(self, pod: Object, state: PodState, grace_s: int | None) -> list[str]:
        """Containers, then sandboxes; what could not be stopped, in the kubelet's words."""
        errors = await self._containers.kill_all(pod, state.running(), grace_s)
        for sandbox_id, _, _, _, _ in state.sandboxes:
            try:
                await self._runtime.stop_pod_sandbox(sandbox_id)
            except CriError as error:
                text = str(error).replace("\\", "\\\\").replace('"', '\\"')
                uid = pod["metadata"]["uid"]
                errors.append(f'failed to "KillPodSandbox" for "{uid}" with KillPodSandboxError: "{text}"')
        return errors

    async def _prune(self, pod: Object, state: PodState, actions: PodActions) -> None:
        """Old ends of init containers go before they start anew; of each the last one stays."""
        inits = [each["name"] for each in pod["spec"].get("initContainers") or ()]
        for name in inits:
            ended = [each for each in state.containers if each.name == name and each.state == EXITED]
            kept = 0 if actions.create_sandbox else 1
            for container in ended[kept:]:
                await self._runtime.remove_container(container.id.removeprefix("containerd://"))

    async def _create_sandbox(self, pod: Object, actions: PodActions, results: _Results) -> Sandbox | None:
        results.acted = True
        try:
            handler = await self._runtime_handler(pod)
            return await self._runtime.run_pod_sandbox(pod, actions.attempt, handler, self._host_ip)
        except (CriError, _HandlerError) as error:
            if not self._is_terminating(pod["metadata"]["uid"]):
                results.errors.append(str(error))
                self._recorder.event(pod, "Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {error}")
            return None

    async def _runtime_handler(self, pod: Object) -> str:
        name = pod["spec"].get("runtimeClassName")
        if not name:
            return ""
        try:
            found = await self._api.get(RUNTIME_CLASSES, name)
        except NotFound:
            raise _HandlerError(
                f'failed to get RuntimeClass {name}: runtimeclasses.node.k8s.io "{name}" not found'
            ) from None
        except ApiFailure as failed:
            raise _HandlerError(f"failed to get RuntimeClass {name}: {failed.message}") from failed
        return str(found.get("handler", ""))

    async def _start_all(
        self,
        pod: Object,
        sandbox: Sandbox,
        state: PodState,
        actions: PodActions,
        ips: tuple[str, ...],
        secrets: Sequence[Object],
        results: _Results,
    ) -> None:
        spec = pod["spec"]

        async def start(container: Object) -> bool:
            return await self._start(pod, sandbox, container, state, ips, secrets, results)

        for index in actions.ephemeral_to_start:
            await start(spec["ephemeralContainers"][index])
        for index in actions.init_to_start:
            container = spec["initContainers"][index]
            if not await start(container) and not is_sidecar(container):
                return
        for index in actions.to_start:
            await start(spec["containers"][index])

    async def _start(
        self,
        pod: Object,
        sandbox: Sandbox,
        container: Object,
        state: PodState,
        ips: tuple[str, ...],
        secrets: Sequence[Object],
        results: _Results,
    ) -> bool:
        uid, name = pod["metadata"]["uid"], container["name"]
        results.acted = True
        reasons = self._reasons.setdefault(uid, {})
        if self._is_in_back_off(pod, container, state, results):
            return False
        try:
            await self._containers.start(pod, sandbox, container, state, ips, secrets)
        except StartFailed as failed:
            reasons[name] = (failed.reason, failed.message)
            results.errors.append(f'failed to "StartContainer" for "{name}" with {failed}')
            return False
        except CriError as error:
            results.errors.append(str(error))
            return False
        reasons.pop(name, None)
        return True

    def _is_in_back_off(self, pod: Object, container: Object, state: PodState, results: _Results) -> bool:
        name = container["name"]
        ended = next((each for each in state.containers if each.name == name and each.state == EXITED), None)
        if ended is None:
            return False
        key = f"{pod['metadata']['uid']}_{name}"
        if not self._back_off.is_in_back_off_since(key, ended.finished_s):
            self._back_off.next(key, ended.finished_s)
            return False
        self._containers.event(
            pod, container, "Warning", "BackOff", f"Back-off restarting failed container {name} in pod {describe(pod)}"
        )
        delay_s = self._back_off.get(key)
        message = f"back-off {duration(delay_s)} restarting failed container={name} pod={describe(pod)}"
        self._reasons[pod["metadata"]["uid"]][name] = ("CrashLoopBackOff", message)
        results.errors.append(f'failed to "StartContainer" for "{name}" with CrashLoopBackOff: "{message}"')
        until_s = ended.finished_s + delay_s
        results.back_off_until_s = min(results.back_off_until_s or until_s, until_s)
        return True

    # Towards the end

    async def sync_terminating(
        self, pod: Object, state: PodState, grace_s: int | None, override: Callable[[Object], None] | None
    ) -> SyncOutcome:
        status = self._generate(pod, state, False)
        if override is not None:
            override(status)
        self._statuses.set(pod, status)
        uid = pod["metadata"]["uid"]
        self._probes.stop_liveness_and_startup(uid)
        errors = await self._kill_pod(pod, state, grace_s)
        if errors:
            text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
            self._recorder.event(pod, "Warning", "FailedKillPod", f"error killing pod: {text}")
            return SyncOutcome(error=f"error killing terminating pod: {text}")
        self._probes.remove_pod(uid)
        try:
            stopped = self._runtime.pod_state(uid)
        except CriError as error:
            return SyncOutcome(error=f"unable to get pod prior to final pod termination: {error}")
        if not stopped.ips and state.ips:
            stopped = PodState(state.ips, stopped.sandboxes, stopped.containers)
        self._statuses.set(pod, self._generate(pod, stopped, True))
        return SyncOutcome()

    async def sync_terminated(self, pod: Object, state: PodState) -> SyncOutcome:
        self._statuses.set(pod, self._generate(pod, state, True))
        self._volumes.unmount(pod["metadata"]["uid"])
        self._statuses.terminate(pod)
        return SyncOutcome()

    def forget(self, uid: str) -> None:
        self._reasons.pop(uid, None)
        self._back_off.forget(uid + "_")
        self._containers.forget(uid)
        self._volumes.unmount(uid)
        self._probes.remove_pod(uid)


class _HandlerError(Exception):
    """The RuntimeClass gives no handler."""
