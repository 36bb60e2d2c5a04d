"""What the kubelet and the container runtime say to each other: sandboxes, containers, their states and errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from clusters.emulated.kubelet.programs.box import Box

Object = dict[str, Any]

READY: Final = "SANDBOX_READY"
NOT_READY: Final = "SANDBOX_NOTREADY"
CREATED, RUNNING, EXITED, UNKNOWN = "created", "running", "exited", "unknown"


class CriError(Exception):
    """The runtime refused. `message` is what it says; as text it has gRPC's prefix."""

    def __init__(self, message: str, code: str = "Unknown") -> None:
        super().__init__(f"rpc error: code = {code} desc = {message}")
        self.message = message
        self.code = code


@dataclass(slots=True, eq=False)
class Sandbox:
    id: str
    pod_uid: str
    name: str
    namespace: str
    attempt: int
    created_s: float
    host_network: bool
    state: str = READY
    ip: str = ""


@dataclass(slots=True, eq=False)
class Container:
    id: str
    sandbox: Sandbox
    name: str
    #: As the Pod's spec has it.
    spec: Object
    attempt: int
    created_s: float
    #: As containerd names it, and its id: `docker.io/library/busybox:1.35`, `docker.io/library/busybox@sha256:…`
    image: str
    image_ref: str
    argv: list[str]
    box: Box
    state: str = CREATED
    started_s: float = 0.0
    finished_s: float = 0.0
    exit_code: int = 0
    reason: str = ""
    message: str = ""

    @property
    def full_id(self) -> str:
        return f"containerd://{self.id}"


@dataclass(frozen=True, slots=True)
class ContainerConfig:
    """Everything CreateContainer is told."""

    pod: Object
    spec: Object
    attempt: int
    image: str
    image_ref: str
    command: list[str]
    environment: dict[str, str]
    files: dict[str, str]
    memory_limit: int = 0


@dataclass(frozen=True, slots=True)
class ContainerState:
    """A container as it was when the runtime was asked: what a sync decides by."""

    id: str
    name: str
    state: str
    attempt: int
    created_s: float
    started_s: float
    finished_s: float
    exit_code: int
    reason: str
    message: str
    image: str
    image_ref: str
    sandbox_id: str


@dataclass(frozen=True, slots=True)
class PodState:
    """All sandboxes and containers of a Pod, the youngest first, as they were at one instant."""

    ips: tuple[str, ...] = ()
    sandboxes: tuple[tuple[str, str, int, str, bool], ...] = ()  # id, state, attempt, ip, host network
    containers: tuple[ContainerState, ...] = ()

    def find(self, name: str) -> ContainerState | None:
        """The youngest container of this name."""
        for container in self.containers:
            if container.name == name:
                return container
        return None

    def running(self) -> list[ContainerState]:
        return [container for container in self.containers if container.state == RUNNING]


@dataclass(slots=True)
class RuntimeCondition:
    ready: bool = True
    network_ready: bool = True
    network_message: str = ""


EMPTY: Final = PodState()


@dataclass(slots=True)
class PodRecord:
    """What the runtime has of one Pod."""

    sandboxes: list[Sandbox] = field(default_factory=list)
    containers: list[Container] = field(default_factory=list)
