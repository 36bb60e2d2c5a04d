"""A Pod that fits nowhere may push out less important ones: see `preemption` for whom, `eviction` for how."""

from __future__ import annotations

from clusters.emulated.scheduler.cluster_events import Action, Registration, never
from clusters.emulated.scheduler.eviction import Eviction
from clusters.emulated.scheduler.fit_error import Diagnosis, PluginError
from clusters.emulated.scheduler.plugin import Cycle, Plugin, PostFilterResult
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.preemption import Preemption
from clusters.emulated.scheduler.status import Status, unresolvable, unschedulable


class DefaultPreemption(Plugin):
    """`preemption` needs the framework, which needs the plugins: it is set when both exist."""

    name = "DefaultPreemption"
    preemption: Preemption

    def __init__(self, eviction: Eviction) -> None:
        self._eviction = eviction
        # Whom it waits for is told by the plugins that refused it; this one only keeps it back meanwhile.
        self.registrations = (Registration("Pod", Action.DELETE, never),)

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        if self._eviction.is_under_way(pod.uid):
            return unresolvable("waiting for the preemption for this pod to be finished")
        return None

    def post_filter(self, cycle: Cycle, pod: PodInfo, diagnosis: Diagnosis) -> PostFilterResult:
        reason = self.preemption.why_not_eligible(pod, diagnosis)
        if reason:
            return PostFilterResult(unschedulable(f"preemption: {reason}"))
        try:
            candidates, refused = self.preemption.candidates(cycle, pod, diagnosis)
        except PluginError as problem:
            return PostFilterResult(unschedulable(f"preemption: {problem.message}"))
        if not candidates:
            message = refused.message(self.preemption.node_count)
            return PostFilterResult(unschedulable(f"preemption: {message}"), "")
        best = self.preemption.best(candidates)
        self._eviction.start(pod, best.node_name, best.victims)
        return PostFilterResult(None, best.node_name)
