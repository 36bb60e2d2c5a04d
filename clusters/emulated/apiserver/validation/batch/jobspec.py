"""A Job's spec, as Jobs and the Job template of CronJobs have it."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.validation.apps.template import (
    default_template,
    template_errors,
    template_warnings,
)
from clusters.emulated.apiserver.validation.batch.failurepolicy import (
    pod_failure_policy_errors,
    success_policy_errors,
)
from clusters.emulated.apiserver.validation.fields import nonnegative_fields
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube.field import FieldError, invalid, not_supported, required, too_long
from clusters.kube.internal import printed

_MAX_INDEXED = 100_000
_MANY_COMPLETIONS = 100_000
_HIGH_COMPLETIONS_LIMIT = 10_000
_MANAGED_BY_BYTES_MAX = 63
_WITH_PER_INDEX_LIMIT = (
    f"must be less than or equal to {_HIGH_COMPLETIONS_LIMIT} when completions are above {_MANY_COMPLETIONS} "
    "and used with backoff limit per index"
)
_HARD_TO_TRACK = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "
    "Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
)


def default_conditions(spec: Object) -> None:
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"


def default_job_template(template: Object) -> None:
    """Inside a CronJob only the Pod template and the failure policy are defaulted; the rest waits for the Job."""
    template.setdefault("metadata", {})
    spec = template.setdefault("spec", {})
    default_template(spec)
    default_conditions(spec)


def job_spec_errors(spec: Object, path: str, old_spec: Object | None) -> list[FieldError]:
    errors = nonnegative_fields(
        spec, path, "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
        "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes",
    )  # fmt: skip
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.get("managedBy") is not None:
        errors += _managed_by_errors(spec["managedBy"], f"{path}.managedBy")
    errors += _completion_mode_errors(spec, path)
    if spec.get("podFailurePolicy") is not None:
        errors += pod_failure_policy_errors(spec, f"{path}.podFailurePolicy")
    if spec.get("successPolicy") is not None:
        if spec.get("completionMode") != "Indexed":
            value = printed("batch.SuccessPolicy", spec["successPolicy"])
            errors.append(invalid(f"{path}.successPolicy", value, "requires indexed completion mode"))
        else:
            errors += success_policy_errors(spec, f"{path}.successPolicy")
    errors += _replacement_policy_errors(spec, f"{path}.podReplacementPolicy")
    errors += template_errors(spec.get("template") or {}, f"{path}.template", (old_spec or {}).get("template"))
    return errors + _restart_policy_errors(spec, f"{path}.template.spec.restartPolicy")


def _managed_by_errors(value: str, path: str) -> list[FieldError]:
    from clusters.emulated.apiserver.validation.domainpath import domain_prefixed_path

    errors = domain_prefixed_path(path, value)
    if len(value.encode()) > _MANAGED_BY_BYTES_MAX:
        errors.append(too_long(path, _MANAGED_BY_BYTES_MAX))
    return errors


def _completion_mode_errors(spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    mode = spec.get("completionMode")
    if mode is not None and mode not in ("NonIndexed", "Indexed"):
        errors.append(not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed":
        errors += _indexed_errors(spec, path)
    elif mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                errors.append(invalid(f"{path}.{name}", spec[name], "requires indexed completion mode"))
    return errors


def _indexed_errors(spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    completions: Any = spec.get("completions")
    parallelism, max_failed = spec.get("parallelism"), spec.get("maxFailedIndexes")
    failed_path = f"{path}.maxFailedIndexes"
    if completions is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if (parallelism or 0) > _MAX_INDEXED:
        text = f"must be less than or equal to {_MAX_INDEXED} when completion mode is Indexed"
        errors.append(invalid(f"{path}.parallelism", parallelism, text))
    if completions is not None and max_failed is not None and max_failed > completions:
        errors.append(invalid(failed_path, max_failed, "must be less than or equal to completions"))
    if (max_failed or 0) > _MAX_INDEXED:
        errors.append(invalid(failed_path, max_failed, f"must be less than or equal to {_MAX_INDEXED}"))
    if (completions or 0) > _MANY_COMPLETIONS and spec.get("backoffLimitPerIndex") is not None:
        if max_failed is None:
            text = f"must be specified when completions is above {_MANY_COMPLETIONS}"
            errors.append(required(failed_path, text))
        if (parallelism or 0) > _HIGH_COMPLETIONS_LIMIT:
            errors.append(invalid(f"{path}.parallelism", parallelism, _WITH_PER_INDEX_LIMIT))
        if (max_failed or 0) > _HIGH_COMPLETIONS_LIMIT:
            errors.append(invalid(failed_path, max_failed, _WITH_PER_INDEX_LIMIT))
    return errors


def _replacement_policy_errors(spec: Object, path: str) -> list[FieldError]:
    policy = spec.get("podReplacementPolicy")
    if policy is None:
        return []
    supported = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    return [] if policy in supported else [not_supported(path, policy, supported)]


def _restart_policy_errors(spec: Object, path: str) -> list[FieldError]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(path, policy, ("OnFailure", "Never"))]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def job_spec_warnings(spec: Object, path: str, old_spec: Object | None = None) -> list[str]:
    warnings: list[str] = []
    indexed = spec.get("completionMode") == "Indexed"
    many = (spec.get("completions") or 0) > _MANY_COMPLETIONS
    if indexed and many and (spec.get("parallelism") or 0) > _HIGH_COMPLETIONS_LIMIT:
        warnings.append(f"{path}: {_HARD_TO_TRACK}")
    old_template = (old_spec or {}).get("template")
    return warnings + template_warnings(spec.get("template") or {}, f"{path}.template", old_template)
