"""Rows of Jobs and CronJobs."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.tables.durations import human_duration, since
from clusters.emulated.apiserver.tables.texts import NONE, UNSET, age, containers, is_true, name_of, selector
from clusters.kube.timestamps import unix_s

Object = dict[str, Any]
Cells = list[Any]


def job(obj: Object, now_s: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        name_of(obj),
        _status(obj, status),
        _completions(spec, status),
        _duration(status, now_s),
        age(obj, now_s),
        *containers((spec.get("template") or {}).get("spec")),
        selector(spec.get("selector")),
    ]


def _completions(spec: Object, status: Object) -> str:
    succeeded = status.get("succeeded", 0)
    if "completions" in spec:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(status: Object, now_s: float) -> str:
    start = status.get("startTime")
    if not start:
        return ""
    end = status.get("completionTime")
    return human_duration((unix_s(end) if end else now_s) - unix_s(start))


def _status(obj: Object, status: Object) -> str:
    conditions = status.get("conditions")
    for type in ("Complete", "Failed"):
        if is_true(conditions, type):
            return type
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for type in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if is_true(conditions, type):
            return type
    return "Running"


def cron_job(obj: Object, now_s: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    job_spec = (spec.get("jobTemplate") or {}).get("spec") or {}
    suspended = spec.get("suspend")
    last = status.get("lastScheduleTime")
    return [
        name_of(obj),
        spec.get("schedule", ""),
        spec.get("timeZone", NONE),
        UNSET if suspended is None else str(suspended),
        len(status.get("active") or ()),
        since(last, now_s) if last else NONE,
        age(obj, now_s),
        *containers((job_spec.get("template") or {}).get("spec")),
        selector(job_spec.get("selector")),
    ]


CELLS = {("batch", "Job"): job, ("batch", "CronJob"): cron_job}
