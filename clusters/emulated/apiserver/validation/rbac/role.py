"""Role and ClusterRole: lists of what may be done."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, index, invalid, required
from clusters.kube.selectors import validate_label_selector

GROUP = "rbac.authorization.k8s.io"


class _AnyRoleRules(KindRules):
    group = GROUP
    metadata_on_update = "both"
    allow_create_on_update = True

    def validate_name(self, name: str, prefix: bool) -> list[str]:
        return names.path_segment_name(name)


class RoleRules(_AnyRoleRules):
    kind = "Role"

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _rules_errors(obj, namespaced=True)


class ClusterRoleRules(_AnyRoleRules):
    kind = "ClusterRole"

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _rules_errors(obj, namespaced=False) + _aggregation_errors(obj, allow_invalid=False)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        selectors = (old.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
        allow_invalid = any(validate_label_selector(selector, "") for selector in selectors)
        return _rules_errors(obj, namespaced=False) + _aggregation_errors(obj, allow_invalid=allow_invalid)


def _rules_errors(role: Object, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, rule in enumerate(role.get("rules") or ()):
        errors += policy_rule_errors(rule, namespaced, index("rules", position))
    return errors


def policy_rule_errors(rule: Object, namespaced: bool, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not rule.get("verbs"):
        errors.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    urls = rule.get("nonResourceURLs")
    if urls:
        urls_path = f"{path}.nonResourceURLs"
        if namespaced:
            errors.append(invalid(urls_path, urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid(urls_path, urls, text))
        return errors
    if not rule.get("apiGroups"):
        errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors


def _aggregation_errors(role: Object, *, allow_invalid: bool) -> list[FieldError]:
    aggregation = role.get("aggregationRule")
    if aggregation is None:
        return []
    path = "aggregationRule.clusterRoleSelectors"
    selectors = aggregation.get("clusterRoleSelectors") or ()
    if not selectors:
        return [required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")]
    errors: list[FieldError] = []
    for position, selector in enumerate(selectors):
        selector_path = index(path, position)
        errors += validate_label_selector(selector, selector_path, allow_invalid_values=allow_invalid)
        if validate_label_selector(selector, ""):
            # The failed conversion leaves a nil selector behind, and that is what is printed.
            errors.append(invalid(selector_path, None, "invalid label selector."))
    return errors
