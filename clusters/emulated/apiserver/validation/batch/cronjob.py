"""CronJob: a Job on a schedule."""

from __future__ import annotations

import re

from clusters.emulated.apiserver.validation.apps.template import drop_disabled, generation_changed, name_warnings
from clusters.emulated.apiserver.validation.batch.jobspec import (
    default_job_template,
    job_spec_errors,
    job_spec_warnings,
)
from clusters.emulated.apiserver.validation.fields import nonnegative_fields
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import cron
from clusters.kube.field import FieldError, invalid, not_supported, required
from clusters.kube.internal import printed

# Eleven characters of the Job's name are the time it was scheduled for.
_NAME_MAX = 52
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch
_TZ_WARNING = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)


class CronJobRules(LifecycleRules):
    group, kind = "batch", "CronJob"
    metadata_on_status = "nothing"
    zero_status = ()
    generation_fields = ("spec",)

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("concurrencyPolicy"):
            spec["concurrencyPolicy"] = "Allow"
        spec.setdefault("suspend", False)
        spec.setdefault("successfulJobsHistoryLimit", 3)
        spec.setdefault("failedJobsHistoryLimit", 1)
        default_job_template(spec.setdefault("jobTemplate", {}))

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        drop_disabled(_job_spec(obj))

    def prepare_update(self, obj: Object, old: Object) -> None:
        drop_disabled(_job_spec(obj), _job_spec(old))
        super().prepare_update(obj, old)

    def validate_create(self, obj: Object) -> list[FieldError]:
        errors = _spec_errors(obj.get("spec") or {}, None)
        name = (obj.get("metadata") or {}).get("name") or ""
        if len(name.encode()) > _NAME_MAX:
            errors.append(invalid("metadata.name", name, f"must be no more than {_NAME_MAX} characters"))
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return _spec_errors(obj.get("spec") or {}, old.get("spec") or {})

    def warnings_create(self, obj: Object) -> list[str]:
        return name_warnings(obj) + job_spec_warnings(_job_spec(obj), "spec.jobTemplate.spec")

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        warnings: list[str] = []
        if generation_changed(obj, old):
            warnings = job_spec_warnings(_job_spec(obj), "spec.jobTemplate.spec", _job_spec(old))
        return warnings + ([_TZ_WARNING] if "TZ" in obj["spec"].get("schedule", "") else [])


def _job_spec(cron_job: Object) -> Object:
    spec: Object = ((cron_job.get("spec") or {}).get("jobTemplate") or {}).get("spec") or {}
    return spec


def _spec_errors(spec: Object, old_spec: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    schedule, zone = spec.get("schedule") or "", spec.get("timeZone")
    if not schedule:
        errors.append(required("spec.schedule"))
    else:
        errors += _schedule_errors(schedule, zone, "TZ" in ((old_spec or {}).get("schedule") or ""))
    errors += nonnegative_fields(spec, "spec", "startingDeadlineSeconds")
    if old_spec is None or old_spec.get("timeZone") != zone:
        errors += _zone_errors(zone)
    policy, policies = spec.get("concurrencyPolicy", ""), ("Allow", "Forbid", "Replace")
    if not policy:
        errors.append(required("spec.concurrencyPolicy"))
    elif policy not in policies:
        errors.append(not_supported("spec.concurrencyPolicy", policy, policies))
    errors += _job_template_errors(spec.get("jobTemplate") or {}, (old_spec or {}).get("jobTemplate") or {})
    return errors + nonnegative_fields(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _schedule_errors(schedule: str, zone: str | None, zone_in_schedule: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    try:
        cron.parse(schedule)
    except cron.ScheduleError as error:
        errors.append(invalid("spec.schedule", schedule, str(error)))
    if "TZ" in schedule:
        if not zone_in_schedule:
            text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            errors.append(invalid("spec.schedule", schedule, text))
        elif zone is not None:
            text = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
            errors.append(invalid("spec.schedule", schedule, text))
    return errors


def _zone_errors(zone: str | None) -> list[FieldError]:
    path = "spec.timeZone"
    if zone is None:
        return []
    if not zone:
        return [invalid(path, zone, "timeZone must be nil or non-empty string")]
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _ZONE_PART(part):
            return [invalid(path, zone, f"unknown time zone {zone}")]
    errors: list[FieldError] = []
    if zone.casefold() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(invalid(path, zone, text))
    if not cron.known_zone(zone):
        errors.append(invalid(path, zone, f"unknown time zone {zone}"))
    return errors


def _job_template_errors(template: Object, old_template: Object) -> list[FieldError]:
    spec, path = template.get("spec") or {}, "spec.jobTemplate.spec"
    errors = job_spec_errors(spec, path, old_template.get("spec"))
    if spec.get("selector") is not None:
        value = printed("meta.LabelSelector", spec["selector"])
        errors.append(invalid(f"{path}.selector", value, "`selector` will be auto-generated"))
    if spec.get("manualSelector"):
        errors.append(not_supported(f"{path}.manualSelector", True, ("nil", "false")))
    return errors
