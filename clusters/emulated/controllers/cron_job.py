"""CronJobs: a Job at every time of a schedule, and only so many finished ones kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import AlreadyExists, ApiFailure, NotFound
from clusters.emulated.client.resources import CRON_JOBS, JOBS
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers.cron_schedule import Times, schedule_of
from clusters.emulated.controllers.job_round import COMPLETE, finished_condition
from clusters.emulated.controllers.ownership import controller_of, controller_reference, is_controlled_by
from clusters.emulated.controllers.pod_control import is_namespace_terminating
from clusters.emulated.controllers.pod_state import is_deleted, seconds_of
from clusters.kube import cron
from clusters.kube.gostring import quote

Object = dict[str, Any]
Objects = list[Object]

SCHEDULED_AT: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
#: A Job is started a moment after its time, never before it.
_DELTA_S: Final = 0.1


@dataclass(slots=True)
class _Round:
    """`cron_job` and its status are ours to change."""

    cron_job: Object
    now: datetime
    changed: bool = False
    again_s: float | None = None
    jobs: Objects = field(default_factory=list)

    @property
    def status(self) -> Object:
        found: Object = self.cron_job["status"]
        return found

    @property
    def active(self) -> Objects:
        return self.status.get("active") or []

    def drop_active(self, uid: str) -> None:
        self.status["active"] = [each for each in self.active if each.get("uid") != uid]

    def is_active(self, uid: str) -> bool:
        return any(each.get("uid") == uid for each in self.active)


class CronJobController(Controller):
    name = "cronjob-controller"
    workers = 5

    def setup(self) -> None:
        self.cron_jobs = self.informer(CRON_JOBS)
        self.jobs = self.informer(JOBS)
        self.cron_jobs.add_handler(self.enqueue, self._changed, lambda gone, _: self.enqueue(gone))
        self.jobs.add_handler(self._enqueue_owner, self._job_changed, lambda gone, _: self._enqueue_owner(gone))

    # What happened

    def _changed(self, old: Object, new: Object) -> None:
        told = ("schedule", "timeZone")
        if all(old["spec"].get(name) == new["spec"].get(name) for name in told):
            self.enqueue(new)
            return
        try:
            schedule = schedule_of(new)
        except cron.ScheduleError:
            text = f"unparseable schedule for cronjob: {new['spec']['schedule']}"
            self.recorder.event(new, "Warning", "UnParseableCronJobSchedule", text)
            return
        # What was missed by the new schedule is not made up for at once.
        now = self._now()
        self.enqueue_after(new, _until(Times(new, schedule).next_after(now), now))

    def _enqueue_owner(self, job: Object) -> None:
        reference = controller_of(job)
        if reference is None or reference["kind"] != "CronJob":
            return
        found = self.cron_jobs.store.get(f"{job['metadata']['namespace']}/{reference['name']}")
        if found is not None and found["metadata"]["uid"] == reference["uid"]:
            self.enqueue(found)

    def _job_changed(self, old: Object, new: Object) -> None:
        if old["metadata"]["resourceVersion"] != new["metadata"]["resourceVersion"]:
            if controller_of(old) != controller_of(new):
                self._enqueue_owner(old)
            self._enqueue_owner(new)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.now_s(), UTC)

    # What to do about it

    async def reconcile(self, key: str) -> None:
        cached = self.cron_jobs.store.get(key)
        if cached is None:
            return
        name = cached["metadata"]["name"]
        jobs = [
            job
            for job in self.jobs.store.list(cached["metadata"]["namespace"])
            if (reference := controller_of(job)) is not None and reference["name"] == name
        ]
        cron_job = {**cached, "status": dict(cached.get("status") or {})}
        round_ = _Round(cron_job, self._now(), jobs=jobs)
        await self._clean_up(round_)
        problem: ApiFailure | None = None
        try:
            await self._sync(round_)
        except ApiFailure as failed:
            problem = failed
        if round_.changed:
            await self.api.update(CRON_JOBS, round_.cron_job, subresource="status")
        if round_.again_s is not None:
            self.enqueue_after(key, round_.again_s)
        elif problem is not None:
            raise problem

    async def _clean_up(self, round_: _Round) -> None:
        """Deletes the oldest finished Jobs above the limits."""
        spec = round_.cron_job["spec"]
        finished = [(job, found["type"] == COMPLETE) for job in round_.jobs if (found := finished_condition(job))]
        for limit, succeeded in (
            (spec.get("successfulJobsHistoryLimit"), True),
            (spec.get("failedJobsHistoryLimit"), False),
        ):
            if limit is None:
                continue
            jobs = sorted((job for job, complete in finished if complete == succeeded), key=_start_order)
            for job in jobs[: max(len(jobs) - limit, 0)]:
                if await self._delete(round_, job):
                    round_.changed = True

    async def _delete(self, round_: _Round, job: Object) -> bool:
        metadata = job["metadata"]
        try:
            await self.api.delete(JOBS, metadata["name"], metadata["namespace"], {"propagationPolicy": "Background"})
        except ApiFailure as refused:
            self._report(round_, "Warning", "FailedDelete", f"Deleted job: {refused.message}")
            return False
        round_.drop_active(metadata["uid"])
        self._report(round_, "Normal", "SuccessfulDelete", f"Deleted job {metadata['name']}")
        return True

    def _report(self, round_: _Round, kind: str, reason: str, message: str) -> None:
        self.recorder.event(round_.cron_job, kind, reason, message)

    async def _sync(self, round_: _Round) -> None:
        for job in round_.jobs:
            await self._look_at(round_, job)
        await self._drop_missing(round_)
        spec = round_.cron_job["spec"]
        if is_deleted(round_.cron_job):
            return
        zone = spec.get("timeZone")
        if zone is not None and not cron.known_zone(zone):
            text = f"invalid timeZone: {quote(zone)}: unknown time zone {zone}"
            self._report(round_, "Warning", "UnknownTimeZone", text)
            return
        if spec.get("suspend"):
            return
        if "TZ" in spec["schedule"]:
            text = "CRON_TZ or TZ used in schedule {} is not officially supported, see {} for more details"
            where = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"
            self._report(round_, "Warning", "UnsupportedSchedule", text.format(quote(spec["schedule"]), where))
        try:
            times = Times(round_.cron_job, schedule_of(round_.cron_job))
        except cron.ScheduleError as wrong:
            text = f"unparseable schedule: {quote(spec['schedule'])} : {wrong}"
            self._report(round_, "Warning", "UnparseableSchedule", text)
            return
        await self._start_if_due(round_, times)

    async def _look_at(self, round_: _Round, job: Object) -> None:
        uid, name = job["metadata"]["uid"], job["metadata"]["name"]
        known, finished = round_.is_active(uid), finished_condition(job)
        if finished is None:
            if known:
                return
            metadata = round_.cron_job["metadata"]
            live = await self.api.get(CRON_JOBS, metadata["name"], metadata["namespace"])
            if any(each.get("uid") == uid for each in (live.get("status") or {}).get("active") or ()):
                round_.cron_job = {**live, "status": dict(live.get("status") or {})}
                return
            text = f"Saw a job that the controller did not create or forgot: {name}"
            self._report(round_, "Warning", "UnexpectedJob", text)
            return
        if known:
            round_.drop_active(uid)
            text = f"Saw completed job: {name}, condition: {finished['type']}"
            self._report(round_, "Normal", "SawCompletedJob", text)
            round_.changed = True
        completed = (job.get("status") or {}).get("completionTime")
        last = round_.status.get("lastSuccessfulTime")
        if finished["type"] == COMPLETE and completed and (not last or seconds_of(completed) > seconds_of(last)):
            round_.status["lastSuccessfulTime"] = completed
            round_.changed = True

    async def _drop_missing(self, round_: _Round) -> None:
        there = {job["metadata"]["uid"] for job in round_.jobs}
        for each in round_.active:
            if each.get("uid") in there:
                continue
            try:
                await self.api.get(JOBS, each["name"], each["namespace"])
            except NotFound:
                self._report(round_, "Normal", "MissingJob", f"Active job went missing: {each['name']}")
                round_.drop_active(each["uid"])
                round_.changed = True

    async def _start_if_due(self, round_: _Round, times: Times) -> None:
        cron_job, spec, now = round_.cron_job, round_.cron_job["spec"], round_.now
        due, missed = times.most_recent(now, within_deadline=True)
        round_.again_s = _until(times.next_after(now), now)
        if due is None:
            return
        if missed > times.MISSED_MAX:
            text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
            self._report(round_, "Warning", "TooManyMissedTimes", text)
        deadline_s = spec.get("startingDeadlineSeconds")
        if deadline_s is not None and due + timedelta(seconds=deadline_s) < now:
            stamp = due.astimezone(UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
            self._report(round_, "Warning", "MissSchedule", f"Missed scheduled time to start a job: {stamp}")
            return
        name = job_name(cron_job, due)
        last = round_.status.get("lastScheduleTime")
        if any(each["name"] == name for each in round_.active) or (last and seconds_of(last) == due.timestamp()):
            return
        policy = spec.get("concurrencyPolicy")
        if policy == "Forbid" and round_.active:
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._report(round_, "Normal", "JobAlreadyActive", text)
            return
        round_.again_s = None  # What fails from here on is tried again soon.
        if policy == "Replace":
            await self._delete_active(round_)
        if await self._create(round_, due):
            round_.again_s = _until(times.next_after(now), now)

    async def _delete_active(self, round_: _Round) -> None:
        for each in list(round_.active):
            try:
                job = await self.api.get(JOBS, each["name"], each["namespace"])
            except ApiFailure as failed:
                self._report(round_, "Warning", "FailedGet", f"Get job: {failed.message}")
                raise
            if not await self._delete(round_, job):
                raise ApiFailure(0, f"could not replace job {each['namespace']}/{each['name']}")
            round_.changed = True

    async def _create(self, round_: _Round, due: datetime) -> bool:
        """Whether the Job of this time is there and noted."""
        cron_job = round_.cron_job
        wanted = job_of(cron_job, due)
        namespace = cron_job["metadata"]["namespace"]
        try:
            job = await self.api.create(JOBS, wanted, namespace)
        except AlreadyExists:
            job = await self.api.get(JOBS, wanted["metadata"]["name"], namespace)
            if not is_controlled_by(job, cron_job) or round_.is_active(job["metadata"]["uid"]):
                return False
        except ApiFailure as refused:
            if not is_namespace_terminating(refused):
                self._report(round_, "Warning", "FailedCreate", f"Error creating job: {refused.message}")
            raise
        else:
            self._report(round_, "Normal", "SuccessfulCreate", f"Created job {job['metadata']['name']}")
        reference = {
            "kind": "Job",
            "namespace": namespace,
            "name": job["metadata"]["name"],
            "uid": job["metadata"]["uid"],
            "apiVersion": JOBS.api_version,
            "resourceVersion": job["metadata"]["resourceVersion"],
        }
        round_.status["active"] = [*round_.active, reference]
        round_.status["lastScheduleTime"] = rfc3339(due.timestamp())
        round_.changed = True
        return True


def _until(moment: datetime, now: datetime) -> float:
    return (moment - now).total_seconds() + _DELTA_S


def _start_order(job: Object) -> tuple[bool, float, str]:
    started = (job.get("status") or {}).get("startTime")
    return not started, seconds_of(started), job["metadata"]["name"]


def job_name(cron_job: Object, due: datetime) -> str:
    """The minute of the schedule makes the name, so that no time is served twice."""
    return f"{cron_job['metadata']['name']}-{int(due.timestamp()) // 60}"


def job_of(cron_job: Object, due: datetime) -> Object:
    template = cron_job["spec"]["jobTemplate"]
    metadata = template.get("metadata") or {}
    zone = cron_job["spec"].get("timeZone")
    local = due.astimezone(ZoneInfo(zone) if zone else UTC)
    stamp = local.isoformat(timespec="seconds").replace("+00:00", "Z")
    wanted: Object = {
        "apiVersion": JOBS.api_version,
        "kind": "Job",
        "metadata": {
            "name": job_name(cron_job, due),
            "annotations": {**(metadata.get("annotations") or {}), SCHEDULED_AT: stamp},
            "ownerReferences": [controller_reference(cron_job, CRON_JOBS)],
        },
        "spec": template["spec"],
    }
    if metadata.get("labels"):
        wanted["metadata"]["labels"] = dict(metadata["labels"])
    return wanted
