"""What the workload kinds share: a selector, and a Pod template that it must select."""

from __future__ import annotations

from typing import Any, ClassVar

from clusters.emulated.apiserver.validation.fields import equal
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import FieldError, child, forbidden, invalid, not_supported, required
from clusters.kube.gostring import plain_list
from clusters.kube.internal import printed
from clusters.kube.selectors import from_label_selector, validate_label_selector

NAME_IN_POD_NAMES = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
    "a DNS label is recommended: "
)


def default_template(spec: Object) -> None:
    from clusters.emulated.apiserver.validation.pod import default_pod_template

    default_pod_template(spec.setdefault("template", {}))


def drop_disabled(spec: Object, old_spec: Object | None = None) -> None:
    """Fields of features that are off go unnoticed."""
    from clusters.emulated.apiserver.validation.pod import drop_disabled_template_fields

    drop_disabled_template_fields(spec.get("template") or {}, (old_spec or {}).get("template"))


def template_errors(template: Object, path: str, old: Object | None = None) -> list[FieldError]:
    """The Pod template by itself; `old` is the stored one, whose oddities may stay."""
    from clusters.emulated.apiserver.validation.pod import validate_pod_template

    return validate_pod_template(template, path, old=old)


def template_warnings(template: Object, path: str, old: Object | None = None) -> list[str]:
    from clusters.emulated.apiserver.validation.pod import warnings_for_pod_template

    return warnings_for_pod_template(path, template, old)


def name_warnings(obj: Object) -> list[str]:
    wrong = names.dns_label((obj.get("metadata") or {}).get("name") or "")
    return [NAME_IN_POD_NAMES + plain_list(wrong)] if wrong else []


def selector_errors(selector: Object | None, path: str, empty: str) -> list[FieldError]:
    """A selector that must be there, be well-formed, and select something."""
    if selector is None:
        return [required(path)]
    errors = validate_label_selector(selector, path)
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        errors.append(invalid(path, printed("meta.LabelSelector", selector), empty))
    return errors


def selector_mismatch(selector: Object | None, template: Object, path: str) -> list[FieldError]:
    """`path` is the template's. The selector is known to be well-formed (or absent: it selects nothing)."""
    labels = (template.get("metadata") or {}).get("labels")
    if from_label_selector(selector).matches(labels or {}):
        return []
    return [invalid(child(path, "metadata.labels"), labels, "`selector` does not match template `labels`")]


def always_restarted(template: Object, path: str, kind: str) -> list[FieldError]:
    """Pods of a controller that keeps them running restart always and have no deadline."""
    errors: list[FieldError] = []
    pod_spec = template.get("spec") or {}
    restart_policy = pod_spec.get("restartPolicy", "")
    if restart_policy != "Always":
        errors.append(not_supported(child(path, "spec.restartPolicy"), restart_policy, ("Always",)))
    if pod_spec.get("activeDeadlineSeconds") is not None:
        errors.append(
            forbidden(child(path, "spec.activeDeadlineSeconds"), f"activeDeadlineSeconds in {kind} is not Supported")
        )
    return errors


def replica_template_errors(spec: Object, path: str, well_formed: bool, old_spec: Object | None) -> list[FieldError]:
    """Selector and template of ReplicaSets and Deployments, once the selector itself was looked at."""
    selector = spec.get("selector")
    if not well_formed:
        return [invalid(child(path, "selector"), printed("*meta.LabelSelector", selector), "invalid label selector")]
    template, template_path = spec.get("template") or {}, child(path, "template")
    errors: list[FieldError] = []
    if selector is None or selector.get("matchLabels") or selector.get("matchExpressions"):
        errors += selector_mismatch(selector, template, template_path)
    errors += template_errors(template, template_path, (old_spec or {}).get("template"))
    return errors + always_restarted(template, template_path, "ReplicaSet")


def selector_kept(spec: Object, old_spec: Object) -> list[FieldError]:
    selector: Any = spec.get("selector")
    if equal(selector, old_spec.get("selector")):
        return []
    return [invalid("spec.selector", printed("*meta.LabelSelector", selector), "field is immutable")]


def generation_changed(obj: Object, old: Object) -> bool:
    return bool((obj.get("metadata") or {}).get("generation") != (old.get("metadata") or {}).get("generation"))


class TemplateRules(LifecycleRules):
    """A kind with a status, a generation, and a Pod template in its spec."""

    zero_status: ClassVar[tuple[tuple[str, Any], ...] | None] = ()
    generation_fields = ("spec",)

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        drop_disabled(obj.get("spec") or {})

    def prepare_update(self, obj: Object, old: Object) -> None:
        drop_disabled(obj.get("spec") or {}, old.get("spec"))
        super().prepare_update(obj, old)
