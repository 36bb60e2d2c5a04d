"""One look at a Job: its Pods, what they count for, and whether the Job is over. All pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers import job_failure as failure
from clusters.emulated.controllers.job_failure import BackOff
from clusters.emulated.controllers.job_indexes import (
    UNKNOWN,
    Indexes,
    all_failures_of_index,
    failures_of_index,
    index_of,
    indexes_of,
)
from clusters.emulated.controllers.pod_state import is_active, is_ready, is_terminating, phase, seconds_of

Object = dict[str, Any]
Objects = list[Object]

FINALIZER: Final = "batch.kubernetes.io/job-tracking"
UNCOUNTED_MAX: Final = 500
COMPLETE, FAILED = "Complete", "Failed"
FAILURE_TARGET, SUCCESS_CRITERIA_MET = "FailureTarget", "SuccessCriteriaMet"


def is_tracked(pod: Object) -> bool:
    return FINALIZER in (pod["metadata"].get("finalizers") or ())


def is_indexed(job: Object) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def is_suspended(job: Object) -> bool:
    return bool(job["spec"].get("suspend"))


def has_limit_per_index(job: Object) -> bool:
    return job["spec"].get("backoffLimitPerIndex") is not None


def finished_condition(job: Object) -> Object | None:
    """Complete or Failed, if it is either."""
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["type"] in (COMPLETE, FAILED) and each["status"] == "True":
            found: Object = each
            return found
    return None


def is_finished(job: Object) -> bool:
    return finished_condition(job) is not None


def condition_of(status: Object, kind: str) -> Object | None:
    return next((each for each in status.get("conditions") or () if each["type"] == kind), None)


def new_condition(kind: str, status: str, reason: str, message: str, now_s: float) -> Object:
    now = rfc3339(now_s)
    return {
        "type": kind,
        "status": status,
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def ensure_condition(status: Object, condition: Object) -> bool:
    """Sets it in place if it differs; one that was never True is not added as False. Whether anything changed."""
    conditions: Objects = list(status.get("conditions") or ())
    told = ("status", "reason", "message")
    for at, each in enumerate(conditions):
        if each["type"] == condition["type"]:
            if all(each.get(name, "") == condition[name] for name in told):
                return False
            conditions[at] = condition
            break
    else:
        if condition["status"] == "False":
            return False
        conditions.append(condition)
    status["conditions"] = conditions
    return True


@dataclass(slots=True)
class Round:
    """`job` and its status are ours to change; `finished` is the condition that ends the Job, once it is time."""

    job: Object
    pods: Objects
    #: Pods whose finalizer was removed and which the cache still shows with it.
    released: set[str]
    now_s: float
    active: Objects = field(init=False)
    ready: int = field(init=False)
    terminating: int = field(init=False)
    succeeded: int = 0
    failed: int = 0
    back_off: BackOff = field(default_factory=BackOff)
    finished: Object | None = None
    succeeded_before: Indexes = field(default_factory=Indexes)
    succeeded_indexes: Indexes = field(default_factory=Indexes)
    failed_indexes: Indexes | None = None
    #: With a limit per index: the last failed Pod of each index that will be tried again.
    delayed: dict[int, Object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.active = [pod for pod in self.pods if is_active(pod)]
        self.ready = sum(map(is_ready, self.active))
        self.terminating = sum(map(is_terminating, self.pods))

    @property
    def status(self) -> Object:
        found: Object = self.job["status"]
        return found

    @property
    def completions(self) -> int | None:
        found: int | None = self.job["spec"].get("completions")
        return found

    def uncounted(self, kind: str) -> list[str]:
        return self.status["uncountedTerminatedPods"].get(kind) or []

    # Counting

    def count(self, known: BackOff) -> None:
        succeeded = self._countable("succeeded", lambda pod: phase(pod) == "Succeeded")
        failed = self._countable("failed", lambda pod: failure.is_failed(pod, self.job))
        counted = [pod for pod in failed if failure.failure_verdict(self.job, pod).counts]
        self.succeeded = self._total("succeeded", succeeded)
        self.failed = self._total("failed", counted)
        self.back_off = known.after(succeeded, failed)

    def _total(self, kind: str, new: Objects) -> int:
        return (self.status.get(kind) or 0) + len(new) + len(self.uncounted(kind))

    def _countable(self, uncounted: str, wanted: Any) -> Objects:
        """Tracked Pods that are not counted yet; of Indexed Jobs only those with an index within the completions."""
        counted = set(self.uncounted(uncounted)) if uncounted else set()
        return [
            pod
            for pod in self.pods
            if is_tracked(pod)
            and pod["metadata"]["uid"] not in counted
            and pod["metadata"]["uid"] not in self.released
            and (not is_indexed(self.job) or self.in_range(pod))
            and wanted(pod)
        ]

    def in_range(self, pod: Object) -> bool:
        index = index_of(pod)
        return index != UNKNOWN and index < (self.completions or 0)

    # Is it over?

    def judge(self) -> None:
        """Sets `finished` if the Job has failed or succeeded already."""
        met = condition_of(self.status, SUCCESS_CRITERIA_MET)
        target = condition_of(self.status, FAILURE_TARGET)
        if met is not None and met["status"] == "True":
            self.finished = met
        elif target is not None and target["status"] == "True":
            self.finished = new_condition(FAILED, "True", target["reason"], target["message"], self.now_s)
        else:
            self.finished = self._failure()
        if is_indexed(self.job):
            self._judge_indexes()

    def _failure(self) -> Object | None:
        for pod in self.pods if self.job["spec"].get("podFailurePolicy") else ():
            if failure.is_failed(pod, self.job):
                message = failure.failure_verdict(self.job, pod).message
                if message:
                    return self._failing("PodFailurePolicy", message)
        if self.failed > self.job["spec"].get("backoffLimit", 6) or failure.past_restart_limit(self.job, self.pods):
            return self._failing("BackoffLimitExceeded", "Job has reached the specified backoff limit")
        if self.until_deadline_s is not None and self.until_deadline_s <= 0:
            return self._failing("DeadlineExceeded", "Job was active longer than specified deadline")
        return None

    def _failing(self, reason: str, message: str) -> Object:
        return new_condition(FAILURE_TARGET, "True", reason, message, self.now_s)

    @property
    def until_deadline_s(self) -> float | None:
        deadline_s = self.job["spec"].get("activeDeadlineSeconds")
        started = self.status.get("startTime")
        if deadline_s is None or not started or is_suspended(self.job):
            return None
        return float(deadline_s) - (self.now_s - seconds_of(started))

    def _judge_indexes(self) -> None:
        completions = self.completions or 0
        self.succeeded_before = Indexes.parse(self.status.get("completedIndexes", ""), completions)
        tracked = [pod for pod in self.pods if is_tracked(pod) and self.in_range(pod)]
        self.succeeded_indexes = self.succeeded_before.with_all(
            index_of(pod) for pod in tracked if phase(pod) == "Succeeded"
        )
        self.succeeded = self.succeeded_indexes.total
        if has_limit_per_index(self.job):
            before = Indexes.parse(self.status.get("failedIndexes") or "", completions)
            self.failed_indexes = before.with_all(index_of(pod) for pod in tracked if self._index_failed(pod))
            if self.finished is None:
                self.finished = self._failure_of_indexes(self.failed_indexes)
            self._find_delayed(self.failed_indexes)
        if self.finished is None:
            message = failure.success_policy_match(self.job, self.succeeded_indexes)
            if message:
                self.finished = new_condition(SUCCESS_CRITERIA_MET, "True", "SuccessPolicy", message, self.now_s)

    def _index_failed(self, pod: Object) -> bool:
        if not failure.is_failed(pod, self.job):
            return False
        verdict = failure.failure_verdict(self.job, pod)
        if verdict.action == "FailIndex":
            return True
        return verdict.counts and failures_of_index(pod) >= self.job["spec"]["backoffLimitPerIndex"]

    def _failure_of_indexes(self, failed: Indexes) -> Object | None:
        most = self.job["spec"].get("maxFailedIndexes")
        if most is not None and failed.total > most:
            text = "Job has exceeded the specified maximal number of failed indexes"
            return self._failing("MaxFailedIndexesExceeded", text)
        if failed.total and failed.total + self.succeeded_indexes.total >= (self.completions or 0):
            return self._failing("FailedIndexes", "Job has failed indexes")
        return None

    def _find_delayed(self, failed: Indexes) -> None:
        """These keep their finalizer: they remember how often their index failed."""
        active = indexes_of(self.active)
        for pod in self._countable("", lambda each: failure.is_failed(each, self.job)):
            index = index_of(pod)
            if index in self.succeeded_indexes or index in failed or index in active:
                continue
            known = self.delayed.get(index)
            if known is None or (
                all_failures_of_index(known) <= all_failures_of_index(pod)
                and failure.finished_s(pod) >= failure.finished_s(known)
            ):
                self.delayed[index] = pod

    # Sizes

    @property
    def wanted_active(self) -> int:
        parallelism: int = self.job["spec"].get("parallelism", 1)
        if self.completions is None:
            return len(self.active) if self.succeeded else parallelism
        return max(min(self.completions - self.succeeded, parallelism), 0)

    def is_complete(self, active: int) -> bool:
        if active:
            return False
        return self.succeeded > 0 if self.completions is None else self.succeeded >= self.completions

    def free_indexes(self, count: int) -> list[int]:
        taken = self.succeeded_indexes.with_all(indexes_of(self.active))
        if failure.only_replaces_failed(self.job):
            taken = taken.with_all(indexes_of(pod for pod in self.pods if is_terminating(pod)))
        if self.failed_indexes is not None:
            taken = taken.merged(self.failed_indexes)
        return taken.gaps(count, self.completions or 0)

    # Tracking

    def may_release(self, pod: Object) -> bool:
        """Whether the Pod may lose its finalizer, and with it be deleted for good."""
        if "deletionTimestamp" in self.job["metadata"] or self.finished is not None or phase(pod) == "Succeeded":
            return True
        if not failure.is_failed(pod, self.job):
            return False
        kept = self.delayed.get(index_of(pod)) if has_limit_per_index(self.job) else None
        return kept is None or kept["metadata"]["uid"] != pod["metadata"]["uid"]

    def settle_uncounted(self, tracked: set[str]) -> bool:
        """Counts those that lost their finalizer; whether the status changed."""
        changed = False
        for kind in ("succeeded", "failed"):
            before = self.uncounted(kind)
            left = [uid for uid in before if uid in tracked]
            if len(left) != len(before):
                changed = True
                self.status[kind] = (self.status.get(kind) or 0) + len(before) - len(left)
                self._set_uncounted(kind, left)
        return changed

    def _set_uncounted(self, kind: str, uids: list[str]) -> None:
        rest = {name: known for name, known in self.status["uncountedTerminatedPods"].items() if name != kind}
        self.status["uncountedTerminatedPods"] = {**rest, kind: uids} if uids else rest

    def note_finished(self, tracked: set[str]) -> tuple[Objects, bool, bool]:
        """Notes Pods that are over in the status. Those to release, whether it changed, whether there are more."""
        to_release: Objects = []
        indexes: list[int] = []
        changed = full = False
        was_uncounted = {kind: set(self.uncounted(kind)) for kind in ("succeeded", "failed")}
        pods = sorted(self.pods, key=index_of) if is_indexed(self.job) else self.pods
        for pod in pods:
            uid = pod["metadata"]["uid"]
            if uid not in tracked or not self.may_release(pod):
                continue
            to_release.append(pod)
            kind = self._counts_as(pod, was_uncounted)
            if kind == "index":
                indexes.append(index_of(pod))
                changed = True
            elif kind:
                self._set_uncounted(kind, [*self.uncounted(kind), uid])
                changed = True
            if len(indexes) + len(self.uncounted("succeeded")) + len(self.uncounted("failed")) >= UNCOUNTED_MAX:
                full = True
                break
        if is_indexed(self.job):
            changed |= self._note_indexes(indexes)
        return to_release, changed, full

    def _counts_as(self, pod: Object, uncounted: dict[str, set[str]]) -> str:
        uid = pod["metadata"]["uid"]
        if phase(pod) == "Succeeded" and uid not in uncounted["failed"]:
            if is_indexed(self.job):
                return "index" if self.in_range(pod) and index_of(pod) not in self.succeeded_before else ""
            return "" if uid in uncounted["succeeded"] else "succeeded"
        ended = self.finished is not None and self.finished["type"] != SUCCESS_CRITERIA_MET
        if not failure.is_failed(pod, self.job) and not ended:
            return ""
        if uid in uncounted["failed"] or (is_indexed(self.job) and not self.in_range(pod)):
            return ""
        return "failed" if failure.failure_verdict(self.job, pod).counts else ""

    def _note_indexes(self, indexes: list[int]) -> bool:
        self.succeeded_indexes = self.succeeded_indexes.with_all(indexes)
        status, text = self.status, str(self.succeeded_indexes)
        changed = bool(text != status.get("completedIndexes", ""))
        status["succeeded"] = self.succeeded_indexes.total
        status["completedIndexes"] = text
        failed = str(self.failed_indexes) if self.failed_indexes is not None else None
        if failed != status.get("failedIndexes"):
            status["failedIndexes"] = failed
            changed = True
        return changed

    def announce(self) -> bool:
        """Writes down that the Job will fail or has met its criteria; `finished` then is Failed or Complete."""
        ending = self.finished
        if ending is None or ending["type"] not in (FAILURE_TARGET, SUCCESS_CRITERIA_MET):
            return False
        conditions = self.status.get("conditions") or []
        new = ending["type"] == FAILURE_TARGET or condition_of(self.status, SUCCESS_CRITERIA_MET) is None
        if new:
            self.status["conditions"] = [*conditions, ending]
        kind = FAILED if ending["type"] == FAILURE_TARGET else COMPLETE
        self.finished = new_condition(kind, "True", ending["reason"], ending["message"], self.now_s)
        return new

    def enact(self) -> bool:
        """Ends the Job, unless Pods are still to be counted or on their way out. Whether it did."""
        if self.finished is None or self.uncounted("succeeded") or self.uncounted("failed") or self.terminating > 0:
            return False
        ensure_condition(self.status, self.finished)
        if self.finished["type"] == COMPLETE:
            self.status["completionTime"] = self.finished["lastTransitionTime"]
        return True
