"""Bringing a fault about: the levers it needs, its workload, and the gate that every entry of the table passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from clusters.base import Cluster, Lever, LeverMissingError
from faults.contract import Fault
from harness.symptoms import Observer, Verdict, look, look_until, too_much, unseen

#: How long, in cluster time, a healed cluster may take to be as before.
HEALS_WITHIN_S = 120.0


class VacuousFaultError(AssertionError):
    """The fault was in force and hit nothing: whatever was seen has another cause."""


def missing_levers(cluster: Cluster, needs: Sequence[str], has_kubectl: bool) -> list[str]:
    """Which of these levers this cluster does not have."""
    missing = []
    for need in needs:
        if need == "kubectl":
            if not has_kubectl:
                missing.append(need)
            continue
        part: Any = cluster.levers
        for name in need.split("."):
            try:
                part = getattr(part, name, None)
            except LeverMissingError:
                part = None
        if part is None:
            missing.append(need)
    return missing


@contextmanager
def injected(fault: Fault, cluster: Cluster) -> Iterator[Lever]:
    """The fault in force, on what it needs to stand before; the caller has its workload in place."""
    with fault.prepare(cluster), fault.inject(cluster) as lever:
        yield lever


def gate(fault: Fault, observer: Observer) -> Verdict:
    """Symptom absent before, present during, gone after; workload healthy before and after; the lever has fired."""
    cluster = observer.cluster
    workload = fault.workload()
    with fault.prepare(cluster):
        observer.set_up(workload)
        _healthy(fault, observer, "before the fault the workload is not healthy")
        before = look(fault.symptom(), observer)
        if before.seen:
            raise too_much(before, observer, f"{fault.id}: the symptom is there before the fault")
        with fault.inject(cluster) as lever:
            during = look(fault.symptom(), observer)
            if not during.seen:
                raise unseen(during, observer, f"{fault.id}: the symptom is not there during the fault")
            fired = lever.fired
        if not fired:
            raise VacuousFaultError(f"{fault.id} hit nothing ({', '.join(fault.needs)}): its symptom has another cause")
        observer.remember(workload.remember)
        _healthy(fault, observer, "after the fault the workload is not healthy again")
        after = look_until(False, fault.symptom(), observer, HEALS_WITHIN_S)
        if after.seen:
            raise too_much(after, observer, f"{fault.id}: the symptom is still there after the fault")
    return during


def _healthy(fault: Fault, observer: Observer, otherwise: str) -> None:
    verdict = look_until(True, fault.recovery(), observer, HEALS_WITHIN_S)
    if not verdict.seen:
        raise unseen(verdict, observer, f"{fault.id}: {otherwise}")
