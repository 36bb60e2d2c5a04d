"""The Pod kind."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.validation.lifecycle import bump_generation, keep_field
from clusters.emulated.apiserver.validation.metadata import validate_metadata
from clusters.emulated.apiserver.validation.pod.annotations import (
    annotation_update_errors,
    annotations_match_fields,
    pod_annotations_errors,
)
from clusters.emulated.apiserver.validation.pod.apparmor import adopt_annotations, adopted_warnings
from clusters.emulated.apiserver.validation.pod.containers import image_errors
from clusters.emulated.apiserver.validation.pod.defaults import default_pod
from clusters.emulated.apiserver.validation.pod.dropped import drop_disabled_fields
from clusters.emulated.apiserver.validation.pod.options import POD, PodOptions, options_from
from clusters.emulated.apiserver.validation.pod.qos import qos_class
from clusters.emulated.apiserver.validation.pod.spec import validate_pod_spec
from clusters.emulated.apiserver.validation.pod.status import status_update_errors
from clusters.emulated.apiserver.validation.pod.subresources import (
    ephemeral_containers_update_errors,
    keep_all_but_ephemeral_containers,
    keep_all_but_resources,
    resize_errors,
)
from clusters.emulated.apiserver.validation.pod.update import spec_update_errors
from clusters.emulated.apiserver.validation.pod.warnings import warnings_for_pod
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.emulated.apiserver.validation.semantic import equal
from clusters.kube.field import FieldError, forbidden
from clusters.kube.ipaddr import warnings_for_ip


class PodRules(KindRules):
    kind = "Pod"
    generation_fields = ("spec",)

    def default(self, obj: Object) -> None:
        default_pod(obj)
        spec = obj["spec"]
        # A Pod's grace is never negative; a template keeps what it says.
        if spec["terminationGracePeriodSeconds"] < 0:
            spec["terminationGracePeriodSeconds"] = 1
        if obj.get("status"):
            _one_list_of_ips(obj["status"])

    def prepare_create(self, obj: Object) -> None:
        spec = obj["spec"]
        obj.setdefault("metadata", {})["generation"] = 1
        obj["status"] = {"phase": "Pending", "qosClass": qos_class(spec)}
        drop_disabled_fields(spec)
        if spec.get("schedulingGates"):
            obj["status"]["conditions"] = [_gated_condition(obj["metadata"].get("creationTimestamp"))]
        _adopt_label_keys(spec, obj["metadata"].get("labels") or {})
        adopt_annotations(obj)

    def validate_create(self, obj: Object) -> list[FieldError]:
        spec, metadata = obj.get("spec") or {}, obj.get("metadata") or {}
        errors = _spec_errors(obj, POD)
        if spec.get("ephemeralContainers"):
            errors.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
        if spec.get("nodeName") and spec.get("schedulingGates"):
            text = "cannot be set until all schedulingGates have been cleared"
            errors.append(forbidden("spec.nodeName", text))
        if metadata.get("annotations"):
            errors += annotations_match_fields(metadata["annotations"], spec, "spec")
        return errors

    def prepare_update(self, obj: Object, old: Object) -> None:
        keep_field(obj, old, "status")
        self._finish_update(obj, old)

    def _finish_update(self, obj: Object, old: Object) -> None:
        drop_disabled_fields(obj.get("spec") or {}, old.get("spec"))
        bump_generation(obj, old, not equal("core.PodSpec", obj.get("spec"), old.get("spec")))

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        options = _options(old)
        errors = self._whole(obj, options) + _annotation_updates(obj, old, options)
        return errors + spec_update_errors(obj.get("spec") or {}, old.get("spec") or {}, options)

    def _whole(self, obj: Object, options: PodOptions) -> list[FieldError]:
        return validate_metadata(obj, True, self.validate_name) + _spec_errors(obj, options)

    def prepare_status(self, obj: Object, old: Object) -> None:
        super().prepare_status(obj, old)
        metadata = obj.setdefault("metadata", {})
        metadata.pop("deletionTimestamp", None)
        keep_field(metadata, old.get("metadata") or {}, "ownerReferences")
        status, stored = obj.setdefault("status", {}), old.get("status") or {}
        if not status.get("qosClass"):
            keep_field(status, stored, "qosClass")
        if not status.get("observedGeneration"):
            keep_field(status, stored, "observedGeneration")
        _keep_observed_generations(status, stored)
        status.pop("nodeAllocatableResourceClaimStatuses", None)
        _one_list_of_ips(status)

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return _annotation_updates(obj, old, _options(old)) + status_update_errors(obj, old)

    def prepare_ephemeral_containers(self, obj: Object, old: Object) -> None:
        keep_all_but_ephemeral_containers(obj, old)
        self._finish_update(obj, old)

    def validate_ephemeral_containers(self, obj: Object, old: Object) -> list[FieldError]:
        options = _options(old)
        whole = self._whole(obj, options) + _annotation_updates(obj, old, options)
        return ephemeral_containers_update_errors(obj, old, whole)

    def prepare_resize(self, obj: Object, old: Object) -> None:
        keep_all_but_resources(obj, old)
        self._finish_update(obj, old)

    def validate_resize(self, obj: Object, old: Object) -> list[FieldError]:
        return resize_errors(obj, old, self._whole(obj, _options(old)))

    def deletion_grace(self, obj: Object, asked: int | None) -> int:
        """How many seconds a DELETE gives the Pod; `asked` is the request's gracePeriodSeconds."""
        spec = obj.get("spec") or {}
        grace = spec.get("terminationGracePeriodSeconds") if asked is None else asked
        if not spec.get("nodeName") or (obj.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            return 0
        return 1 if (grace or 0) < 0 else grace or 0

    def warnings_create(self, obj: Object) -> list[str]:
        return adopted_warnings(obj) + warnings_for_pod(obj)

    def warnings_status(self, obj: Object) -> list[str]:
        return [
            warning
            for field in ("podIPs", "hostIPs")
            for position, address in enumerate((obj.get("status") or {}).get(field) or ())
            for warning in warnings_for_ip(f"status.{field}[{position}].ip", address.get("ip", ""))
        ]

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        addresses = status.get("podIPs") or ()
        return {
            "spec.nodeName": spec.get("nodeName", ""),
            "spec.restartPolicy": spec.get("restartPolicy", ""),
            "spec.schedulerName": spec.get("schedulerName", ""),
            "spec.serviceAccountName": spec.get("serviceAccountName", ""),
            "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
            "status.phase": status.get("phase", ""),
            "status.podIP": addresses[0].get("ip", "") if addresses else "",
            "status.podIPs": "",
            "status.nominatedNodeName": status.get("nominatedNodeName", ""),
        }


def _options(old: Object) -> PodOptions:
    return options_from(old.get("spec") or {}, (old.get("metadata") or {}).get("annotations"), POD)


def _annotation_updates(obj: Object, old: Object, options: PodOptions) -> list[FieldError]:
    new, stored = ((each.get("metadata") or {}).get("annotations") or {} for each in (obj, old))
    return annotation_update_errors(new, stored, obj.get("spec") or {}, "metadata.annotations", options)


def _spec_errors(obj: Object, options: PodOptions) -> list[FieldError]:
    """Annotations and spec, without metadata in general."""
    spec, metadata = obj.get("spec") or {}, obj.get("metadata") or {}
    errors: list[FieldError] = []
    if metadata.get("annotations"):
        errors += pod_annotations_errors(metadata["annotations"], spec, "metadata.annotations", options)
    errors += validate_pod_spec(spec, "spec", metadata, options)
    if not spec.get("serviceAccountName"):
        errors += _tokens_without_account(spec)
    for kind in ("containers", "initContainers"):
        for position, container in enumerate(spec.get(kind) or ()):
            errors += image_errors(container, f"spec.{kind}[{position}]")
    return errors


def _tokens_without_account(spec: Object) -> list[FieldError]:
    text = "must not be specified when serviceAccountName is not set"
    return [
        forbidden(f"spec.volumes[{position}].projected.sources[{source_position}].serviceAccountToken", text)
        for position, volume in enumerate(spec.get("volumes") or ())
        for source_position, source in enumerate((volume.get("projected") or {}).get("sources") or ())
        if source.get("serviceAccountToken") is not None
    ]


def _one_list_of_ips(status: Object) -> None:
    """`podIP` is the first of `podIPs`; where they differ the single one, which older kubelets write, wins."""
    single, several = status.get("podIP"), status.get("podIPs")
    if single and (not several or several[0].get("ip") != single):
        status["podIPs"] = [{"ip": single}]
    elif several and not single:
        status["podIP"] = several[0].get("ip", "")


def _gated_condition(now: str | None) -> Object:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def _keep_observed_generations(status: Object, stored: Object) -> None:
    before: dict[str, list[int]] = {}
    for condition in stored.get("conditions") or ():
        before.setdefault(condition.get("type", ""), []).append(condition.get("observedGeneration", 0))
    for condition in status.get("conditions") or ():
        generations = before.get(condition.get("type", ""))
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def _adopt_label_keys(spec: Object, labels: dict[str, str]) -> None:
    """`matchLabelKeys` mean the Pod's own values: they become part of the selector."""
    for constraint in spec.get("topologySpreadConstraints") or ():
        _merge_keys(constraint, "matchLabelKeys", "In", labels)
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        terms: dict[str, Any] = affinity.get(kind) or {}
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution") or ():
            _merge_term(weighted.get("podAffinityTerm") or {}, labels)
        for term in terms.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            _merge_term(term, labels)


def _merge_term(term: Object, labels: dict[str, str]) -> None:
    _merge_keys(term, "matchLabelKeys", "In", labels)
    _merge_keys(term, "mismatchLabelKeys", "NotIn", labels)


def _merge_keys(holder: Object, field: str, operator: str, labels: dict[str, str]) -> None:
    selector = holder.get("labelSelector")
    if selector is None:
        return
    for name in holder.get(field) or ():
        if name in labels:
            expressions = selector.setdefault("matchExpressions", [])
            expressions.append({"key": name, "operator": operator, "values": [labels[name]]})
