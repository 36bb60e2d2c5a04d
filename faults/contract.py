"""What an entry of the failure table is. `faults/noop.py` is the smallest one; docs/adding-a-fault.md grows it.

The gate that every entry passes (suites/test_failure_table.py):

    workload, prepare      the cluster as it should be; recovery() is seen, symptom() is not
    with inject(cluster):  symptom() is seen, and the lever has hit something
    afterwards             symptom() is gone, recovery() is seen again
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from clusters.base import Cluster, ClusterShape, Lever
from faults.requests import Workload
from faults.symptoms import Symptom


@dataclass(frozen=True)
class Runbook:
    """What a person on call does. Each is one or two sentences, or a command."""

    detect: str
    diagnose: str
    remedy: str
    verify: str
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fault:
    """A frozen dataclass in a file of its own, whose fields are its parameters."""

    #: The hop that breaks, 1 to 12; 0 for whole nodes and for several api-servers.
    hop: ClassVar[int]
    title: ClassVar[str]
    #: What the handbooks say is seen.
    documented: ClassVar[str]
    #: Where that is not what a real control plane shows: what it shows, in one line.
    observed_difference: ClassVar[str] = ""
    #: Levers, as `group.name`; where a cluster lacks one, the fault is skipped and the skip names it.
    needs: ClassVar[tuple[str, ...]]
    #: What the cluster has to have from its start.
    shape: ClassVar[ClusterShape] = ClusterShape()
    runbook: ClassVar[Runbook]
    #: Folder and file, `h07_store/fsync-stall`; the catalogue gives it.
    id: ClassVar[str] = ""

    def workload(self) -> Workload:
        """Objects that are there before, during and after."""
        return Workload()

    @contextmanager
    def prepare(self, cluster: Cluster) -> Iterator[None]:
        """What stands and works before the fault and has to be run, e.g. a webhook."""
        yield

    def inject(self, cluster: Cluster) -> AbstractContextManager[Lever]:
        """Pulls the levers; leaving the block heals."""
        raise NotImplementedError(f"{type(self).__name__} breaks nothing: inject has to pull a lever")

    def symptom(self) -> Symptom:
        """What a person sees while the fault is in force, and at no other time."""
        raise NotImplementedError(f"{type(self).__name__} has no symptom")

    def recovery(self) -> Symptom:
        """What a person sees when all is well: before, and again after."""
        raise NotImplementedError(f"{type(self).__name__} does not say what healthy means")

    def parameters(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass
class Hits:
    """Several levers pulled as one: they have fired when each of them has."""

    levers: list[Lever] = field(default_factory=list)

    @property
    def fired(self) -> int:
        return min((lever.fired for lever in self.levers), default=0)
