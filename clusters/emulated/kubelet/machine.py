"""The machine below a kubelet: container runtime, images, network, disk. It goes on when its kubelet stops.

Containers keep running while nobody manages them, and the kubelet that comes next finds them there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from clusters.emulated.clock import Clock, Randomness
from clusters.emulated.kubelet.cni import Cni
from clusters.emulated.kubelet.faults import Faults
from clusters.emulated.kubelet.image_names import parse
from clusters.emulated.kubelet.image_store import ImageStore
from clusters.emulated.kubelet.registry import MemoryRegistry, Registry
from clusters.emulated.kubelet.runtime import Runtime
from clusters.emulated.kubelet.volumes import NodeFiles
from clusters.emulated.store.levers import Lever

Object = dict[str, Any]

KUBELET_VERSION: Final = "v1.36.4"
_NUMBER: Final = re.compile(r"(\d+)\Z")


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """How a node is to be. Four cores and 16 GiB unless told otherwise."""

    name: str
    kubelet_version: str = KUBELET_VERSION
    cpu: str = "4"
    memory: str = "16777216Ki"
    ephemeral_storage: str = "102350Mi"
    pods: int = 110
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Object, ...] = ()
    address: str = ""
    pod_cidr: str = ""
    allowed_sysctls: tuple[str, ...] = ()
    app_armor: bool = False
    csi_drivers: frozenset[str] = frozenset()
    #: Pods that the kubelet runs by itself, as from its manifest directory.
    static_pods: tuple[Object, ...] = ()
    #: The machine it runs on; None makes a new one.
    machine: Machine | None = None

    @property
    def number(self) -> int:
        """A small number for the node's addresses: the one its name ends with, or one made of the name."""
        found = _NUMBER.search(self.name)
        if found:
            return int(found.group(1)) % 5000
        return 5000 + hashlib.sha256(self.name.encode()).digest()[0]

    @property
    def internal_ip(self) -> str:
        return self.address or f"172.18.{self.number // 250}.{self.number % 250 + 2}"

    @property
    def cidr(self) -> str:
        block = self.number // 256
        return self.pod_cidr or f"10.{244 + block if block < 12 else 188 + block}.{self.number % 256}.0/24"


class Machine:
    def __init__(
        self, clock: Clock, randomness: Randomness, pod_cidr: str = "10.244.0.0/24", registry: Registry | None = None
    ) -> None:
        self.clock = clock
        self.images = ImageStore()
        self.cni = Cni(pod_cidr)
        self.runtime = Runtime(clock, randomness, self.cni, self.images)
        self.registry: Registry = registry or MemoryRegistry(clock)
        self.disk = NodeFiles()
        self.boot_id = randomness.uid()
        self.machine_id = randomness.uid().replace("-", "")
        self.faults = Faults()
        #: Told when something changed that a kubelet would find out by asking.
        self.changed: list[Callable[[], None]] = []
        self.runtime.condition_changed = self.told
        self.cni.condition_changed = self.told

    @classmethod
    def of(
        cls, options: NodeOptions, clock: Clock, randomness: Randomness, registry: Registry | None = None
    ) -> Machine:
        return cls(clock, randomness, options.cidr, registry)

    def preload(self, *images: str) -> None:
        """Images that are on the disk already."""
        for image in images:
            self.images.preload(parse(image))

    # Levers

    def pressure(self, signal: str, available: str = "", threshold: str = "") -> Lever:
        """`memory.available`, `nodefs.available`, `nodefs.inodesFree`, `imagefs.available`, `pid.available` run short."""  # noqa: E501
        return self.faults.pull("pressure", (signal, available, threshold), changed=self.told)

    def told(self) -> None:
        for tell in [*self.changed]:
            tell()
