"""The ReplicationController kind."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.lifecycle import bump_generation, keep_field
from clusters.emulated.apiserver.validation.pod import (
    default_pod_template,
    drop_disabled_template_fields,
    validate_pod_template,
    warnings_for_pod_template,
)
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.emulated.apiserver.validation.semantic import equal
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, invalid, not_supported, required
from clusters.kube.selectors import from_map

_COUNTS = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")


class ReplicationControllerRules(KindRules):
    kind = "ReplicationController"
    generation_fields = ("spec",)

    def validate_name(self, name: str, prefix: bool) -> list[str]:
        return [] if prefix else names.dns_subdomain(name)  # Its declared rules know nothing of generateName.

    def default(self, obj: Object) -> None:
        spec, metadata = obj.setdefault("spec", {}), obj.setdefault("metadata", {})
        template = spec.get("template")
        labels = ((template or {}).get("metadata") or {}).get("labels")
        if labels:
            if not spec.get("selector"):
                spec["selector"] = dict(labels)
            if not metadata.get("labels"):
                metadata["labels"] = dict(labels)
        if spec.get("replicas") is None:
            spec["replicas"] = 1
        if template is not None:
            default_pod_template(template)
        obj.setdefault("status", {}).setdefault("replicas", 0)

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {"replicas": 0}
        obj["metadata"]["generation"] = 1
        drop_disabled_template_fields((obj.get("spec") or {}).get("template") or {})

    def validate_create(self, obj: Object) -> list[FieldError]:
        return self._spec_errors(obj.get("spec") or {}, None)

    def _spec_errors(self, spec: Object, old_template: Object | None) -> list[FieldError]:
        errors: list[FieldError] = []
        if spec.get("minReadySeconds", 0) < 0:
            errors.append(invalid("spec.minReadySeconds", spec["minReadySeconds"], names.NEGATIVE))
        selector = spec.get("selector") or {}
        if not selector:
            errors.append(required("spec.selector"))
        replicas = spec.get("replicas")
        if replicas is None:
            errors.append(required("spec.replicas"))
        elif replicas < 0:
            errors.append(invalid("spec.replicas", replicas, names.NEGATIVE))
        template, at = spec.get("template"), "spec.template"
        if template is None:
            return [*errors, required(at)]
        labels = (template.get("metadata") or {}).get("labels")
        if selector and not from_map(selector).matches(labels or {}):
            text = "`selector` does not match template `labels`"
            errors.append(invalid(f"{at}.metadata.labels", labels, text))
        errors += validate_pod_template(template, at, old_template)
        pod_spec = template.get("spec") or {}
        policy = pod_spec.get("restartPolicy", "")
        if policy != "Always":
            errors.append(not_supported(f"{at}.spec.restartPolicy", policy, ("Always",)))
        if pod_spec.get("activeDeadlineSeconds") is not None:
            text = "activeDeadlineSeconds in ReplicationController is not Supported"
            errors.append(forbidden(f"{at}.spec.activeDeadlineSeconds", text))
        return errors

    def prepare_update(self, obj: Object, old: Object) -> None:
        keep_field(obj, old, "status")
        spec, stored = obj.get("spec") or {}, old.get("spec") or {}
        drop_disabled_template_fields(spec.get("template") or {}, stored.get("template"))
        bump_generation(obj, old, not _same_spec(spec, stored))

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return self._spec_errors(obj.get("spec") or {}, (old.get("spec") or {}).get("template"))

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        status = obj.get("status") or {}
        counts = {name: status.get(name, 0) for name in _COUNTS}
        errors = [invalid(f"status.{name}", count, names.NEGATIVE) for name, count in counts.items() if count < 0]
        errors += [
            invalid(f"status.{name}", counts[name], "cannot be greater than status.replicas")
            for name in _COUNTS[1:4]
            if counts[name] > counts["replicas"]
        ]
        if counts["availableReplicas"] > counts["readyReplicas"]:
            text = "cannot be greater than readyReplicas"
            errors.append(invalid("status.availableReplicas", counts["availableReplicas"], text))
        return errors

    def warnings_create(self, obj: Object) -> list[str]:
        wrong = names.dns_label((obj.get("metadata") or {}).get("name") or "")
        text = "this is used in Pod names and hostnames, which can result in surprising behavior"
        text = f"{text}; a DNS label is recommended"
        warnings = [f"metadata.name: {text}: [{' '.join(wrong)}]"] if wrong else []
        return warnings + warnings_for_pod_template("spec.template", (obj.get("spec") or {}).get("template"))

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        if (obj.get("metadata") or {}).get("generation") == (old.get("metadata") or {}).get("generation"):
            return []
        # Kubernetes looks at the stored template here, not at the new one.
        return warnings_for_pod_template("spec.template", (old.get("spec") or {}).get("template"))

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        return {"status.replicas": str((obj.get("status") or {}).get("replicas", 0))}


def _same_spec(new: Object, old: Object) -> bool:
    if not equal("*core.PodTemplateSpec", new.get("template"), old.get("template")):
        return False
    if (new.get("selector") or {}) != (old.get("selector") or {}):
        return False
    return all((new.get(name) or 0) == (old.get(name) or 0) for name in ("replicas", "minReadySeconds"))
