"""Jobs: Pods until enough of them have succeeded, or too many have failed.

Every Pod carries a finalizer until it is counted in the status, so that none is lost or counted twice: first its
uid is noted as uncounted, then the finalizer goes, then the number grows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from clusters.emulated.client.controller import ComponentContext, Controller
from clusters.emulated.client.errors import ApiFailure, NotFound
from clusters.emulated.client.expectations import ControllerExpectations
from clusters.emulated.client.indexer import key_of
from clusters.emulated.client.resources import JOBS, PODS
from clusters.emulated.client.workqueue import WorkQueue
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers import job_failure as failure
from clusters.emulated.controllers import job_indexes as indexes
from clusters.emulated.controllers.job_failure import BackOff
from clusters.emulated.controllers.job_round import (
    COMPLETE,
    FINALIZER,
    SUCCESS_CRITERIA_MET,
    Round,
    ensure_condition,
    has_limit_per_index,
    is_finished,
    is_indexed,
    is_suspended,
    is_tracked,
    new_condition,
)
from clusters.emulated.controllers.own_writes import OwnWrites
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
from clusters.emulated.controllers.pod_state import deletion_order, is_deleted, is_ready
from clusters.kube import selectors

Object = dict[str, Any]
Objects = list[Object]

CONTROLLER_NAME: Final = "kubernetes.io/job-controller"
_BATCH_S: Final = 1.0
_RETRY_FIRST_S: Final = 1.0
_RETRY_MAX_S: Final = 60.0
_PODS_PER_ROUND_MAX: Final = 500
_ORPHAN: Final = "orphan "
_ORPHANS_OF: Final = "orphans-of "
_RELEASE: Final = {"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}}


class JobController(Controller):
    name = "job-controller"
    workers = 5

    def __init__(self, context: ComponentContext) -> None:
        super().__init__(context)
        unlimited = 10**9
        self.queue = WorkQueue(
            context.clock, context.randomness, _RETRY_FIRST_S, _RETRY_MAX_S, qps=unlimited, burst=unlimited
        )

    def setup(self) -> None:
        self.jobs = self.informer(JOBS)
        self.pods = self.informer(PODS)
        self.pod_control = PodControl(self.api, self.recorder)
        self.expectations = ControllerExpectations(self.clock)
        self.writes = OwnWrites()
        #: Per Job the uids of Pods whose finalizer was removed and which the cache still shows with it.
        self._released: dict[str, set[str]] = {}
        self._back_offs: dict[str, BackOff] = {}
        #: Jobs that we ended and that the cache shows unfinished.
        self._ended: set[str] = set()
        index_orphans(self.pods.store)
        self.jobs.add_handler(self.enqueue, self._job_changed, self._job_deleted)
        self.pods.add_handler(self._pod_added, self._pod_changed, lambda pod, _: self._pod_deleted(pod, True))

    # What happened

    def _soon(self, job: Object) -> None:
        """Many Pods change at about the same time: one look a second is enough."""
        self.enqueue_after(job, _BATCH_S)

    def _job_changed(self, old: Object, new: Object) -> None:
        if is_finished(new):
            self._enqueue_orphans_of(new)
            return
        if old["metadata"].get("generation") == new["metadata"].get("generation"):
            self._soon(new)
        else:
            self.enqueue(new)
        deadline_s = new["spec"].get("activeDeadlineSeconds")
        if deadline_s is not None and deadline_s != old["spec"].get("activeDeadlineSeconds"):
            left_s = Round({**new, "status": new.get("status") or {}}, [], set(), self.clock.now_s()).until_deadline_s
            if left_s is not None:
                self.enqueue_after(new, left_s)

    def _job_deleted(self, job: Object, _: bool) -> None:
        self.enqueue(job)
        self._ended.discard(job["metadata"]["uid"])
        self._back_offs.pop(key_of(job), None)
        self._enqueue_orphans_of(job)

    def _enqueue_orphans_of(self, job: Object) -> None:
        selector = selectors.from_label_selector(job["spec"].get("selector"))
        self.enqueue(f"{_ORPHANS_OF}{job['metadata']['namespace']} {selector}")

    def _enqueue_orphan(self, pod: Object) -> None:
        self.enqueue(_ORPHAN + key_of(pod))

    def _owner(self, pod: Object) -> Object | None:
        reference = controller_of(pod)
        if reference is None or reference["kind"] != "Job":
            return None
        found = self.jobs.store.get(f"{pod['metadata']['namespace']}/{reference['name']}")
        return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None

    def _enqueue_matching(self, pod: Object) -> None:
        labels = pod["metadata"].get("labels") or {}
        for job in self.jobs.store.list(pod["metadata"]["namespace"]) if labels else ():
            if selectors.from_label_selector(job["spec"].get("selector")).matches(labels):
                self._soon(job)

    def _release_observed(self, job: Object, pod: Object) -> None:
        self._released.get(key_of(job), set()).discard(pod["metadata"]["uid"])

    def _pod_added(self, pod: Object) -> None:
        if is_deleted(pod):
            self._pod_deleted(pod, False)
        elif controller_of(pod) is not None:
            job = self._owner(pod)
            if job is not None:
                self.expectations.creation_observed(key_of(job))
                self._soon(job)
        else:
            if is_tracked(pod):
                self._enqueue_orphan(pod)
            self._enqueue_matching(pod)

    def _pod_changed(self, old: Object, new: Object) -> None:
        if old["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]:
            return
        if is_deleted(new):
            self._pod_deleted(new, False)
            return
        handed_over = controller_of(old) != controller_of(new)
        owners = [self._owner(old) if handed_over else None, self._owner(new)]
        for job in owners:
            if job is not None:
                if not is_tracked(new):
                    self._release_observed(job, new)
                self._soon(job)
        if controller_of(new) is None:
            if is_tracked(new):
                self._enqueue_orphan(new)
            if handed_over or old["metadata"].get("labels") != new["metadata"].get("labels"):
                self._enqueue_matching(new)

    def _pod_deleted(self, pod: Object, final: bool) -> None:
        job = self._owner(pod)
        if job is None or is_finished(job):
            reference = controller_of(pod)
            if is_tracked(pod) and (reference is None or reference["kind"] == "Job"):
                self._enqueue_orphan(pod)
            return
        self.expectations.deletion_observed(key_of(job))
        if final or not is_tracked(pod):
            self._release_observed(job, pod)
        self._soon(job)

    # Pods that no Job counts any more

    async def _free_orphans(self, key: str) -> None:
        if key.startswith(_ORPHAN):
            pod = self.pods.store.get(key.removeprefix(_ORPHAN))
            pods = [pod] if pod is not None else []
        else:
            namespace, _, selector = key.removeprefix(_ORPHANS_OF).partition(" ")
            matches = selectors.parse(selector).matches
            pods = [each for each in self.pods.store.list(namespace) if matches(each["metadata"].get("labels") or {})]
        for pod in pods:
            reference = controller_of(pod)
            if reference is not None:
                job = self._owner(pod)
                ours = reference["kind"] == "Job" and reference["apiVersion"] == JOBS.api_version
                if not ours or (job is not None and (_is_managed_elsewhere(job) or not is_finished(job))):
                    continue
            if is_tracked(pod):
                await self._release(pod)

    async def _release(self, pod: Object) -> None:
        try:
            await self.api.patch(
                PODS, pod["metadata"]["name"], _RELEASE, pod["metadata"]["namespace"], type="strategic"
            )
        except NotFound:
            return  # It is gone, finalizer and all.

    # What to do about it

    async def reconcile(self, key: str) -> None:
        if key.startswith((_ORPHAN, _ORPHANS_OF)):
            await self._free_orphans(key)
            return
        self.writes.check(key)
        cached = self.jobs.store.get(key)
        if cached is None:
            self.expectations.forget(key)
            self._released.pop(key, None)
            self._back_offs.pop(key, None)
            return
        if _is_managed_elsewhere(cached):
            return
        uid = cached["metadata"]["uid"]
        if is_finished(cached):
            self._back_offs.pop(key, None)
            self._ended.discard(uid)
            return
        if uid not in self._ended:
            await self._sync(key, cached)

    async def _sync(self, key: str, cached: Object) -> None:
        status = dict(cached.get("status") or {})
        status.setdefault("uncountedTerminatedPods", {})
        job = {**cached, "status": status}
        in_sync = self.expectations.satisfied(key)
        now_s = self.clock.now_s()
        round_ = Round(job, await self._pods_of(job), set(self._released.get(key, ())), now_s)
        round_.count(self._back_offs.get(key, BackOff()))
        if not status.get("startTime") and not is_suspended(job):
            status["startTime"] = rfc3339(now_s)
        round_.judge()
        if round_.finished is None and round_.until_deadline_s is not None:
            self.enqueue_after(key, round_.until_deadline_s)
        active = len(round_.active)
        resumed_or_suspended = False
        problem: ApiFailure | None = None
        if round_.finished is not None:
            deleted, problem = await self._delete_active(round_)
            if deleted != active or not in_sync:
                round_.finished = None
            active -= deleted
        else:
            managed = in_sync and not is_deleted(job)
            if managed:
                active, problem = await self._manage(key, round_)
            if round_.is_complete(active):
                text = "Reached expected number of succeeded pods"
                round_.finished = new_condition(SUCCESS_CRITERIA_MET, "True", "CompletionsReached", text, now_s)
            elif managed:
                resumed_or_suspended = self._note_suspension(round_)
        changed = resumed_or_suspended or any(
            status.get(name) != value for name, value in (("ready", round_.ready), ("terminating", round_.terminating))
        )
        changed |= active != (status.get("active") or 0)
        status.update(active=active, ready=round_.ready, terminating=round_.terminating)
        await self._track(key, round_, changed)
        if problem is not None:
            raise problem

    async def _pods_of(self, job: Object) -> Objects:
        metadata = job["metadata"]
        matches = selectors.from_label_selector(job["spec"].get("selector")).matches
        pods = [*self.pods.store.owned_by(metadata["uid"]), *orphans_in(self.pods.store, metadata["namespace"])]
        claimed = await Claims(self.api, job, JOBS, PODS, matches, FINALIZER).claim(pods)
        return [_with_finalizer(pod) if controller_of(pod) is None else pod for pod in claimed]

    def _note_suspension(self, round_: Round) -> bool:
        """Whether the Job was suspended or resumed just now."""
        status, now_s = round_.status, round_.now_s
        if is_suspended(round_.job):
            condition = new_condition("Suspended", "True", "JobSuspended", "Job suspended", now_s)
            if not ensure_condition(status, condition):
                return False
            self.recorder.event(round_.job, "Normal", "Suspended", "Job suspended")
            status.pop("startTime", None)
            return True
        condition = new_condition("Suspended", "False", "JobResumed", "Job resumed", now_s)
        if not ensure_condition(status, condition):
            return False
        self.recorder.event(round_.job, "Normal", "Resumed", "Job resumed")
        status["startTime"] = rfc3339(now_s)
        return True

    # Pods

    async def _manage(self, key: str, round_: Round) -> tuple[int, ApiFailure | None]:
        """Creates or deletes Pods; how many are active then."""
        active, job = len(round_.active), round_.job
        if is_suspended(job):
            return await self._delete_some(key, round_, self._surplus(round_, active))
        wanted = round_.wanted_active
        surplus = self._surplus(round_, max(active - wanted, 0))[:_PODS_PER_ROUND_MAX]
        if surplus:
            return await self._delete_some(key, round_, surplus)
        leaving = round_.terminating if failure.only_replaces_failed(job) else 0
        missing = wanted - leaving - active
        if missing <= 0:
            return active, None
        wait_s = 0.0 if has_limit_per_index(job) else round_.back_off.remaining_s(round_.now_s)
        numbers: Sequence[int] = [indexes.UNKNOWN] * min(missing, _PODS_PER_ROUND_MAX)
        if wait_s == 0 and is_indexed(job):
            numbers = round_.free_indexes(len(numbers))
            if has_limit_per_index(job):
                numbers, wait_s = self._indexes_now(round_, numbers)
        if wait_s > 0:
            self.enqueue_after(key, max(wait_s, _BATCH_S))
            return active, None
        return await self._create(key, round_, numbers)

    def _indexes_now(self, round_: Round, wanted: Sequence[int]) -> tuple[list[int], float]:
        """Those whose own back-off is over; if there is none, how long until there is one."""
        waits_s = {}
        for index in wanted:
            last = round_.delayed.get(index)
            waits_s[index] = 0.0
            if last is not None:
                count = indexes.all_failures_of_index(last) + 1
                waits_s[index] = failure.remaining_s(count, failure.finished_s(last), round_.now_s)
        now = [index for index, wait_s in waits_s.items() if wait_s == 0]
        return now, (0.0 if now or not waits_s else min(waits_s.values()))

    def _surplus(self, round_: Round, least: int) -> Objects:
        """At least so many active Pods that have to go; duplicates of an index always do."""
        surplus: Objects = []
        rest = round_.active
        if is_indexed(round_.job):
            surplus, rest = indexes.duplicates(round_.active, round_.completions or 0)
        if len(surplus) < least:
            surplus = surplus + deletion_order(rest)[: least - len(surplus)]
        return surplus

    async def _create(self, key: str, round_: Round, numbers: Sequence[int]) -> tuple[int, ApiFailure | None]:
        job, count = round_.job, len(numbers)
        self.expectations.expect_creations(key, count)

        async def create(at: int) -> None:
            try:
                await self.pod_control.create(new_pod(round_, numbers[at]), job)
            except ApiFailure as refused:
                if not is_namespace_terminating(refused):
                    raise

        created, problem = await slow_start_batches(count, create)
        if created < count:
            self.expectations.lower(key, count - created, 0)
        return len(round_.active) + created, problem

    async def _delete_some(self, key: str, round_: Round, pods: Objects) -> tuple[int, ApiFailure | None]:
        """Deletes Pods that nobody will count: without their finalizer they go for good."""
        self.expectations.expect_deletions(key, len(pods))

        async def delete(pod: Object) -> ApiFailure | None:
            try:
                if is_tracked(pod):
                    await self.api.patch(
                        PODS, pod["metadata"]["name"], _RELEASE, pod["metadata"]["namespace"], type="strategic"
                    )
                await self.pod_control.delete(pod["metadata"]["name"], round_.job)
            except ApiFailure as refused:
                self.expectations.deletion_observed(key)
                return None if isinstance(refused, NotFound) else refused
            return None

        outcomes = await asyncio.gather(*map(delete, pods))
        problems = [each for each in outcomes if each is not None]
        deleted = len(pods) - len(problems)
        round_.terminating += deleted
        round_.ready -= sum(is_ready(pod) for pod, outcome in zip(pods, outcomes, strict=True) if outcome is None)
        return len(round_.active) - deleted, problems[0] if problems else None

    async def _delete_active(self, round_: Round) -> tuple[int, ApiFailure | None]:
        """Ends what still runs when the Job is over; these Pods are counted later."""

        async def delete(pod: Object) -> ApiFailure | None:
            try:
                await self.pod_control.delete(pod["metadata"]["name"], round_.job)
            except NotFound:
                return None
            except ApiFailure as refused:
                return refused
            return None

        outcomes = await asyncio.gather(*map(delete, round_.active))
        problems = [each for each in outcomes if each is not None]
        deleted = len(outcomes) - len(problems)
        round_.terminating += deleted
        round_.ready -= sum(map(is_ready, round_.active))
        return deleted, problems[0] if problems else None

    # Counting

    async def _track(self, key: str, round_: Round, changed: bool) -> None:
        tracked = {
            pod["metadata"]["uid"]
            for pod in round_.pods
            if is_tracked(pod) and pod["metadata"]["uid"] not in round_.released
        }
        changed |= round_.settle_uncounted(tracked)
        to_release, noted, more = round_.note_finished(tracked)
        changed |= noted
        changed |= round_.announce()
        if changed:
            await self._write_status(key, round_)
            self._back_offs[key] = round_.back_off
        problem = await self._release_all(key, to_release, tracked)
        counted = round_.settle_uncounted(tracked)
        if problem is not None:
            if counted:
                await self._write_status(key, round_)
            raise problem
        ended = not more and round_.enact()
        if counted or ended:
            await self._write_status(key, round_)
        if ended:
            self._report_end(round_)
            self._ended.add(round_.job["metadata"]["uid"])

    async def _release_all(self, key: str, pods: Objects, tracked: set[str]) -> ApiFailure | None:
        released = self._released.setdefault(key, set())
        released.update(pod["metadata"]["uid"] for pod in pods)

        async def release(pod: Object) -> ApiFailure | None:
            uid = pod["metadata"]["uid"]
            try:
                await self.api.patch(
                    PODS, pod["metadata"]["name"], _RELEASE, pod["metadata"]["namespace"], type="strategic"
                )
            except ApiFailure as refused:
                released.discard(uid)
                if not isinstance(refused, NotFound):
                    return refused
            tracked.discard(uid)
            return None

        outcomes = await asyncio.gather(*map(release, pods))
        return next((each for each in outcomes if each is not None), None)

    async def _write_status(self, key: str, round_: Round) -> None:
        stored = await self.api.update(JOBS, round_.job, subresource="status")
        self.writes.wrote(key, self.jobs, stored)
        status = dict(stored.get("status") or {})
        status.setdefault("uncountedTerminatedPods", {})
        round_.job = {**stored, "status": status}

    def _report_end(self, round_: Round) -> None:
        assert round_.finished is not None, "it just ended"
        job, finished = round_.job, round_.finished
        if finished["type"] != COMPLETE:
            self.recorder.event(job, "Warning", finished["reason"], finished["message"])
            return
        if round_.completions is not None and (round_.status.get("succeeded") or 0) > round_.completions:
            text = "Too many succeeded pods running after completion count reached"
            self.recorder.event(job, "Warning", "TooManySucceededPods", text)
        self.recorder.event(job, "Normal", "Completed", "Job completed")


def _is_managed_elsewhere(job: Object) -> bool:
    return job["spec"].get("managedBy") not in (None, CONTROLLER_NAME)


def _with_finalizer(pod: Object) -> Object:
    """As it is after the adoption that the cache does not show yet."""
    if is_tracked(pod):
        return pod
    metadata = pod["metadata"]
    return {**pod, "metadata": {**metadata, "finalizers": [*(metadata.get("finalizers") or ()), FINALIZER]}}


def new_pod(round_: Round, index: int) -> Object:
    """A Pod of the Job; with an index, that is in its name, labels, annotations and environment."""
    job = round_.job
    template = job["spec"]["template"]
    metadata = dict(template.get("metadata") or {})
    finalizers = metadata.get("finalizers") or []
    metadata["finalizers"] = finalizers if FINALIZER in finalizers else [*finalizers, FINALIZER]
    spec, prefix = template["spec"], ""
    if index != indexes.UNKNOWN:
        mark = {indexes.COMPLETION_INDEX: str(index)}
        annotations = {**(metadata.get("annotations") or {}), **mark}
        if has_limit_per_index(job):
            annotations.update(_failure_counts(job, round_.delayed.get(index)))
        metadata["annotations"] = annotations
        metadata["labels"] = {**(metadata.get("labels") or {}), **mark}
        name = job["metadata"]["name"]
        spec = {**indexes.with_environment(spec), "hostname": f"{name}-{index}"}
        prefix = indexes.generate_name(name, index)
    reference = controller_reference(job, JOBS)
    return pod_from_template({"metadata": metadata, "spec": spec}, job, reference, prefix)


def _failure_counts(job: Object, replaced: Object | None) -> dict[str, str]:
    """How often this index has failed, handed on from the Pod that is replaced."""
    if replaced is None:
        return {indexes.FAILURE_COUNT: "0"}
    counted, ignored = indexes.failures_of_index(replaced), indexes.ignored_failures_of_index(replaced)
    if failure.failure_verdict(job, replaced).counts:
        counted += 1
    else:
        ignored += 1
    counts = {indexes.FAILURE_COUNT: str(counted)}
    return counts | {indexes.IGNORED_FAILURE_COUNT: str(ignored)} if ignored else counts
