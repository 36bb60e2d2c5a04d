"""ReplicaSets and ReplicationControllers: as many active Pods as wanted, of those that the selector matches."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import ApiFailure, NotFound
from clusters.emulated.client.expectations import UidTrackingExpectations
from clusters.emulated.client.indexer import key_of
from clusters.emulated.client.resources import PODS, REPLICA_SETS, REPLICATION_CONTROLLERS, Resource
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers.ownership import (
    Claims,
    controller_of,
    controller_reference,
    index_orphans,
    orphans_in,
)
from clusters.emulated.controllers.pod_control import (
    PodControl,
    is_namespace_terminating,
    pod_from_template,
    slow_start_batches,
)
from clusters.emulated.controllers.pod_state import (
    deletion_order,
    is_active,
    is_available,
    is_ready,
    is_terminating,
    next_availability_s,
)
from clusters.kube import selectors

Object = dict[str, Any]

BURST_REPLICAS: Final = 500
_STATUS_TRIES: Final = 2
_COUNTS: Final = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")


class ReplicaSetController(Controller):
    name = "replicaset-controller"
    workers = 5
    resource: Resource = REPLICA_SETS
    #: Whether the status counts Pods that are on their way out.
    counts_terminating = True

    def setup(self) -> None:
        self.pods = self.informer(PODS)
        self.sets = self.informer(self.resource)
        self.pod_control = PodControl(self.api, self.recorder)
        self.expectations = UidTrackingExpectations(self.clock)
        #: The version of our last write of a status: what the cache must have before we decide again.
        self._written: dict[str, tuple[str, int]] = {}
        index_orphans(self.pods.store)
        self.sets.add_handler(self.enqueue, self._set_changed, self._set_deleted)
        self.pods.add_handler(self._pod_added, self._pod_changed, self._pod_deleted)

    def selector_of(self, replica_set: Object) -> selectors.Selector:
        return selectors.from_label_selector(replica_set["spec"].get("selector"))

    # What happened

    def _set_changed(self, old: Object, new: Object) -> None:
        if old["metadata"]["uid"] != new["metadata"]["uid"]:
            self._set_deleted(old, True)
        self.enqueue(new)

    def _set_deleted(self, replica_set: Object, _: bool) -> None:
        key = key_of(replica_set)
        self.expectations.forget(key)
        self._written.pop(key, None)
        self.enqueue(key)

    def _controller_set(self, pod: Object) -> Object | None:
        reference = controller_of(pod)
        if reference is None or reference["kind"] != self.resource.kind:
            return None
        found = self.sets.store.get(f"{pod['metadata']['namespace']}/{reference['name']}")
        return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None

    def _enqueue_matching(self, pod: Object) -> None:
        """Somebody may want to adopt it."""
        labels = pod["metadata"].get("labels") or {}
        for each in self.sets.store.list(pod["metadata"]["namespace"]) if labels else ():
            selector = self.selector_of(each)
            if not selector.empty and selector.matches(labels):
                self.enqueue(each)

    def _pod_added(self, pod: Object) -> None:
        if "deletionTimestamp" in pod["metadata"]:
            self._pod_deleted(pod, False)
        elif controller_of(pod) is not None:
            owner = self._controller_set(pod)
            if owner is not None:
                key = key_of(owner)
                self.expectations.creation_observed(key)
                self.enqueue(key)
        else:
            self._enqueue_matching(pod)

    def _pod_changed(self, old: Object, new: Object) -> None:
        if old["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]:
            return
        relabelled = old["metadata"].get("labels") != new["metadata"].get("labels")
        if "deletionTimestamp" in new["metadata"]:
            self._pod_deleted(new, False)
            if relabelled:
                self._pod_deleted(old, False)
            return
        handed_over = controller_of(old) != controller_of(new)
        if handed_over:
            former = self._controller_set(old)
            if former is not None:
                self.enqueue(former)
        if controller_of(new) is not None:
            owner = self._controller_set(new)
            if owner is not None:
                self.enqueue(owner)
                min_ready_s = owner["spec"].get("minReadySeconds") or 0
                if min_ready_s and is_ready(new) and not is_ready(old):
                    self.enqueue_after(owner, min_ready_s)
        elif relabelled or handed_over:
            self._enqueue_matching(new)

    def _pod_deleted(self, pod: Object, _: bool) -> None:
        owner = self._controller_set(pod)
        if owner is not None:
            key = key_of(owner)
            self.expectations.deleted_observed(key, key_of(pod))
            self.enqueue(key)

    # What to do about it

    async def reconcile(self, key: str) -> None:
        replica_set = self.sets.store.get(key)
        if replica_set is None:
            self.expectations.forget(key)
            return
        metadata = replica_set["metadata"]
        uid, version = self._written.get(key, ("", 0))
        if uid == metadata["uid"] and int(metadata["resourceVersion"]) < version:
            return  # The cache does not have our own last write yet; when it does, we are called again.
        in_sync = self.expectations.satisfied(key)
        matches = self.selector_of(replica_set).matches
        pods = [*self.pods.store.owned_by(metadata["uid"]), *orphans_in(self.pods.store, metadata["namespace"])]
        claims = Claims(self.api, replica_set, self.resource, PODS, matches)
        active = await claims.claim([pod for pod in pods if is_active(pod)])
        terminating = [
            pod
            for pod in pods
            if is_terminating(pod) and controller_of(pod) and matches(pod["metadata"].get("labels") or {})
        ]
        failure = None
        if in_sync and "deletionTimestamp" not in metadata:
            failure = await self._manage(key, replica_set, active)
        now_s = self.clock.now_s()
        status = new_status(replica_set, active, len(terminating) if self.counts_terminating else None, failure, now_s)
        await self._write_status(key, replica_set, status)
        if failure is not None:
            raise failure
        min_ready_s = replica_set["spec"].get("minReadySeconds") or 0
        if min_ready_s and status.get("readyReplicas", 0) != status.get("availableReplicas", 0):
            self.enqueue_after(key, next_availability_s(active, min_ready_s, now_s) or min_ready_s)

    async def _manage(self, key: str, replica_set: Object, active: list[Object]) -> ApiFailure | None:
        surplus = len(active) - (replica_set["spec"].get("replicas") or 0)
        if surplus < 0:
            return await self._create(key, replica_set, min(-surplus, BURST_REPLICAS))
        if surplus > 0:
            return await self._delete(key, replica_set, active, min(surplus, BURST_REPLICAS))
        return None

    async def _create(self, key: str, replica_set: Object, count: int) -> ApiFailure | None:
        self.expectations.expect_creations(key, count)
        reference = controller_reference(replica_set, self.resource)
        pod = pod_from_template(replica_set["spec"].get("template") or {}, replica_set, reference)

        async def create(_: int) -> None:
            try:
                await self.pod_control.create(pod, replica_set)
            except ApiFailure as failure:
                if not is_namespace_terminating(failure):
                    raise

        created, failure = await slow_start_batches(count, create)
        if created < count:
            self.expectations.lower(key, count - created, 0)  # Never tried, or refused: they will not be seen.
        return failure

    async def _delete(self, key: str, replica_set: Object, active: list[Object], count: int) -> ApiFailure | None:
        doomed = active[:count]
        if count < len(active):
            doomed = deletion_order(active, self.clock.now_s(), self._crowding(replica_set))[:count]
        self.expectations.expect_deleted(key, [key_of(pod) for pod in doomed])

        async def delete(pod: Object) -> ApiFailure | None:
            try:
                await self.pod_control.delete(pod["metadata"]["name"], replica_set)
            except ApiFailure as failure:
                self.expectations.deleted_observed(key, key_of(pod))
                return None if isinstance(failure, NotFound) else failure
            return None

        outcomes = await asyncio.gather(*map(delete, doomed))
        return next((each for each in outcomes if each is not None), None)

    def _crowding(self, replica_set: Object) -> Callable[[Object], int]:
        """How many active Pods of ReplicaSets of the same Deployment share a Pod's node."""
        reference = controller_of(replica_set)
        relatives = self.sets.store.owned_by(reference["uid"]) if reference is not None else ()
        on_node: Counter[str] = Counter()
        for each in relatives:
            for pod in self.pods.store.owned_by(each["metadata"]["uid"]):
                if is_active(pod):
                    on_node[pod["spec"].get("nodeName", "")] += 1
        return lambda pod: on_node[pod["spec"].get("nodeName", "")]

    async def _write_status(self, key: str, replica_set: Object, status: Object) -> None:
        if status == (replica_set.get("status") or {}):
            return
        metadata = replica_set["metadata"]
        for tries in range(1, _STATUS_TRIES + 1):
            try:
                stored = await self.api.update(self.resource, {**replica_set, "status": status}, subresource="status")
            except ApiFailure:
                if tries == _STATUS_TRIES:
                    raise
                replica_set = await self.api.get(self.resource, metadata["name"], metadata["namespace"])
            else:
                self._written[key] = (metadata["uid"], int(stored["metadata"]["resourceVersion"]))
                return


class ReplicationControllerController(ReplicaSetController):
    name = "replicationcontroller-controller"
    service_account = "replication-controller"
    event_component = "replication-controller"
    resource = REPLICATION_CONTROLLERS
    counts_terminating = False

    def selector_of(self, replica_set: Object) -> selectors.Selector:
        return selectors.from_map(replica_set["spec"].get("selector"))


def new_status(
    replica_set: Object, active: list[Object], terminating: int | None, failure: ApiFailure | None, now_s: float
) -> Object:
    """The status after this round; `failure` is what creating or deleting Pods met."""
    spec = replica_set["spec"]
    template_labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    min_ready_s = spec.get("minReadySeconds") or 0
    counts = dict.fromkeys(_COUNTS, 0)
    counts["replicas"] = len(active)
    wanted = template_labels.items()
    for pod in active:
        if wanted <= (pod["metadata"].get("labels") or {}).items():
            counts["fullyLabeledReplicas"] += 1
        if is_ready(pod):
            counts["readyReplicas"] += 1
            if is_available(pod, min_ready_s, now_s):
                counts["availableReplicas"] += 1
    # All counts but the first are left out when they are zero.
    status: Object = {name: count for name, count in counts.items() if count or name == "replicas"}
    if terminating is not None:
        status["terminatingReplicas"] = terminating
    generation = replica_set["metadata"].get("generation")
    if generation:
        status["observedGeneration"] = generation
    conditions = _conditions(replica_set, len(active) - (spec.get("replicas") or 0), failure, now_s)
    if conditions:
        status["conditions"] = conditions
    return status


def _conditions(replica_set: Object, surplus: int, failure: ApiFailure | None, now_s: float) -> list[Object]:
    before = (replica_set.get("status") or {}).get("conditions") or []
    failed = any(each["type"] == "ReplicaFailure" for each in before)
    if failure is not None and not failed:
        reason = "FailedCreate" if surplus < 0 else "FailedDelete" if surplus > 0 else ""
        condition = {
            "type": "ReplicaFailure",
            "status": "True",
            "lastTransitionTime": rfc3339(now_s),
            "reason": reason,
            "message": failure.message,
        }
        return [*before, condition]
    if failure is None and failed:
        return [each for each in before if each["type"] != "ReplicaFailure"]
    return list(before)
