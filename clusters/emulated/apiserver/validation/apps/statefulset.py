"""StatefulSet: Pods with an identity of their own each, and a claim of their own."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.apps.replicaset import counts_within_replicas
from clusters.emulated.apiserver.validation.apps.template import (
    TemplateRules,
    always_restarted,
    default_template,
    generation_changed,
    selector_errors,
    selector_mismatch,
    template_errors,
    template_warnings,
)
from clusters.emulated.apiserver.validation.fields import (
    at_most_100_percent,
    collision_count_kept,
    equal,
    int_or_percent_value,
    named,
    nonnegative_fields,
    positive_int_or_percent,
)
from clusters.emulated.apiserver.validation.metadata import validate_annotations
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, index, invalid, not_supported, required
from clusters.kube.gostring import quote
from clusters.kube.internal import printed
from clusters.kube.selectors import validate_label_selector, validate_labels

_CHANGEABLE = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip
_NEGATIVE_HISTORY = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)


class StatefulSetRules(TemplateRules):
    group, kind = "apps", "StatefulSet"
    zero_status = (("replicas", 0), ("availableReplicas", 0))

    def validate_name(self, name: str, prefix: bool) -> list[str]:
        return names.dns_label(name, prefix)

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("podManagementPolicy"):
            spec["podManagementPolicy"] = "OrderedReady"
        strategy = spec.setdefault("updateStrategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
            strategy.setdefault("rollingUpdate", {})
        if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
            strategy["rollingUpdate"].setdefault("partition", 0)
        retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
        for moment in ("whenDeleted", "whenScaled"):
            if not retention.get(moment):
                retention[moment] = "Retain"
        spec.setdefault("replicas", 1)
        spec.setdefault("revisionHistoryLimit", 10)
        default_template(spec)
        for claim in spec.get("volumeClaimTemplates") or ():
            _default_claim(claim)

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        _drop_max_unavailable(obj)

    def prepare_update(self, obj: Object, old: Object) -> None:
        old_rolling = ((old.get("spec") or {}).get("updateStrategy") or {}).get("rollingUpdate") or {}
        if old_rolling.get("maxUnavailable") is None:
            _drop_max_unavailable(obj)
        super().prepare_update(obj, old)

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _spec_errors(obj.get("spec") or {}, "spec", creating=True, old_template=None)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        spec, old_spec = obj.get("spec") or {}, old.get("spec") or {}
        old_template = old_spec.get("template") or {}
        errors = _spec_errors(spec, "spec", creating=False, old_template=old_template)
        if errors and _spec_errors(old_spec, "spec", creating=False, old_template=old_template):
            # What is stored is odd itself: its template is not held against the update.
            errors = _spec_errors(spec, "spec", creating=False, old_template=old_template, judge_template=False)
        kept = {name: value for name, value in spec.items() if name not in _CHANGEABLE}
        old_kept = {name: value for name, value in old_spec.items() if name not in _CHANGEABLE}
        if not equal(kept, old_kept):
            listed = ", ".join(f"'{name}'" for name in _CHANGEABLE[:-1])
            errors.append(
                forbidden(
                    "spec",
                    f"updates to statefulset spec for fields other than {listed} and '{_CHANGEABLE[-1]}' are forbidden",
                )
            )
        return errors

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        status = obj.get("status") or {}
        counts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
        errors = nonnegative_fields(status, "status", "replicas", *counts, "observedGeneration", "collisionCount")
        errors += counts_within_replicas(status, counts, "status.readyReplicas")
        return errors + collision_count_kept(status, old.get("status") or {})

    def warnings_create(self, obj: Object) -> list[str]:
        spec = obj["spec"]
        return template_warnings(spec.get("template") or {}, "spec.template") + _spec_warnings(spec, "")

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        spec, warnings = obj["spec"], []
        if generation_changed(obj, old):
            warnings = template_warnings(
                spec.get("template") or {}, "spec.template", (old.get("spec") or {}).get("template")
            )
        return warnings + _spec_warnings(spec, ".Spec")


def _drop_max_unavailable(obj: Object) -> None:
    # The feature gate MaxUnavailableStatefulSet is off by default.
    rolling_update = ((obj.get("spec") or {}).get("updateStrategy") or {}).get("rollingUpdate")
    if rolling_update:
        rolling_update.pop("maxUnavailable", None)


def _default_claim(claim: Object) -> None:
    from clusters.emulated.apiserver.validation.pod import default_claim_spec

    # The API server writes a whole claim object into the template: with its kind and a status.
    claim.setdefault("apiVersion", "v1")
    claim.setdefault("kind", "PersistentVolumeClaim")
    default_claim_spec(claim.setdefault("spec", {}))
    claim.setdefault("status", {}).setdefault("phase", "Pending")


def _spec_warnings(spec: Object, claim_suffix: str) -> list[str]:
    warnings: list[str] = []
    for position, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        path = index("spec.volumeClaimTemplates", position) + claim_suffix
        warnings += _claim_warnings(claim.get("spec") or {}, path)
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        warnings.append(_NEGATIVE_HISTORY)
    return warnings


def _claim_warnings(spec: Object, path: str) -> list[str]:
    """Sizes that are no whole number of bytes are rounded up."""
    resources = spec.get("resources") or {}
    return [
        f"{path}.resources.{kind}[storage]: fractional byte value {quote(size)} is invalid, must be an integer"
        for kind in ("requests", "limits")
        if (size := str((resources.get(kind) or {}).get("storage", "0"))).endswith("m")
    ]


def _strategy_errors(strategy: Object, path: str) -> list[FieldError]:
    rolling_update = strategy.get("rollingUpdate")
    rolling_path = f"{path}.rollingUpdate"
    match strategy.get("type"):
        case None | "":
            return [required(path)]
        case "OnDelete":
            if rolling_update is None:
                return []
            value = printed("*apps.RollingUpdateStatefulSetStrategy", rolling_update)
            return [invalid(rolling_path, value, "only allowed for updateStrategy 'RollingUpdate'")]
        case "RollingUpdate":
            if rolling_update is None:
                return []
            errors = nonnegative_fields(rolling_update, rolling_path, "partition")
            unavailable = rolling_update.get("maxUnavailable")
            if unavailable is not None:
                unavailable_path = f"{rolling_path}.maxUnavailable"
                errors += positive_int_or_percent(unavailable, unavailable_path)
                if int_or_percent_value(unavailable) == 0:
                    errors.append(invalid(unavailable_path, unavailable, "cannot be 0"))
                errors += at_most_100_percent(unavailable, unavailable_path)
            return errors
    value = printed("apps.StatefulSetUpdateStrategy", strategy)
    return [invalid(path, value, "must be 'RollingUpdate' or 'OnDelete'")]


def _spec_errors(
    spec: Object, path: str, *, creating: bool, old_template: Object | None, judge_template: bool = True
) -> list[FieldError]:
    errors: list[FieldError] = []
    policy = spec.get("podManagementPolicy", "")
    if not policy:
        errors.append(required(f"{path}.podManagementPolicy"))
    elif policy not in ("OrderedReady", "Parallel"):
        errors.append(invalid(f"{path}.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'"))
    errors += _strategy_errors(spec.get("updateStrategy") or {}, f"{path}.updateStrategy")
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        for moment in ("whenDeleted", "whenScaled"):
            if retention.get(moment, "") not in ("Retain", "Delete"):
                moment_path = f"{path}.persistentVolumeClaimRetentionPolicy.{moment}"
                errors.append(not_supported(moment_path, retention.get(moment, ""), ("Retain", "Delete")))
    if creating:
        errors += _claim_errors(spec, f"{path}.volumeClaimTemplates")
    errors += nonnegative_fields(spec, path, "replicas", "minReadySeconds")
    errors += nonnegative_fields(spec.get("ordinals") or {}, f"{path}.ordinals", "start")
    service = spec.get("serviceName")
    if creating and service:
        errors += named(f"{path}.serviceName", service, names.dns_label)
    selector = spec.get("selector")
    errors += selector_errors(selector, f"{path}.selector", "empty selector is invalid for statefulset")
    if validate_label_selector(selector, ""):
        errors.append(invalid(f"{path}.selector", printed("*meta.LabelSelector", selector), ""))
    else:
        errors += _template_errors(spec, f"{path}.template", old_template, judge_template)
    return errors + always_restarted(spec.get("template") or {}, f"{path}.template", "StatefulSet")


def _claim_errors(spec: Object, path: str) -> list[FieldError]:
    claims = spec.get("volumeClaimTemplates")
    if not claims:
        return []
    from clusters.emulated.apiserver.validation.claims import claim_spec_errors

    errors: list[FieldError] = []
    for position, claim in enumerate(claims):
        errors += claim_spec_errors(claim.get("spec") or {}, f"{index(path, position)}.spec")
    return errors


def _template_errors(spec: Object, path: str, old_template: Object | None, judge_template: bool) -> list[FieldError]:
    selector, template = spec.get("selector"), spec.get("template") or {}
    errors: list[FieldError] = []
    if selector is None or selector.get("matchLabels") or selector.get("matchExpressions"):
        errors += selector_mismatch(selector, template, path)
    if judge_template:
        errors += template_errors(_as_pods_will_be(spec, template), path, old_template)
    # Kubernetes looks at labels and annotations once more, under paths that no object has.
    metadata = template.get("metadata") or {}
    errors += validate_labels(metadata.get("labels"), f"{path}.labels")
    return errors + validate_annotations(metadata.get("annotations") or {}, f"{path}.annotations")


def _as_pods_will_be(spec: Object, template: Object) -> Object:
    """The controller overwrites hostname and subdomain and adds a volume per claim: those are not to be judged."""
    pod_spec = template.get("spec") or {}
    claims = [(claim.get("metadata") or {}).get("name", "") for claim in spec.get("volumeClaimTemplates") or ()]
    if not claims and not pod_spec.get("subdomain") and not pod_spec.get("hostname"):
        return template
    pod_spec = {name: value for name, value in pod_spec.items() if name not in ("subdomain", "hostname")}
    if claims:
        own = [volume for volume in pod_spec.get("volumes") or () if volume.get("name") not in claims]
        pod_spec["volumes"] = [
            {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(claims)
        ] + own
    return template | {"spec": pod_spec}
