"""DaemonSet: one Pod per node that fits."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.apps.template import (
    TemplateRules,
    always_restarted,
    default_template,
    selector_kept,
    selector_mismatch,
    template_errors,
    template_warnings,
)
from clusters.emulated.apiserver.validation.fields import (
    at_most_100_percent,
    collision_count_kept,
    equal,
    int_or_percent_value,
    nonnegative_fields,
    positive_int_or_percent,
)
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube.field import FieldError, invalid, not_supported, required
from clusters.kube.internal import printed
from clusters.kube.selectors import validate_label_selector

# Internal only: apps/v1 keeps the template's generation in this annotation.
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_COUNTS = (
    "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration",
    "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount",
)  # fmt: skip


class DaemonSetRules(TemplateRules):
    group, kind = "apps", "DaemonSet"
    zero_status = (
        ("currentNumberScheduled", 0), ("numberMisscheduled", 0), ("desiredNumberScheduled", 0), ("numberReady", 0),
    )  # fmt: skip

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        strategy = spec.setdefault("updateStrategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling_update = strategy.setdefault("rollingUpdate", {})
            rolling_update.setdefault("maxUnavailable", 1)
            rolling_update.setdefault("maxSurge", 0)
        spec.setdefault("revisionHistoryLimit", 10)
        default_template(spec)
        annotations = obj["metadata"].setdefault("annotations", {})
        annotations.setdefault(_TEMPLATE_GENERATION, "0")

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        _set_template_generation(obj, max(_template_generation(obj), 1))

    def prepare_update(self, obj: Object, old: Object) -> None:
        super().prepare_update(obj, old)
        spec, old_spec = obj.get("spec") or {}, old.get("spec") or {}
        template_changed = not equal(spec.get("template"), old_spec.get("template"))
        _set_template_generation(obj, _template_generation(old) + (1 if template_changed else 0))

    def validate_create(self, obj: Object) -> list[FieldError]:
        return self._spec_errors(obj.get("spec") or {}, {})

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        spec, old_spec = obj.get("spec") or {}, old.get("spec") or {}
        return selector_kept(spec, old_spec) + self._spec_errors(spec, old_spec)

    def _spec_errors(self, spec: Object, old_spec: Object) -> list[FieldError]:
        selector, template = spec.get("selector"), spec.get("template") or {}
        allow_invalid = bool(validate_label_selector(old_spec.get("selector"), ""))
        errors = validate_label_selector(selector, "spec.selector", allow_invalid_values=allow_invalid)
        if not validate_label_selector(selector, ""):
            errors += selector_mismatch(selector, template, "spec.template")
        if selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions"):
            value = printed("meta.LabelSelector", selector)
            errors.append(invalid("spec.selector", value, "empty selector is invalid for daemonset"))
        errors += template_errors(template, "spec.template", old_spec.get("template"))
        errors += always_restarted(template, "spec.template", "DaemonSet")
        errors += nonnegative_fields(spec, "spec", "minReadySeconds")
        errors += _strategy_errors(spec.get("updateStrategy") or {}, "spec.updateStrategy")
        return errors + nonnegative_fields(spec, "spec", "revisionHistoryLimit")

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        status = obj.get("status") or {}
        errors = nonnegative_fields(status, "status", *_COUNTS)
        return errors + collision_count_kept(status, old.get("status") or {})

    def warnings_create(self, obj: Object) -> list[str]:
        return template_warnings(obj["spec"].get("template") or {}, "spec.template")

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        if _template_generation(obj) == _template_generation(old):
            return []
        return template_warnings(
            obj["spec"].get("template") or {}, "spec.template", (old.get("spec") or {}).get("template")
        )


def _template_generation(obj: Object) -> int:
    text = ((obj.get("metadata") or {}).get("annotations") or {}).get(_TEMPLATE_GENERATION, "")
    return int(text) if text.lstrip("-").isdigit() else 0


def _set_template_generation(obj: Object, generation: int) -> None:
    metadata = obj.setdefault("metadata", {})
    metadata["annotations"] = (metadata.get("annotations") or {}) | {_TEMPLATE_GENERATION: str(generation)}


def _strategy_errors(strategy: Object, path: str) -> list[FieldError]:
    if strategy.get("type") == "OnDelete":
        return []
    if strategy.get("type") != "RollingUpdate":
        value = printed("apps.DaemonSetUpdateStrategy", strategy)
        return [not_supported(path, value, ("RollingUpdate", "OnDelete"))]
    rolling_update = strategy.get("rollingUpdate")
    path = f"{path}.rollingUpdate"
    if rolling_update is None:
        return [required(path)]
    unavailable, surge = rolling_update.get("maxUnavailable", 0), rolling_update.get("maxSurge", 0)
    unavailable_path, surge_path = f"{path}.maxUnavailable", f"{path}.maxSurge"
    errors = positive_int_or_percent(unavailable, unavailable_path)
    errors += positive_int_or_percent(surge, surge_path)
    errors += at_most_100_percent(unavailable, unavailable_path)
    errors += at_most_100_percent(surge, surge_path)
    has_unavailable, has_surge = int_or_percent_value(unavailable) != 0, int_or_percent_value(surge) != 0
    if has_unavailable and has_surge:
        errors.append(invalid(surge_path, surge, "may not be set when maxUnavailable is non-zero"))
    elif not has_unavailable and not has_surge:
        errors.append(required(unavailable_path, "cannot be 0 when maxSurge is 0"))
    return errors
