"""The PodTemplate kind: a template that nothing runs by itself."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.lifecycle import bump_generation
from clusters.emulated.apiserver.validation.pod import (
    default_pod_template,
    drop_disabled_template_fields,
    validate_pod_template,
    warnings_for_pod_template,
)
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.emulated.apiserver.validation.semantic import equal
from clusters.kube.field import FieldError


class PodTemplateRules(KindRules):
    kind = "PodTemplate"
    generation_fields = ("template",)

    def default(self, obj: Object) -> None:
        default_pod_template(obj.setdefault("template", {}))

    def prepare_create(self, obj: Object) -> None:
        obj.setdefault("metadata", {})["generation"] = 1
        drop_disabled_template_fields(obj.get("template") or {})

    def validate_create(self, obj: Object) -> list[FieldError]:
        return validate_pod_template(obj.get("template") or {}, "template")

    def prepare_update(self, obj: Object, old: Object) -> None:
        drop_disabled_template_fields(obj.get("template") or {}, old.get("template"))
        bump_generation(obj, old, not equal("core.PodTemplateSpec", obj.get("template"), old.get("template")))

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return validate_pod_template(obj.get("template") or {}, "template", old.get("template") or {})

    def warnings_create(self, obj: Object) -> list[str]:
        return warnings_for_pod_template("template", obj.get("template") or {})

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        if (obj.get("metadata") or {}).get("generation") == (old.get("metadata") or {}).get("generation"):
            return []
        return self.warnings_create(obj)
