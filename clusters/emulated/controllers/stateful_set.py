"""StatefulSets: numbered Pods with names and claims of their own, made, replaced and removed in order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import ApiFailure, Conflict
from clusters.emulated.client.indexer import key_of
from clusters.emulated.client.resources import CONTROLLER_REVISIONS, PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS
from clusters.emulated.controllers import revision_history as history
from clusters.emulated.controllers import stateful_set_identity as identity
from clusters.emulated.controllers.own_writes import OwnWrites
from clusters.emulated.controllers.ownership import Claims, controller_of, index_orphans, orphans_in
from clusters.emulated.controllers.pod_control import slow_start_batches
from clusters.emulated.controllers.pod_state import (
    is_available,
    is_deleted,
    is_ready,
    is_terminal,
    next_availability_s,
    phase,
)
from clusters.emulated.controllers.stateful_set_pods import StatefulPods
from clusters.kube import selectors
from clusters.kube.int_or_percent import scaled_value

Object = dict[str, Any]
Objects = list[Object]
Step = Callable[[int], Awaitable[bool]]

_STATUS_TRIES: Final = 5
#: What makes a status worth writing; conditions and collisions alone do not.
_SIGNIFICANT: Final = (
    "replicas", "currentReplicas", "readyReplicas", "updatedReplicas", "currentRevision", "availableReplicas",
    "updateRevision",
)  # fmt: skip


@dataclass(frozen=True)
class Revisions:
    """The set as it is at the revision most Pods have, and at the one they are to get."""

    current: Object
    update: Object
    collision_count: int


class StatefulSetController(Controller):
    name = "statefulset-controller"
    workers = 5

    def setup(self) -> None:
        self.sets = self.informer(STATEFUL_SETS)
        self.pods = self.informer(PODS)
        self.claims = self.informer(PERSISTENT_VOLUME_CLAIMS)
        self.revisions = self.informer(CONTROLLER_REVISIONS)
        self.writes = OwnWrites()
        self.control = StatefulPods(self.api, self.recorder, self.pods, self.claims, self.writes)
        index_orphans(self.pods.store)
        self.sets.add_handler(self.enqueue, lambda _, new: self.enqueue(new), lambda gone, _: self.enqueue(gone))
        self.pods.add_handler(self._pod_added, self._pod_changed, self._pod_deleted)

    # What happened

    def _owner(self, pod: Object) -> Object | None:
        reference = controller_of(pod)
        if reference is None or reference["kind"] != "StatefulSet":
            return None
        found = self.sets.store.get(f"{pod['metadata']['namespace']}/{reference['name']}")
        return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None

    def _enqueue_owner(self, pod: Object) -> None:
        owner = self._owner(pod)
        if owner is not None:
            self.enqueue(owner)

    def _enqueue_matching(self, pod: Object) -> None:
        labels = pod["metadata"].get("labels") or {}
        for each in self.sets.store.list(pod["metadata"]["namespace"]) if labels else ():
            selector = selectors.from_label_selector(each["spec"].get("selector"))
            if not selector.empty and selector.matches(labels):
                self.enqueue(each)

    def _pod_added(self, pod: Object) -> None:
        if controller_of(pod) is None and not is_deleted(pod):
            self._enqueue_matching(pod)
        else:
            self._enqueue_owner(pod)

    def _pod_changed(self, old: Object, new: Object) -> None:
        if old["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]:
            return
        handed_over = controller_of(old) != controller_of(new)
        if handed_over:
            self._enqueue_owner(old)
        if controller_of(new) is not None:
            owner = self._owner(new)
            if owner is not None:
                self.enqueue(owner)
                min_ready_s = owner["spec"].get("minReadySeconds") or 0
                if min_ready_s and is_ready(new) and not is_ready(old):
                    self.enqueue_after(owner, min_ready_s)
        elif handed_over or old["metadata"].get("labels") != new["metadata"].get("labels"):
            self._enqueue_matching(new)

    def _pod_deleted(self, pod: Object, _: bool) -> None:
        self._enqueue_owner(pod)

    # What to do about it

    async def reconcile(self, key: str) -> None:
        self.writes.check(key)
        stateful_set = self.sets.store.get(key)
        if stateful_set is None:
            return
        metadata = stateful_set["metadata"]
        matches = selectors.from_label_selector(stateful_set["spec"].get("selector")).matches
        await self._adopt_revisions(stateful_set, matches)
        candidates = [
            pod
            for pod in (
                *self.pods.store.owned_by(metadata["uid"]),
                *orphans_in(self.pods.store, metadata["namespace"]),
            )
            if controller_of(pod) or identity.parent_and_ordinal(pod)[0] == metadata["name"]
        ]
        pods = await Claims(self.api, stateful_set, STATEFUL_SETS, PODS, matches).claim(candidates)
        now_s = self.clock.now_s()
        status = await self._update(stateful_set, pods, matches, now_s)
        min_ready_s = stateful_set["spec"].get("minReadySeconds") or 0
        if min_ready_s and status.get("readyReplicas", 0) != status.get("availableReplicas", 0):
            self.enqueue_after(key, next_availability_s(pods, min_ready_s, now_s) or min_ready_s)

    async def _adopt_revisions(self, stateful_set: Object, matches: Callable[[dict[str, str]], bool]) -> None:
        found = history.own_or_free(self.revisions.store, stateful_set, matches)
        free = [each for each in found if controller_of(each) is None]
        if free:
            await Claims(self.api, stateful_set, STATEFUL_SETS, CONTROLLER_REVISIONS, matches).claim(free)

    async def _update(
        self, stateful_set: Object, pods: Objects, matches: Callable[[dict[str, str]], bool], now_s: float
    ) -> Object:
        known = history.in_order(history.own_or_free(self.revisions.store, stateful_set, matches))
        revisions = await self._revisions(stateful_set, known)
        round_ = _Round(self.control, stateful_set, revisions, pods, now_s)
        failure: ApiFailure | None = None
        try:
            await round_.run()
        except ApiFailure as failed:
            failure = failed
        try:
            await self._write_status(stateful_set, round_.status)
        except ApiFailure:
            if failure is None:
                raise
        await self._truncate(stateful_set, pods, known, revisions)
        if failure is not None:
            raise failure
        return round_.status

    async def _revisions(self, stateful_set: Object, known: Objects) -> Revisions:
        status = stateful_set.get("status") or {}
        collisions = status.get("collisionCount") or 0
        number = known[-1]["revision"] + 1 if known else 1
        wanted = history.new_revision(stateful_set, STATEFUL_SETS, number, collisions)
        equal = [each for each in known if each["data"] == wanted["data"]]
        if equal and known[-1]["data"] == wanted["data"]:
            update = known[-1]
        elif equal:
            update = await history.renumber(self.api, equal[-1], number)
        else:
            update, collisions = await history.create(self.api, stateful_set, wanted, collisions)
        name = status.get("currentRevision")
        current = next((each for each in known if each["metadata"]["name"] == name), update)
        return Revisions(current, update, collisions)

    async def _truncate(self, stateful_set: Object, pods: Objects, known: Objects, revisions: Revisions) -> None:
        """Forgets the oldest revisions above the limit that nothing has."""
        live = {revisions.current["metadata"]["name"], revisions.update["metadata"]["name"]}
        live.update(map(identity.revision_of, pods))
        dead = [each for each in known if each["metadata"]["name"] not in live]
        limit = stateful_set["spec"].get("revisionHistoryLimit", 10)
        for each in dead[: max(len(dead) - limit, 0)] if limit >= 0 else ():
            metadata = each["metadata"]
            await self.api.delete(CONTROLLER_REVISIONS, metadata["name"], metadata["namespace"])

    async def _write_status(self, stateful_set: Object, status: Object) -> None:
        complete_rolling_update(stateful_set, status)
        before = stateful_set.get("status") or {}
        newer = (status.get("observedGeneration") or 0) > (before.get("observedGeneration") or 0)
        if not newer and all((status.get(name) or 0) == (before.get(name) or 0) for name in _SIGNIFICANT):
            return
        key = key_of(stateful_set)
        for tries in range(1, _STATUS_TRIES + 1):
            try:
                stored = await self.api.update(STATEFUL_SETS, {**stateful_set, "status": status}, subresource="status")
            except Conflict:
                cached = self.sets.store.get(key)
                if tries == _STATUS_TRIES or cached is None or cached is stateful_set:
                    raise
                stateful_set = cached
            else:
                self.writes.wrote(key, self.sets, stored)
                return


def complete_rolling_update(stateful_set: Object, status: Object) -> None:
    """When every Pod has the new revision, it is the current one."""
    count = identity.replicas_of(stateful_set)
    rolling = stateful_set["spec"]["updateStrategy"].get("type") == "RollingUpdate"
    if rolling and all((status.get(name) or 0) == count for name in ("updatedReplicas", "readyReplicas", "replicas")):
        if count:
            status["currentReplicas"] = count
        status["currentRevision"] = status["updateRevision"]


class _Round:
    """One pass over the Pods of a set; `status` is what there is to report, also after a failure."""

    def __init__(
        self, control: StatefulPods, stateful_set: Object, revisions: Revisions, pods: Objects, now_s: float
    ) -> None:
        spec = stateful_set["spec"]
        self._control = control
        self._set = stateful_set
        self._current_name: str = revisions.current["metadata"]["name"]
        self._update_name: str = revisions.update["metadata"]["name"]
        self._current_set = history.with_template_of(stateful_set, revisions.current)
        self._update_set = history.with_template_of(stateful_set, revisions.update)
        self._now_s = now_s
        self._min_ready_s: int = spec.get("minReadySeconds") or 0
        self._monotonic: bool = spec.get("podManagementPolicy") != "Parallel"
        self._strategy: Object = spec.get("updateStrategy") or {}
        self.status: Object = {
            "observedGeneration": stateful_set["metadata"].get("generation") or 0,
            "currentRevision": self._current_name,
            "updateRevision": self._update_name,
            "collisionCount": revisions.collision_count,
        }
        conditions = (stateful_set.get("status") or {}).get("conditions")
        if conditions:
            self.status["conditions"] = conditions
        self._count(pods)
        self._place(pods)

    # Counting

    def _count(self, pods: Objects) -> None:
        counts = dict.fromkeys(
            ("replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas"), 0
        )
        for pod in pods:
            if not identity.is_created(pod):
                continue
            counts["replicas"] += 1
            if identity.is_running_and_ready(pod):
                counts["readyReplicas"] += 1
                counts["availableReplicas"] += is_available(pod, self._min_ready_s, self._now_s)
            if not is_deleted(pod):
                revision = identity.revision_of(pod)
                counts["currentReplicas"] += revision == self._current_name
                counts["updatedReplicas"] += revision == self._update_name
        for name, count in counts.items():
            self.status.pop(name, None)
            if count or name in ("replicas", "availableReplicas"):
                self.status[name] = count

    def _place(self, pods: Objects) -> None:
        """Sorts the Pods into those that are wanted, missing ones made up, and those that are too many."""
        start = identity.start_of(self._set)
        there = {identity.ordinal_of(pod): pod for pod in pods}
        ordinals = range(start, start + identity.replicas_of(self._set))
        self._replicas = [there.get(ordinal) or self._new_pod(ordinal) for ordinal in ordinals]
        surplus = [pod for ordinal, pod in there.items() if ordinal >= 0 and ordinal not in ordinals]
        self._condemned = sorted(surplus, key=identity.ordinal_of, reverse=True)
        self._first_unavailable = next(
            (
                pod
                for pod in (*self._replicas, *reversed(self._condemned))
                if identity.is_unavailable(pod, self._min_ready_s, self._now_s)
            ),
            None,
        )

    def _new_pod(self, ordinal: int) -> Object:
        """Of the old revision while the update has not come down to its ordinal."""
        place = ordinal - identity.start_of(self._set)
        rolling = self._strategy.get("rollingUpdate")
        if rolling is not None:
            old = place < (rolling.get("partition") or 0)
        else:
            current = (self._set.get("status") or {}).get("currentReplicas") or 0
            old = self._strategy.get("type") == "RollingUpdate" and place < current
        if old:
            return identity.new_pod(self._current_set, ordinal, self._current_name)
        return identity.new_pod(self._update_set, ordinal, self._update_name)

    # Acting

    async def run(self) -> None:
        if is_deleted(self._set):
            return
        try:
            done = (
                await self._for_all(len(self._replicas), self._process_replica)
                and await self._for_all(len(self._condemned), self._settle_condemned)
                and await self._for_all(len(self._condemned), self._process_condemned)
            )
        finally:
            self._count([*self._replicas, *self._condemned])
        if done and self._strategy.get("type") != "OnDelete":
            await self._roll()

    async def _for_all(self, count: int, step: Step) -> bool:
        """Whether the next stage may begin. In order, a step that asks to wait ends the round."""
        if self._monotonic:
            for index in range(count):
                if await step(index):
                    return False
            return True
        _, failure = await slow_start_batches(count, step)
        if failure is not None:
            raise failure
        return True

    async def _process_replica(self, index: int) -> bool:
        pod: Object = self._replicas[index]
        control = self._control
        if is_terminal(pod):
            if not is_deleted(pod):
                await control.delete(self._set, pod)
            return True
        if not identity.is_created(pod):
            if control.is_claim_stale(self._set, pod):
                return True
            await control.create(self._set, pod)
            return self._monotonic  # Its claims are looked at when the cache shows it.
        if phase(pod) == "Pending":
            await control.create_missing_claims(self._set, pod)
        if self._monotonic and (
            is_deleted(pod)
            or not identity.is_running_and_ready(pod)
            or not is_available(pod, self._min_ready_s, self._now_s)
        ):
            return True
        fits = identity.identity_matches(self._set, pod) and identity.storage_matches(self._set, pod)
        if not fits or not control.claims_settled(self._update_set, pod):
            await control.update(self._update_set, pod)
        return False

    async def _settle_condemned(self, index: int) -> bool:
        await self._control.settle_claims(self._update_set, self._condemned[index])
        return False

    async def _process_condemned(self, index: int) -> bool:
        pod: Object = self._condemned[index]
        if is_deleted(pod):
            return self._monotonic
        healthy = identity.is_running_and_ready(pod) and is_available(pod, self._min_ready_s, self._now_s)
        if self._monotonic and not healthy and pod is not self._first_unavailable:
            return True  # Something below it is not well: it must not lose its peers now.
        await self._control.delete(self._set, pod)
        return True

    async def _roll(self) -> None:
        """Replaces Pods of other revisions from the highest ordinal down to the partition."""
        rolling = self._strategy.get("rollingUpdate") or {}
        last = rolling.get("partition") or 0
        if rolling.get("maxUnavailable") is not None:
            await self._roll_several(rolling["maxUnavailable"], last)
            return
        for pod in reversed(self._replicas[last:]):
            if identity.revision_of(pod) != self._update_name and not is_deleted(pod):
                await self._replace(pod)
                return
            if identity.is_unavailable(pod, self._min_ready_s, self._now_s):
                return

    async def _roll_several(self, max_unavailable: int | str, last: int) -> None:
        allowed = max(scaled_value(max_unavailable, len(self._replicas), round_up=False), 1)
        allowed -= sum(identity.is_unavailable(pod, self._min_ready_s, self._now_s) for pod in self._replicas)
        outdated = [
            pod
            for pod in reversed(self._replicas[last:])
            if identity.revision_of(pod) != self._update_name and not is_deleted(pod)
        ]
        for pod in outdated[: max(allowed, 0)]:
            await self._replace(pod)

    async def _replace(self, pod: Object) -> None:
        await self._control.delete(self._set, pod)
        left = self.status.pop("currentReplicas", 0) - 1
        if left:
            self.status["currentReplicas"] = left
