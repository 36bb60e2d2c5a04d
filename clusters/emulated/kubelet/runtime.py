"""A container runtime in memory, with containerd's ids, states and words. It outlives the kubelets that use it.

Levers: `down` (nobody listens on its socket), `fail_sandbox`, `fail_create`, `fail_start`, `crash`, `oom`, `slow`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Final

from clusters.emulated.clock import Clock, Randomness
from clusters.emulated.kubelet.cni import Cni, CniError
from clusters.emulated.kubelet.cri import (
    EMPTY,
    EXITED,
    NOT_READY,
    READY,
    RUNNING,
    Container,
    ContainerConfig,
    ContainerState,
    CriError,
    PodRecord,
    PodState,
    RuntimeCondition,
    Sandbox,
)
from clusters.emulated.kubelet.faults import Faults
from clusters.emulated.kubelet.image_store import ImageStore
from clusters.emulated.kubelet.programs import annotated_program
from clusters.emulated.kubelet.programs import images as image_programs
from clusters.emulated.kubelet.programs.box import SIGKILL_EXIT, Box
from clusters.emulated.kubelet.programs.program import Program, ProgramError
from clusters.emulated.kubelet.programs.shell import Executed, execute
from clusters.emulated.store.levers import Lever
from clusters.kube.quantity import parse

Object = dict[str, Any]

SOCKET: Final = "/run/containerd/containerd.sock"
NOT_LISTENING: Final = (
    f'connection error: desc = "transport: Error while dialing: dial unix {SOCKET}: connect: no such file or directory"'
)
_TASK: Final = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
)
_PROCESS: Final = _TASK + "unable to start container process: "
LOG_TAIL_BYTES: Final = 2048
LOG_TAIL_LINES: Final = 80
MESSAGE_BYTES: Final = 4096
#: What takes a real runtime its time takes some here too, so that what follows each other does so in the stamps.
SANDBOX_S: Final = 0.02
CREATE_S: Final = 0.005
START_S: Final = 0.005
#: Below this runc cannot even make the cgroup.
MEMORY_MIN: Final = 1 << 19


class ContainerNotFoundError(CriError):
    def __init__(self, container_id: str) -> None:
        super().__init__(f'an error occurred when try to find container "{container_id}": not found', "NotFound")


class Runtime:
    def __init__(self, clock: Clock, randomness: Randomness, cni: Cni, images: ImageStore) -> None:
        self.clock = clock
        self.cni = cni
        self.images = images
        self.handlers: set[str] = {"runc"}
        #: What images do, by their short name, before what is known of them.
        self.programs: dict[str, Program] = {}
        #: Told of every Pod (uid) whose containers changed.
        self.watchers: list[Callable[[str], None]] = []
        #: Told, by container, when it wrote to its log or ended; for who follows it.
        self.followers: dict[str, list[Callable[[], None]]] = {}
        #: Told when it may have become ready, or not ready.
        self.condition_changed: Callable[[], None] = lambda: None
        self._randomness = randomness
        self._faults = Faults()
        self._pods: dict[str, PodRecord] = {}
        self._sandboxes: dict[str, Sandbox] = {}
        self._containers: dict[str, Container] = {}
        self._exits: dict[str, list[asyncio.Future[None]]] = {}

    # Levers

    def down(self) -> Lever:
        """The runtime's socket is gone. Containers go on running."""
        return self._faults.pull("down", changed=lambda: self.condition_changed())

    def fail_sandbox(self, message: str, pod: str = "") -> Lever:
        """RunPodSandbox fails for Pods whose name contains `pod`."""
        return self._faults.pull("sandbox", message, lambda name: pod in name)

    def fail_create(self, message: str, container: str = "") -> Lever:
        return self._faults.pull("create", message, lambda name: container in name)

    def fail_start(self, message: str, container: str = "") -> Lever:
        """runc fails: `unable to start container process: <message>`."""
        return self._faults.pull("start", message, lambda name: container in name)

    def fail_stop(self, message: str, container: str = "") -> Lever:
        return self._faults.pull("stop", message, lambda name: container in name)

    def crash(self, code: int = 1, container: str = "", after_s: float = 0.05) -> Lever:
        """Containers of this name end with this code, whatever they run: those that run now, and at each start."""
        return self._struck("crash", code, container, after_s)

    def oom(self, container: str = "", after_s: float = 0.05) -> Lever:
        """As `crash`, killed by the kernel for their memory."""
        return self._struck("oom", 137, container, after_s)

    def slow(self, delay_s: float) -> Lever:
        """Every request to the runtime takes so long."""
        return self._faults.pull("slow", delay_s)

    def _struck(self, name: str, code: int, container: str, after_s: float) -> Lever:
        lever: list[Lever] = []

        def changed() -> None:
            for running in [each for each in self._containers.values() if each.state == RUNNING]:
                if container in running.name and lever[0]._pulled:
                    lever[0].fired += 1
                    running.box.later(after_s, lambda box=running.box: box.exit(code, name == "oom"))  # type: ignore[misc]

        lever.append(self._faults.pull(name, (code, after_s), lambda each: container in each, changed=changed))
        return lever[0]

    # State

    def condition(self) -> RuntimeCondition:
        """Raises `CriError` while it is down."""
        self._require_up()
        return RuntimeCondition(True, self.cni.ready, "" if self.cni.ready else self.cni.not_ready_message)

    def is_up(self) -> bool:
        return self._faults.match("down") is None

    def pod_uids(self) -> list[str]:
        self._require_up()
        return [*self._pods]

    def pod_state(self, uid: str) -> PodState:
        self._require_up()
        record = self._pods.get(uid)
        if record is None:
            return EMPTY
        sandboxes = record.sandboxes[::-1]
        ips = (sandboxes[0].ip,) if sandboxes and sandboxes[0].state == READY and sandboxes[0].ip else ()
        return PodState(
            ips,
            tuple((each.id, each.state, each.attempt, each.ip, each.host_network) for each in sandboxes),
            tuple(_state_of(container) for container in reversed(record.containers)),
        )

    def container(self, container_id: str) -> Container | None:
        return self._containers.get(container_id.removeprefix("containerd://"))

    def running(self, uid: str) -> list[Container]:
        record = self._pods.get(uid)
        return [] if record is None else [each for each in record.containers if each.state == RUNNING]

    def listeners_at(self, address: str) -> list[Box]:
        """The boxes whose ports are reached at this Pod address."""
        return [
            container.box
            for record in self._pods.values()
            if record.sandboxes and record.sandboxes[-1].ip == address
            for container in record.containers
            if container.state == RUNNING
        ]

    # Sandboxes

    async def run_pod_sandbox(self, pod: Object, attempt: int, handler: str, host_ip: str) -> Sandbox:
        await self._enter(SANDBOX_S)
        metadata, spec = pod["metadata"], pod["spec"]
        if handler and handler not in self.handlers:
            raise CriError(f'failed to get sandbox runtime: no runtime for "{handler}" is configured')
        message = self._faults.match("sandbox", metadata["name"])
        if message is not None:
            raise CriError(message)
        sandbox = Sandbox(
            self._id(), metadata["uid"], metadata["name"], metadata["namespace"], attempt, self.clock.now_s(),
            bool(spec.get("hostNetwork")),
        )  # fmt: skip
        self._require_memory(pod, sandbox)
        record = self._pods.setdefault(sandbox.pod_uid, PodRecord())
        if sandbox.host_network:
            sandbox.ip = host_ip
        else:
            self._connect(sandbox, record)
        record.sandboxes.append(sandbox)
        self._sandboxes[sandbox.id] = sandbox
        self._tell(sandbox.pod_uid)
        return sandbox

    def _connect(self, sandbox: Sandbox, record: PodRecord) -> None:
        try:
            sandbox.ip = self.cni.add(sandbox.id)
        except CniError as error:
            try:
                self.cni.delete(sandbox.id)
            except CniError:
                # What could not be taken down stays, as a sandbox that is not ready.
                sandbox.state = NOT_READY
                record.sandboxes.append(sandbox)
                self._sandboxes[sandbox.id] = sandbox
                self._tell(sandbox.pod_uid)
            else:
                if not record.sandboxes and not record.containers:
                    del self._pods[sandbox.pod_uid]
            raise CriError(f'failed to setup network for sandbox "{sandbox.id}": {error}') from error

    def _require_memory(self, pod: Object, sandbox: Sandbox) -> None:
        limits = [(each.get("resources") or {}).get("limits") or {} for each in pod["spec"]["containers"]]
        if not all("memory" in limit for limit in limits):
            return
        total = sum(parse(str(limit["memory"])).value() for limit in limits)
        if 0 < total < MEMORY_MIN:
            qos = (pod.get("status") or {}).get("qosClass", "Burstable").lower()
            path = f"/sys/fs/cgroup/memory/kubepods/{'' if qos == 'guaranteed' else qos + '/'}pod{sandbox.pod_uid}"
            raise CriError(
                f"{_PROCESS}unable to apply cgroup configuration: mkdir {path}/{sandbox.id}: cannot allocate memory: unknown"  # noqa: E501
            )

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        await self._enter()
        sandbox = self.sandbox(sandbox_id)
        if sandbox is None:
            return
        for container in self.running(sandbox.pod_uid):
            if container.sandbox is sandbox:
                container.box.kill()
        if not sandbox.host_network:
            try:
                self.cni.delete(sandbox.id)
            except CniError as error:
                raise CriError(f'failed to destroy network for sandbox "{sandbox.id}": {error}') from error
        if sandbox.state == READY:
            sandbox.state = NOT_READY
            self._tell(sandbox.pod_uid)

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        await self._enter()
        sandbox = self.sandbox(sandbox_id)
        if sandbox is not None:
            record = self._pods[sandbox.pod_uid]
            record.sandboxes.remove(sandbox)
            del self._sandboxes[sandbox.id]
            self._forget_if_empty(sandbox.pod_uid)
            self._tell(sandbox.pod_uid)

    def sandbox(self, sandbox_id: str) -> Sandbox | None:
        return self._sandboxes.get(sandbox_id)

    # Containers

    async def create_container(self, sandbox: Sandbox, config: ContainerConfig) -> Container:
        await self._enter(CREATE_S)
        spec = config.spec
        message = self._faults.match("create", spec["name"])
        if message is not None:
            raise CriError(message)
        profile = _seccomp_profile(config.pod, spec)
        if profile:
            path = f"/var/lib/kubelet/seccomp/{profile}"
            raise CriError(
                f'failed to create containerd container: cannot load seccomp profile "{path}": open {path}: '
                "no such file or directory"
            )
        container = self._new_container(sandbox, config)
        self._containers[container.id] = container
        self._pods[sandbox.pod_uid].containers.append(container)
        self._tell(sandbox.pod_uid)
        return container

    def _new_container(self, sandbox: Sandbox, config: ContainerConfig) -> Container:
        container_id = self._id()
        box = Box(
            self.clock,
            sandbox.name if not sandbox.host_network else "host",
            config.command,
            lambda code, oom: self._ended(container_id, code, oom),
            lambda: self._wrote(container_id),
            environment=config.environment,
            files={**image_programs.FILES, **config.files},
            working_directory=config.spec.get("workingDir") or "/",
            memory_limit=config.memory_limit,
            termination_message_path=config.spec.get("terminationMessagePath") or "/dev/termination-log",
        )
        return Container(
            container_id, sandbox, config.spec["name"], config.spec, config.attempt, self.clock.now_s(),
            config.image, config.image_ref, config.command, box,
        )  # fmt: skip

    async def start_container(self, container_id: str, pod: Object) -> None:
        await self._enter(START_S)
        container = self._containers.get(container_id)
        if container is None:
            raise ContainerNotFoundError(container_id)
        try:
            program = self._program(container, pod)
            self._check_start(container, program)
        except (image_programs.StartError, ProgramError) as error:
            self._failed_to_start(container, str(error))
            raise CriError(container.message) from error
        container.state = RUNNING
        container.started_s = self.clock.now_s()
        self._begin(container, program)
        self._tell(container.sandbox.pod_uid)

    def _begin(self, container: Container, program: Program | None) -> None:
        for name in ("crash", "oom"):
            struck = self._faults.match(name, container.name)
            if struck is not None:
                code, after_s = struck
                container.box.later(after_s, lambda: container.box.exit(code, name == "oom"))  # noqa: B023
                return
        if program is not None:
            program.start(container.box, container.attempt)
        else:
            image_programs.start(container.image, container.spec, container.argv, container.box)

    def _program(self, container: Container, pod: Object) -> Program | None:
        found = annotated_program(pod["metadata"].get("annotations"), container.name)
        if found is None and not container.argv:
            found = self.programs.get(container.image) or self.programs.get(image_programs.short_name(container.image))
        elif found is None:
            found = self.programs.get(container.image)
        return found

    def _check_start(self, container: Container, program: Program | None) -> None:
        message = self._faults.match("start", container.name)
        if message is not None:
            raise image_programs.StartError(message)
        if program is not None:
            if program.start_error:
                raise image_programs.StartError(program.start_error)
            return
        for path in (
            container.box.working_directory,
            *(each["mountPath"] for each in container.spec.get("volumeMounts") or ()),
        ):
            self._check_path(container, path)
        image_programs.check_command(container.image, container.argv, container.box)

    def _check_path(self, container: Container, path: str) -> None:
        """A directory below a file cannot be made."""
        parts = path.rstrip("/").split("/")
        for end in range(2, len(parts)):
            parent = "/".join(parts[:end])
            if parent not in ("/etc/passwd", "/etc/group", "/etc/hosts", "/bin/sh"):
                continue
            if path == container.box.working_directory:
                raise image_programs.StartError(
                    f"error during container init: mkdir {parent}: not a directory: unknown"
                )
            volume = next(each for each in container.spec["volumeMounts"] if each["mountPath"] == path)["name"]
            source = f"/var/lib/kubelet/pods/{container.sandbox.pod_uid}/volumes/kubernetes.io~configmap/{volume}"
            root = f"/run/containerd/io.containerd.runtime.v2.task/k8s.io/{container.id}/rootfs"
            raise image_programs.StartError(
                f'error during container init: error mounting "{source}" to rootfs at "{path}": open o_path procfd: '
                f"open {root}{path}: not a directory: unknown"
            )

    def _failed_to_start(self, container: Container, error: str) -> None:
        container.state = EXITED
        container.exit_code, container.reason = 128, "StartError"
        container.message = error if error.startswith("failed to") else _PROCESS + error
        container.finished_s = self.clock.now_s()
        container.box.is_over = True
        self._tell(container.sandbox.pod_uid)

    def _ended(self, container_id: str, code: int, oom: bool) -> None:
        container = self._containers.get(container_id)
        if container is None or container.state != RUNNING:
            return
        container.state = EXITED
        container.finished_s = self.clock.now_s()
        container.exit_code = code
        container.reason = "OOMKilled" if oom else "Completed" if code == 0 else "Error"
        for waiting in self._exits.pop(container_id, ()):
            if not waiting.done():
                waiting.set_result(None)
        self._wrote(container_id)
        self._tell(container.sandbox.pod_uid)

    async def stop_container(self, container_id: str, timeout_s: float) -> None:
        """SIGTERM, and SIGKILL when it still runs after the timeout."""
        await self._enter()
        container = self._containers.get(container_id)
        if container is None or container.state != RUNNING:
            return
        message = self._faults.match("stop", container.name)
        if message is not None:
            raise CriError(message)
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._exits.setdefault(container_id, []).append(gone)
        timer = self.clock.call_later(timeout_s, container.box.kill)
        try:
            container.box.terminate()
            await gone
        finally:
            timer.cancel()

    async def remove_container(self, container_id: str) -> None:
        await self._enter()
        container = self._containers.pop(container_id, None)
        if container is not None:
            uid = container.sandbox.pod_uid
            self._pods[uid].containers.remove(container)
            self._forget_if_empty(uid)
            self._tell(uid)

    async def exec(self, container_id: str, argv: list[str], timeout_s: float = 0.0, stdin: str = "") -> Executed:
        """Raises `CriError` when the command cannot be run, or takes longer than `timeout_s`."""
        await self._enter()
        container = self.container(container_id)
        if container is None or container.state != RUNNING:
            state = "CONTAINER_EXITED" if container is not None else "not found"
            raise CriError(f"failed to exec in container: container is in {state} state")
        try:
            image_programs.check_command("busybox", argv, container.box)
        except image_programs.StartError as error:
            raise CriError(
                f'failed to exec in container: failed to start exec "{self._id()}": OCI runtime exec failed: '
                f"exec failed: unable to start container process: {error}"
            ) from error
        return await self._within(container, execute(container.box, argv, stdin), timeout_s)

    async def _within(self, container: Container, work: Coroutine[Any, Any, Executed], timeout_s: float) -> Executed:
        """Ends when the command does, when its time is over, or with the container it runs in."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(work)
        gone: asyncio.Future[None] = loop.create_future()
        self._exits.setdefault(container.id, []).append(gone)
        late: asyncio.Future[None] = loop.create_future()
        timer = self.clock.call_later(timeout_s, lambda: late.set_result(None)) if timeout_s > 0 else None
        try:
            await asyncio.wait((task, gone, late), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            if gone.done():
                return Executed(SIGKILL_EXIT, "", "")
            raise CriError(
                f"failed to exec in container: timeout {timeout_s:g}s exceeded: context deadline exceeded",
                "DeadlineExceeded",
            )
        finally:
            if timer is not None:
                timer.cancel()
            task.cancel()
            waiting = self._exits.get(container.id)
            if waiting is not None and gone in waiting:
                waiting.remove(gone)

    # Within

    async def _enter(self, takes_s: float = 0.0) -> None:
        self._require_up()
        delay_s = self._faults.match("slow") or takes_s
        if delay_s:
            await self.clock.sleep(delay_s)

    def _tell(self, uid: str) -> None:
        for watcher in [*self.watchers]:
            watcher(uid)

    def _wrote(self, container_id: str) -> None:
        for follower in [*self.followers.get(container_id, ())]:
            follower()

    def _require_up(self) -> None:
        if self._faults.match("down") is not None:
            raise CriError(NOT_LISTENING, "Unavailable")

    def _id(self) -> str:
        return (self._randomness.uid() + self._randomness.uid()).replace("-", "")

    def _forget_if_empty(self, uid: str) -> None:
        record = self._pods[uid]
        if not record.sandboxes and not record.containers:
            del self._pods[uid]


def _state_of(container: Container) -> ContainerState:
    message = container.message
    if container.state == EXITED:
        said = _last_words(container)
        if said:
            message = f"{message}: {said}" if message else said
    return ContainerState(
        container.full_id, container.name, container.state, container.attempt, container.created_s,
        container.started_s, container.finished_s, container.exit_code, container.reason, message,
        container.image, container.image_ref, container.sandbox.id,
    )  # fmt: skip


def _last_words(container: Container) -> str:
    """The termination message: the file, or the end of the log where the Pod asks for it and the file is empty."""
    message = container.box.termination_message[:MESSAGE_BYTES]
    if message or container.reason == "StartError":
        return message
    if container.spec.get("terminationMessagePolicy") != "FallbackToLogsOnError" or container.exit_code == 0:
        return ""
    lines = [line.text for line in container.box.log[-LOG_TAIL_LINES:]]
    return "".join(lines)[-LOG_TAIL_BYTES:]


def _seccomp_profile(pod: Object, spec: Object) -> str:
    for context in (spec.get("securityContext"), pod["spec"].get("securityContext")):
        profile = (context or {}).get("seccompProfile")
        if profile:
            return str(profile.get("localhostProfile", "")) if profile.get("type") == "Localhost" else ""
    return ""
