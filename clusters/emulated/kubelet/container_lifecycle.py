"""Starting and killing containers: image, configuration, create, start, hooks; grace periods and their events."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Protocol

from clusters.emulated.clock import Clock
from clusters.emulated.kubelet.cri import Container, ContainerConfig, ContainerState, CriError, PodState, Sandbox
from clusters.emulated.kubelet.environment import (
    EnvironmentInputs,
    UnusableEnvironmentError,
    environment,
)
from clusters.emulated.kubelet.expansion import expand
from clusters.emulated.kubelet.hooks import HookError, Hooks
from clusters.emulated.kubelet.image_pulls import ImageError, ImagePulls
from clusters.emulated.kubelet.image_store import StoredImage
from clusters.emulated.kubelet.pod_names import container_field, container_spec, describe
from clusters.emulated.kubelet.programs.images import short_name
from clusters.emulated.kubelet.references import References
from clusters.emulated.kubelet.resources import memory_limit
from clusters.emulated.kubelet.restarts import is_sidecar
from clusters.emulated.kubelet.runtime import Runtime
from clusters.emulated.kubelet.volumes import Volumes
from clusters.kube.gostring import quote

Object = dict[str, Any]

GRACE_MIN_S: Final = 2
#: Users of images that are not root, by the image's short name; None is a name that nobody can check.
_USERS: Final[dict[str, int]] = {"nginx-unprivileged": 101, "nonroot": 65532, "prometheus": 65534, "grafana": 472}


class StartFailed(Exception):
    """A container did not start; `reason` is what it waits for now."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason = reason
        self.message = message


class Recorder(Protocol):
    def event(self, obj_or_ref: Object, type: str, reason: str, message: str, *, field_path: str = "") -> None: ...


class NodeView(Protocol):
    """What containers learn of their node."""

    @property
    def host_ip(self) -> str: ...

    @property
    def allocatable(self) -> Object: ...

    async def services(self, namespace: str) -> Sequence[Object]: ...


class ContainerLifecycle:
    def __init__(
        self,
        runtime: Runtime,
        pulls: ImagePulls,
        volumes: Volumes,
        references: References,
        hooks: Hooks,
        recorder: Recorder,
        clock: Clock,
        node: NodeView,
    ) -> None:
        self._runtime = runtime
        self._pulls = pulls
        self._volumes = volumes
        self._references = references
        self._hooks = hooks
        self._recorder = recorder
        self._clock = clock
        self._node = node
        #: Of Pods and containers whose records the runtime no longer has.
        self._attempts: dict[tuple[str, str], int] = {}
        self._hook_tasks: set[asyncio.Task[None]] = set()

    def event(self, pod: Object, container: Object, type: str, reason: str, message: str) -> None:
        self._recorder.event(pod, type, reason, message, field_path=container_field(pod, container["name"]))

    # Starting

    async def start(
        self,
        pod: Object,
        sandbox: Sandbox,
        container: Object,
        state: PodState,
        ips: tuple[str, ...],
        secrets: Sequence[Object],
    ) -> None:
        """Raises `StartFailed`."""

        def event(type: str, reason: str, message: str) -> None:
            self.event(pod, container, type, reason, message)

        try:
            image = await self._pulls.ensure(pod, container, secrets, event)
        except ImageError as error:
            event("Warning", "Failed", f"Error: {error.reason}")
            raise StartFailed(error.reason, error.message) from error
        try:
            config = await self._config(pod, container, image, state, ips)
        except UnusableEnvironmentError as error:
            event("Warning", "Failed", f"Error: {error}")
            raise StartFailed("CreateContainerConfigError", str(error)) from error
        created = await self._create(pod, sandbox, config, event)
        try:
            await self._runtime.start_container(created.id, pod)
        except CriError as error:
            event("Warning", "Failed", f"Error: {error.message}")
            raise StartFailed("RunContainerError", error.message) from error
        event("Normal", "Started", "Container started")
        await self._post_start(pod, container, created)

    async def _create(self, pod: Object, sandbox: Sandbox, config: ContainerConfig, event: Any) -> Container:
        try:
            created = await self._runtime.create_container(sandbox, config)
        except CriError as error:
            event("Warning", "Failed", f"Error: {error.message}")
            raise StartFailed("CreateContainerError", error.message) from error
        self._attempts[pod["metadata"]["uid"], config.spec["name"]] = config.attempt
        event("Normal", "Created", "Container created")
        return created

    async def _config(
        self, pod: Object, container: Object, image: StoredImage, state: PodState, ips: tuple[str, ...]
    ) -> ContainerConfig:
        name, uid = container["name"], pod["metadata"]["uid"]
        before = state.find(name)
        if before is not None:
            attempt = before.attempt + 1
        else:
            attempt = self._attempts.get((uid, name), -1) + 1
        services = await self._node.services(pod["metadata"]["namespace"])
        inputs = EnvironmentInputs(ips, self._node.host_ip, self._node.allocatable, services)
        values = await environment(pod, container, self._references, inputs)
        _verify_non_root(pod, container)
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        files = {
            "/etc/hostname": pod["metadata"]["name"] + "\n",
            "/etc/hosts": f"127.0.0.1\tlocalhost\n{ips[0] if ips else '127.0.0.1'}\t{pod['metadata']['name']}\n",
            "/etc/resolv.conf": f"search {pod['metadata']['namespace']}.svc.cluster.local svc.cluster.local cluster.local\n"  # noqa: E501
            "nameserver 10.96.0.10\noptions ndots:5\n",
            **self._volumes.files(pod, container),
        }
        return ContainerConfig(
            pod, container, attempt, image.shown, image.ref, [expand(word, values) for word in words], values, files,
            memory_limit(container),
        )  # fmt: skip

    async def _post_start(self, pod: Object, container: Object, created: Container) -> None:
        handler = (container.get("lifecycle") or {}).get("postStart")
        if not handler:
            return
        try:
            await self._hooks.run(pod, container, created.id, handler)
        except HookError as error:
            self.event(pod, container, "Warning", "FailedPostStartHook", "PostStartHook failed")
            await self.kill(pod, created.id, container["name"], "FailedPostStartHook")
            raise StartFailed("PostStartHookError", str(error)) from error

    # Killing

    async def kill(
        self,
        pod: Object,
        container_id: str,
        name: str,
        message: str = "",
        grace_s: int | None = None,
        probe: str = "",
        turn: Any = None,
    ) -> None:
        """`turn(grace_s)` waits until it is this container's turn, and returns the seconds that took."""
        container = container_spec(pod, name) or {"name": name}
        left_s = _grace(pod, container, probe)
        self.event(pod, container, "Normal", "Killing", message or f"Stopping container {name}")
        if grace_s is not None:
            left_s = grace_s
        if (container.get("lifecycle") or {}).get("preStop") and left_s > 0:
            left_s -= await self._pre_stop(pod, container, container_id, left_s)
        if turn is not None and left_s > 0:
            left_s -= await turn(left_s)
        await self._runtime.stop_container(container_id.removeprefix("containerd://"), max(left_s, GRACE_MIN_S))

    async def _pre_stop(self, pod: Object, container: Object, container_id: str, grace_s: int) -> int:
        """Waits for the hook, at most the whole grace period; the hook itself goes on. Returns the whole seconds used."""  # noqa: E501
        began_s = self._clock.monotonic_s()

        async def run() -> None:
            try:
                await self._hooks.run(pod, container, container_id, container["lifecycle"]["preStop"])
            except HookError:
                self.event(pod, container, "Warning", "FailedPreStopHook", "PreStopHook failed")

        hook = asyncio.get_running_loop().create_task(run(), name="preStop")
        self._hook_tasks.add(hook)
        hook.add_done_callback(self._hook_tasks.discard)
        late: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(grace_s, lambda: late.done() or late.set_result(None))  # type: ignore[arg-type, func-returns-value]
        try:
            await asyncio.wait((hook, late), return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
        return int(self._clock.monotonic_s() - began_s + 1e-6)

    async def kill_all(self, pod: Object, running: list[ContainerState], grace_s: int | None) -> list[str]:
        """All at once; sidecars after the others, the last one first. Returns what went wrong."""
        ordering = _Ordering(pod, [container.name for container in running], self._clock)
        errors: list[str] = []

        async def one(container: ContainerState) -> None:
            try:
                await self.kill(
                    pod, container.id, container.name, grace_s=grace_s, turn=ordering.turn_of(container.name)
                )
            except CriError as error:
                errors.append(
                    f'failed to "KillContainer" for "{container.name}" with KillContainerError: {quote(str(error))}'
                )
            finally:
                ordering.ended(container.name)

        async with asyncio.TaskGroup() as group:
            for container in running:
                group.create_task(one(container), name=f"kill {container.name}")
        return errors

    def forget(self, uid: str) -> None:
        for key in [key for key in self._attempts if key[0] == uid]:
            del self._attempts[key]
        self._pulls.forget(uid)


class _Ordering:
    """Sidecars wait for every regular container, and for the sidecars that come after them."""

    def __init__(self, pod: Object, running: list[str], clock: Clock) -> None:
        self._clock = clock
        sidecars = [each["name"] for each in pod["spec"].get("initContainers") or () if is_sidecar(each)]
        regular = {each["name"] for each in pod["spec"]["containers"]}
        loop = asyncio.get_running_loop()
        self._ends: dict[str, asyncio.Future[None]] = {name: loop.create_future() for name in running}
        self._before = {
            name: [self._ends[each] for each in running if each in regular or each in sidecars[index + 1 :]]
            for index, name in enumerate(sidecars)
            if name in self._ends
        }

    def turn_of(self, name: str) -> Any:
        awaited = self._before.get(name)
        if not awaited:
            return None

        async def turn(grace_s: float) -> int:
            began_s = self._clock.monotonic_s()
            late: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            timer = self._clock.call_later(grace_s, lambda: late.done() or late.set_result(None))  # type: ignore[arg-type, func-returns-value]
            ends = asyncio.gather(*awaited)
            try:
                await asyncio.wait((ends, late), return_when=asyncio.FIRST_COMPLETED)
            finally:
                timer.cancel()
            return int(self._clock.monotonic_s() - began_s)

        return turn

    def ended(self, name: str) -> None:
        if not self._ends[name].done():
            self._ends[name].set_result(None)


def _grace(pod: Object, container: Object, probe: str) -> int:
    deletion = pod["metadata"].get("deletionGracePeriodSeconds")
    if deletion is not None:
        return int(deletion)
    own = (container.get(f"{probe}Probe") or {}).get("terminationGracePeriodSeconds") if probe else None
    if own is not None:
        return int(own)
    return int(pod["spec"].get("terminationGracePeriodSeconds", GRACE_MIN_S))


def _verify_non_root(pod: Object, container: Object) -> None:
    own, shared = container.get("securityContext") or {}, pod["spec"].get("securityContext") or {}
    if not own.get("runAsNonRoot", shared.get("runAsNonRoot")):
        return
    where = f"(pod: {quote(describe(pod))}, container: {container['name']})"
    user = own.get("runAsUser", shared.get("runAsUser"))
    if user == 0:
        raise UnusableEnvironmentError(f"container's runAsUser breaks non-root policy {where}")
    image = container.get("image", "")
    if user is None and _USERS.get(short_name(image), 65532 if "nonroot" in image else 0) == 0:
        raise UnusableEnvironmentError(f"container has runAsNonRoot and image will run as root {where}")
