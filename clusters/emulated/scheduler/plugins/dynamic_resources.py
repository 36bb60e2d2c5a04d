"""Resource claims: a Pod waits for its claims to exist. Devices are not allocated here.

Its answer after a failed search is part of every message: it has nothing to give back.
"""

from __future__ import annotations

from clusters.emulated.scheduler.cluster_events import Action, Registration
from clusters.emulated.scheduler.fit_error import Diagnosis
from clusters.emulated.scheduler.listers import Listers
from clusters.emulated.scheduler.plugin import Cycle, Plugin, PostFilterResult
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.status import SKIP, Status, error, unresolvable, unschedulable


class DynamicResources(Plugin):
    name = "DynamicResources"

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self.registrations = (
            Registration("Node", Action.ADD | Action.NODE_LABEL | Action.NODE_ALLOCATABLE),
            Registration("ResourceClaim", Action.ADD | Action.UPDATE),
            Registration("Pod", Action.POD_CLAIMS_GENERATED),
        )

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return self._missing_claim(pod) if pod.spec.get("resourceClaims") else None

    def pre_filter(self, cycle: Cycle, pod: PodInfo) -> Status | None:
        # Its presence is what post_filter asks for: an attempt that ended before this point has none.
        cycle.data[self.name] = True
        if not pod.spec.get("resourceClaims"):
            return SKIP
        return self._missing_claim(pod)

    def post_filter(self, cycle: Cycle, pod: PodInfo, diagnosis: Diagnosis) -> PostFilterResult:
        if self.name not in cycle.data:
            return PostFilterResult(error("not found"))
        return PostFilterResult(unschedulable("no new claims to deallocate"))

    def _missing_claim(self, pod: PodInfo) -> Status | None:
        generated = {
            one["name"]: one.get("resourceClaimName")
            for one in (pod.pod.get("status") or {}).get("resourceClaimStatuses") or ()
        }
        for reference in pod.spec["resourceClaims"]:
            claim_name = reference.get("resourceClaimName")
            if claim_name is None:
                if reference["name"] not in generated:
                    return unresolvable(f'pod "{pod.key}": ResourceClaim not created yet')
                claim_name = generated[reference["name"]]
            if claim_name is None:
                continue  # The claim was left out on purpose.
            claim = self._listers.resource_claims.get(f"{pod.namespace}/{claim_name}")
            if claim is None:
                return unresolvable(f'resourceclaim.resource.k8s.io "{claim_name}" not found')
            if "deletionTimestamp" in claim["metadata"]:
                return unresolvable(f'resourceclaim "{claim_name}" is being deleted')
        return None
