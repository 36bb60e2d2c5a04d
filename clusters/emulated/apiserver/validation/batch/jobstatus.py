"""What a Job's status may say, and how it may go on from what it said before."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.batch.failurepolicy import IndexesError, count_indexes, overlap
from clusters.emulated.apiserver.validation.fields import equal, nonnegative_fields
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube.field import OMIT_VALUE, FieldError, duplicate, index, invalid, required
from clusters.kube.internal import printed

_CONDITIONS = "status.conditions"


def condition_true(status: Object, type_name: str, wanted: str = "True") -> bool:
    return any(
        condition.get("type") == type_name and condition.get("status") == wanted
        for condition in status.get("conditions") or ()
    )


def job_status_errors(job: Object, old: Object) -> list[FieldError]:
    """Most rules look only at what this write changes, so that an odd stored status can still be written."""
    status, old_status, spec = job.get("status") or {}, old.get("status") or {}, job.get("spec") or {}
    errors = nonnegative_fields(status, "status", "active", "succeeded", "failed", "ready", "terminating")
    errors += _uncounted_errors(status)
    errors += _finished_errors(status, old_status, spec)
    errors += _index_errors(status, old_status, spec)
    errors += _success_criteria_errors(status, spec)
    return errors + _transition_errors(status, old_status, spec)


def _uncounted_errors(status: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    uncounted = status.get("uncountedTerminatedPods") or {}
    seen: set[str] = set()
    for part in ("succeeded", "failed"):
        for position, uid in enumerate(uncounted.get(part) or ()):
            path = index(f"status.uncountedTerminatedPods.{part}", position)
            if not uid:
                errors.append(invalid(path, uid, "must not be empty"))
            elif uid in seen:
                errors.append(duplicate(path, uid))
            seen.add(uid)
    return errors


def _finished(status: Object) -> bool:
    return condition_true(status, "Complete") or condition_true(status, "Failed")


def _finished_errors(status: Object, old_status: Object, spec: Object) -> list[FieldError]:
    complete, failed = condition_true(status, "Complete"), condition_true(status, "Failed")
    target, met = condition_true(status, "FailureTarget"), condition_true(status, "SuccessCriteriaMet")
    complete_changed = complete != condition_true(old_status, "Complete")
    failed_changed = failed != condition_true(old_status, "Failed")
    finished = complete or failed
    finished_changed = finished != _finished(old_status)

    def changed(name: str) -> bool:
        return not equal(status.get(name), old_status.get(name))

    def conflict(text: str) -> FieldError:
        return invalid(_CONDITIONS, OMIT_VALUE, text)

    errors: list[FieldError] = []
    start, end = status.get("startTime"), status.get("completionTime")
    target_changed = target != condition_true(old_status, "FailureTarget")
    met_changed = met != condition_true(old_status, "SuccessCriteriaMet")
    if complete and failed and (complete_changed or failed_changed):
        errors.append(conflict("cannot set Complete=True and Failed=true conditions"))
    if complete and target and (complete_changed or target_changed):
        errors.append(conflict("cannot set Complete=True and FailureTarget=true conditions"))
    if complete_changed or changed("completionTime"):
        if end is not None and not complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            errors.append(invalid("status.completionTime", end, text))
        if end is None and complete:
            errors.append(required("status.completionTime", "completionTime is required for Complete jobs"))
    if (changed("startTime") or changed("completionTime")) and start and end and end < start:
        errors.append(invalid("status.completionTime", end, "must be equal to or after `startTime`"))
    if failed and not target and (failed_changed or changed("failedIndexes")):
        errors.append(conflict("cannot set Failed=True condition without the FailureTarget=true condition"))
    if complete and not met and (complete_changed or met_changed):
        text = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        errors.append(conflict(text))
    if finished and (status.get("active") or 0) > 0 and (finished_changed or changed("active")):
        errors.append(invalid("status.active", status["active"], "active>0 is invalid for finished job"))
    suspended_empty = spec.get("suspend") is True and spec.get("completions") == 0
    if finished and start is None and (finished_changed or changed("startTime")) and not suspended_empty:
        errors.append(required("status.startTime", "startTime is required for finished job"))
    uncounted = status.get("uncountedTerminatedPods") or {}
    left = finished and (uncounted.get("failed") or uncounted.get("succeeded"))
    if left and (finished_changed or changed("uncountedTerminatedPods")):
        value = printed("*batch.UncountedTerminatedPods", uncounted)
        errors.append(invalid("status.uncountedTerminatedPods", value, "must be empty for finished job"))
    return errors


def _index_errors(status: Object, old_status: Object, spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    completions, per_index = spec.get("completions"), spec.get("backoffLimitPerIndex")
    completed, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    completed_changed = completed != (old_status.get("completedIndexes") or "")
    failed_changed = failed != old_status.get("failedIndexes")

    def unreadable(name: str, text: str) -> list[FieldError]:
        try:
            count_indexes(text, completions or 0)
        except IndexesError as error:
            return [invalid(f"status.{name}", text, f"error parsing {name}: {error}")]
        return []

    if completed_changed and completions is not None:
        errors += unreadable("completedIndexes", completed)
    if failed_changed and completions is not None and per_index is not None and failed is not None:
        errors += unreadable("failedIndexes", failed)
    if completed_changed and completed and spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(invalid("status.completedIndexes", completed, text))
    if failed_changed and per_index is None and failed is not None:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(invalid("status.failedIndexes", failed, text))
    if (failed_changed or completed_changed) and completions is not None and failed is not None:
        shared = overlap(completed, failed, completions)
        if shared is not None:
            text = f"failedIndexes and completedIndexes overlap at index: {shared}"
            errors.append(invalid("status.failedIndexes", failed, text))
    finished, old_finished = _finished(status), _finished(old_status)
    terminating = status.get("terminating")
    terminating_changed = finished != old_finished or terminating != old_status.get("terminating")
    if (terminating or 0) > 0 and finished and terminating_changed:
        errors.append(invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
    ready, active = status.get("ready"), status.get("active") or 0
    ready_changed = ready != old_status.get("ready") or active != (old_status.get("active") or 0)
    if ready is not None and ready > active and ready_changed:
        errors.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return errors


def _success_criteria_errors(status: Object, spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    met = condition_true(status, "SuccessCriteriaMet")
    if met and condition_true(status, "Failed"):
        text = "cannot set SuccessCriteriaMet=True and Failed=true conditions"
        errors.append(invalid(_CONDITIONS, OMIT_VALUE, text))
    if met and condition_true(status, "FailureTarget"):
        text = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"
        errors.append(invalid(_CONDITIONS, OMIT_VALUE, text))
    if spec.get("successPolicy") is not None and not met and condition_true(status, "Complete"):
        text = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        errors.append(invalid(_CONDITIONS, OMIT_VALUE, text))
    return errors


def _transition_errors(status: Object, old_status: Object, spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for type_name in ("Failed", "Complete", "FailureTarget"):
        if condition_true(old_status, type_name) and not condition_true(status, type_name):
            text = f"cannot disable the terminal {type_name}=True condition"
            errors.append(invalid(_CONDITIONS, OMIT_VALUE, text))
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for name in ("failed", "succeeded"):
        count = status.get(name) or 0
        if count < (old_status.get(name) or 0) and not (name == "succeeded" and elastic):
            errors.append(invalid(f"status.{name}", count, f"cannot decrease the {name} counter"))
    end, old_end = status.get("completionTime"), old_status.get("completionTime")
    if end is not None and old_end is not None and end != old_end:
        errors.append(invalid("status.completionTime", end, "field is immutable"))
    start, old_start = status.get("startTime"), old_status.get("startTime")
    resuming = condition_true(old_status, "Suspended") and condition_true(status, "Suspended", "False")
    if old_start is not None and start != old_start and not resuming and not spec.get("suspend"):
        text = "field is immutable for unsuspended job once set"
        errors.append(invalid("status.startTime", start, text))
    met, old_met = condition_true(status, "SuccessCriteriaMet"), condition_true(old_status, "SuccessCriteriaMet")
    if old_met and not met:
        text = "cannot disable the SuccessCriteriaMet=True condition"
        errors.append(invalid(_CONDITIONS, OMIT_VALUE, text))
    if condition_true(old_status, "Complete") and not old_met and met:
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.append(invalid(_CONDITIONS, OMIT_VALUE, text))
    return errors
