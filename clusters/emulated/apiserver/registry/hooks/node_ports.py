"""Node ports: one number per Service port, the same on every node, given to nobody twice.

What is taken is read from the stored Services each time, so nothing can drift; ports of Services that are being
written are held in memory until that write is over.
"""

from __future__ import annotations

from clusters.emulated.apiserver.options import ListOptions
from clusters.emulated.apiserver.registry.hooks.contract import Object
from clusters.emulated.apiserver.registry.storage import ResourceStorage
from clusters.emulated.clock import Randomness

FIRST, LAST = 30000, 32767
# The lower part is for those who choose their ports; it is given out only when the rest is full.
_STATIC = min(max(16, (LAST - FIRST + 1) // 32), 128)
_DRY_RUN_FIRST = 32769

ALLOCATED = "provided port is already allocated"
FULL = "range is full"
NOT_IN_RANGE = f"provided port is not in the valid range. The range of valid ports is {FIRST}-{LAST}"


class PortRefusedError(Exception):
    """The text says why; callers put it into the field error or internal error they answer with."""


class NodePorts:
    def __init__(self, services: ResourceStorage, randomness: Randomness) -> None:
        self._services = services
        self._randomness = randomness
        self._held: set[int] = set()

    async def begin(self, dry_run: bool) -> PortOperation:
        page = await self._services.list(self._services.prefix, ListOptions(), None)
        taken = {port for each in page.items for port in ports_of(each.object.get("spec") or {})}
        return PortOperation(taken, self._held, self._randomness, dry_run)


class PortOperation:
    """The ports one write takes; `end` lets go of them (by then they are stored, or were given up)."""

    def __init__(self, taken: set[int], held: set[int], randomness: Randomness, dry_run: bool) -> None:
        self._taken = taken
        self._held = held
        self._randomness = randomness
        self._dry_run = dry_run
        self._mine: list[int] = []

    def allocate(self, port: int) -> None:
        if not self._dry_run and not FIRST <= port <= LAST:
            raise PortRefusedError(NOT_IN_RANGE)
        if port in self._taken or port in self._held or port in self._mine:
            raise PortRefusedError(ALLOCATED)
        self._take(port)

    def allocate_next(self) -> int:
        if self._dry_run:
            port = max(self._mine) + 1 if self._mine else _DRY_RUN_FIRST
            self._mine.append(port)
            return port
        for low, high in ((FIRST + _STATIC, LAST), (FIRST, FIRST + _STATIC - 1)):
            size = high - low + 1
            start = int(self._randomness.fraction() * size)
            for step in range(size):
                port = low + (start + step) % size
                if port not in self._taken and port not in self._held:
                    self._take(port)
                    return port
        raise PortRefusedError(FULL)

    def _take(self, port: int) -> None:
        self._mine.append(port)
        if not self._dry_run:
            self._held.add(port)

    def end(self) -> None:
        if not self._dry_run:
            self._held.difference_update(self._mine)


def ports_of(spec: Object) -> list[int]:
    """The node ports a Service has, that of its health check included."""
    ports = [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
    if spec.get("healthCheckNodePort"):
        ports.append(spec["healthCheckNodePort"])
    return ports
