"""The smallest fault there is: it breaks nothing, and so the gate has to refuse it. docs/adding-a-fault.md grows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from clusters.base import Cluster, Lever
from faults.contract import Fault, Hits, Runbook
from faults.objects import CONFIG_MAPS, config_map
from faults.requests import Workload, get
from faults.symptoms import Symptom, response


@dataclass(frozen=True)
class Noop(Fault):
    """Nothing is wrong."""

    hop = 1
    title = "nothing is broken"
    documented = "nothing is seen"
    needs = ()
    runbook = Runbook(
        detect="nothing to detect",
        diagnose="nothing to diagnose",
        remedy="nothing to do",
        verify="kubectl get configmap web",
    )

    def workload(self) -> Workload:
        return Workload(objects=[(CONFIG_MAPS, config_map("web"))])

    @contextmanager
    def inject(self, cluster: Cluster) -> Iterator[Lever]:
        yield Hits()

    def symptom(self) -> Symptom:
        return response(get(f"{CONFIG_MAPS}/web"), 500)

    def recovery(self) -> Symptom:
        return response(get(f"{CONFIG_MAPS}/web"), 200)
