"""Job: Pods that run until so many of them succeeded."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.validation.apps.template import (
    TemplateRules,
    default_template,
    generation_changed,
    name_warnings,
)
from clusters.emulated.apiserver.validation.batch.jobspec import (
    default_conditions,
    job_spec_errors,
    job_spec_warnings,
)
from clusters.emulated.apiserver.validation.batch.jobstatus import condition_true, job_status_errors
from clusters.emulated.apiserver.validation.fields import equal, unchanged
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import FieldError, invalid, key, required
from clusters.kube.internal import printed
from clusters.kube.selectors import from_label_selector, validate_label_selector

_UID_LABEL, _NAME_LABEL = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
_LEGACY_UID_LABEL, _LEGACY_NAME_LABEL = "controller-uid", "job-name"
_MAX_INT32 = 2**31 - 1


class JobRules(TemplateRules):
    group, kind = "batch", "Job"
    metadata_on_update = "both"

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("completions") is None and spec.get("parallelism") is None:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        spec.setdefault("backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else _MAX_INT32)
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
        if labels and not (obj.get("metadata") or {}).get("labels"):
            # The very same map, as in Kubernetes: labels that the server adds to the template show on the Job.
            obj.setdefault("metadata", {})["labels"] = labels
        spec.setdefault("completionMode", "NonIndexed")
        spec.setdefault("suspend", False)
        replacement = "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed"
        spec.setdefault("podReplacementPolicy", replacement)
        spec.setdefault("manualSelector", False)
        default_template(spec)
        default_conditions(spec)

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        if not obj["spec"].get("manualSelector"):
            _generate_selector(obj)

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _job_errors(obj, None, prefixed_labels=True)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        spec, old_spec = obj.get("spec") or {}, old.get("spec") or {}
        old_labels = _template_labels(old)
        prefixed = _NAME_LABEL in old_labels and _UID_LABEL in old_labels
        # Kubernetes runs the rules of a new Job, then those of an update, which begin with the spec's again.
        errors = _job_errors(obj, old_spec, prefixed_labels=prefixed)
        errors += _selected_spec_errors(spec, old_spec)
        errors += _completions_errors(spec, old_spec)
        errors += unchanged(spec.get("selector"), old_spec.get("selector"), "spec.selector", "*meta.LabelSelector")
        errors += _template_kept(spec, old_spec, mutable=_template_mutable(old))
        for name, type_name in (
            ("completionMode", ""), ("podFailurePolicy", "*batch.PodFailurePolicy"), ("backoffLimitPerIndex", ""),
            ("managedBy", ""), ("successPolicy", "*batch.SuccessPolicy"),
        ):  # fmt: skip
            errors += unchanged(spec.get(name), old_spec.get(name), f"spec.{name}", type_name)
        return errors

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return job_status_errors(obj, old)

    def warnings_create(self, obj: Object) -> list[str]:
        return name_warnings(obj) + job_spec_warnings(obj["spec"], "spec")

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        if not generation_changed(obj, old):
            return []
        return job_spec_warnings(obj["spec"], "spec", old.get("spec"))

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        return {"status.successful": str((obj.get("status") or {}).get("succeeded") or 0)}


def _template_labels(job: Object) -> dict[str, str]:
    template = (job.get("spec") or {}).get("template") or {}
    return (template.get("metadata") or {}).get("labels") or {}


def _generate_selector(job: Object) -> None:
    metadata, spec = job.get("metadata") or {}, job["spec"]
    name, uid = metadata.get("name", ""), metadata.get("uid", "")
    template = spec.setdefault("template", {})
    template_metadata = template.setdefault("metadata", {})
    shared = metadata.get("labels")
    adopt = not shared or shared is template_metadata.get("labels")
    labels = dict(template_metadata.get("labels") or {})
    for label in (_LEGACY_NAME_LABEL, _NAME_LABEL):
        labels.setdefault(label, name)
    for label in (_LEGACY_UID_LABEL, _UID_LABEL):
        labels.setdefault(label, uid)
    template_metadata["labels"] = labels
    if adopt:
        job.setdefault("metadata", {})["labels"] = dict(labels)
    selector = dict(spec.get("selector") or {})
    selector["matchLabels"] = {_UID_LABEL: uid} | (selector.get("matchLabels") or {})
    spec["selector"] = selector


def _job_errors(job: Object, old_spec: Object | None, *, prefixed_labels: bool) -> list[FieldError]:
    spec, name = job.get("spec") or {}, (job.get("metadata") or {}).get("name", "")
    errors = _generated_selector_errors(job, prefixed_labels)
    errors += _selected_spec_errors(spec, old_spec)
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        longest = f"{name}-{completions - 1}"
        if names.dns_label(longest):
            text = f"will not able to create pod with invalid DNS label: {longest}"
            errors.append(invalid("metadata.name", name, text))
    return errors


def _generated_selector_errors(job: Object, prefixed_labels: bool) -> list[FieldError]:
    spec, metadata = job.get("spec") or {}, job.get("metadata") or {}
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return []
    name, uid = metadata.get("name", ""), metadata.get("uid", "")
    errors = [] if uid else [required("metadata.uid")]
    wanted = {_LEGACY_UID_LABEL: uid, _LEGACY_NAME_LABEL: name}
    if prefixed_labels:
        wanted |= {_UID_LABEL: uid, _NAME_LABEL: name}
    labels = _template_labels(job)
    for label, value in wanted.items():
        path = key("spec.template.metadata.labels", label)
        if label not in labels:
            errors.append(required(path, f"must be '{value}'"))
        elif labels[label] != value:
            errors.append(invalid(path, labels, f"must be '{value}'"))
    if not validate_label_selector(selector, "") and not from_label_selector(selector).matches(wanted):
        value = printed("meta.LabelSelector", selector)
        errors.append(invalid("spec.selector", value, "`selector` not auto-generated"))
    return errors


def _selected_spec_errors(spec: Object, old_spec: Object | None) -> list[FieldError]:
    selector, template = spec.get("selector"), spec.get("template") or {}
    errors = job_spec_errors(spec, "spec", old_spec)
    if selector is None:
        errors.append(required("spec.selector"))
    else:
        allow_invalid = bool(validate_label_selector((old_spec or {}).get("selector"), ""))
        errors += validate_label_selector(selector, "spec.selector", allow_invalid_values=allow_invalid)
    if not validate_label_selector(selector, ""):
        labels = (template.get("metadata") or {}).get("labels")
        if not from_label_selector(selector).matches(labels or {}):
            text = "`selector` does not match template `labels`"
            errors.append(invalid("spec.template.metadata.labels", labels, text))
    return errors


def _completions_errors(spec: Object, old_spec: Object) -> list[FieldError]:
    completions, old_completions = spec.get("completions"), old_spec.get("completions")
    if spec.get("completionMode") != "Indexed":
        return unchanged(completions, old_completions, "spec.completions")
    if completions is None or completions == old_completions or completions == spec.get("parallelism"):
        return []
    return [invalid("spec.completions", completions, "can only be modified in tandem with spec.parallelism")]


def _template_mutable(old: Object) -> bool:
    """A suspended Job that has not started (or has wound down) may get other resources and scheduling rules."""
    spec, status = old.get("spec") or {}, old.get("status") or {}
    if not spec.get("suspend") or status.get("active"):
        return False
    return status.get("startTime") is None or condition_true(status, "Suspended")


def _template_kept(spec: Object, old_spec: Object, *, mutable: bool) -> list[FieldError]:
    template, old_template = spec.get("template") or {}, old_spec.get("template") or {}
    if equal(template, old_template):
        return []
    if mutable:
        old_template = _with_scheduling_of(template, old_template)
    if not (old_spec.get("suspend") and mutable):
        return unchanged(template, old_template, "spec.template", "core.PodTemplateSpec")
    pod_spec, old_pod_spec = template.get("spec") or {}, dict(old_template.get("spec") or {})
    for part in ("containers", "initContainers"):
        new, old = pod_spec.get(part) or [], old_pod_spec.get(part) or []
        if len(new) == len(old):
            old_pod_spec[part] = [_with_resources_of(*pair) for pair in zip(new, old, strict=True)]
    return unchanged(pod_spec, old_pod_spec, "spec.template.spec", "core.PodSpec")


def _with_resources_of(container: Object, old_container: Object) -> Object:
    if container.get("name") != old_container.get("name"):
        return old_container
    return old_container | {"resources": container.get("resources") or {}}


def _with_scheduling_of(template: Object, old_template: Object) -> Object:
    """`old_template` with those scheduling rules of `template` that may change while the Job waits."""
    pod_spec: Any = template.get("spec") or {}
    old_pod_spec = dict(old_template.get("spec") or {})
    affinity = dict(old_pod_spec.get("affinity") or {})
    affinity.pop("nodeAffinity", None)
    node_affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity")
    if node_affinity is not None:
        affinity["nodeAffinity"] = node_affinity
    if affinity or pod_spec.get("affinity") is not None:
        old_pod_spec["affinity"] = affinity
    else:
        old_pod_spec.pop("affinity", None)
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        old_pod_spec[name] = pod_spec.get(name)
    metadata = template.get("metadata") or {}
    old_metadata = dict(old_template.get("metadata") or {})
    for name in ("labels", "annotations"):
        old_metadata[name] = metadata.get(name)
    return old_template | {"metadata": old_metadata, "spec": old_pod_spec}
