"""A Pod with scheduling gates is not tried until the last gate is removed."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.plugin import Plugin
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import Status, unresolvable


class SchedulingGates(Plugin):
    name = "SchedulingGates"

    def __init__(self) -> None:
        self.registrations = (Registration("Pod", Action.POD_GATES_GONE, is_the_pod_itself),)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        gates = pod.spec.get("schedulingGates")
        if not gates:
            return None
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gate['name'] for gate in gates)}]")


def is_the_pod_itself(pod: PodInfo, old: dict[str, Any] | None, new: dict[str, Any] | None) -> bool:
    return new is not None and new["metadata"]["uid"] == pod.uid
