"""RuntimeClass: which container runtime handler runs a Pod."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.deprecations import node_label_deprecation
from clusters.emulated.apiserver.validation.fields import required_named, unchanged
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, duplicate, index
from clusters.kube.internal import printed
from clusters.kube.selectors import validate_labels


class RuntimeClassRules(KindRules):
    group, kind = "node.k8s.io", "RuntimeClass"
    checks_finalizer_names = False
    metadata_on_update = "both"
    allow_create_on_update = True
    allow_unconditional_update = False

    def validate_create(self, obj: Object) -> list[FieldError]:
        errors = required_named("handler", obj.get("handler"), names.dns_label)
        if obj.get("overhead") is not None:
            errors += _overhead_errors(obj["overhead"].get("podFixed") or {})
        scheduling = obj.get("scheduling") or {}
        errors += validate_labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector")
        tolerations = scheduling.get("tolerations")
        if tolerations:
            errors += _toleration_errors(tolerations, "scheduling.tolerations")
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return self.validate_create(obj) + unchanged(obj.get("handler"), old.get("handler"), "handler")

    def warnings_create(self, obj: Object) -> list[str]:
        selector = (obj.get("scheduling") or {}).get("nodeSelector") or {}
        texts = [node_label_deprecation(label) for label in selector]
        return [f"scheduling.nodeSelector: {text}" for text in texts if text]

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return self.warnings_create(obj)


def _overhead_errors(pod_fixed: Object) -> list[FieldError]:
    from clusters.emulated.apiserver.validation.pod.options import TEMPLATE
    from clusters.emulated.apiserver.validation.pod.resources import requirements_errors

    return requirements_errors({"limits": pod_fixed}, (), "overhead", TEMPLATE)


def _toleration_errors(tolerations: list[Object], path: str) -> list[FieldError]:
    from clusters.emulated.apiserver.validation.pod.affinity import tolerations_errors
    from clusters.emulated.apiserver.validation.pod.options import TEMPLATE

    errors = tolerations_errors(tolerations, path, TEMPLATE)
    seen: set[tuple[str, ...]] = set()
    for position, toleration in enumerate(tolerations):
        key = tuple(toleration.get(name) or "" for name in ("key", "operator", "value", "effect"))
        if key in seen:
            errors.append(duplicate(index(path, position), printed("core.Toleration", toleration)))
        seen.add(key)
    return errors
