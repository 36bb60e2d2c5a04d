"""Rows of webhook configurations and admission policies."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.tables.texts import UNSET, age, name_of

Object = dict[str, Any]
Cells = list[Any]

_GROUP = "admissionregistration.k8s.io"


def webhooks(obj: Object, now_s: float) -> Cells:
    return [name_of(obj), len(obj.get("webhooks") or ()), age(obj, now_s)]


def _param_kind(obj: Object) -> str:
    kind = (obj.get("spec") or {}).get("paramKind")
    return UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def validating_policy(obj: Object, now_s: float) -> Cells:
    rules = (obj.get("spec") or {}).get("validations") or ()
    return [name_of(obj), len(rules), _param_kind(obj), age(obj, now_s)]


def mutating_policy(obj: Object, now_s: float) -> Cells:
    rules = (obj.get("spec") or {}).get("mutations") or ()
    return [name_of(obj), len(rules), _param_kind(obj), age(obj, now_s)]


def binding(obj: Object, now_s: float) -> Cells:
    spec = obj.get("spec") or {}
    return [name_of(obj), spec.get("policyName", ""), _param_ref(spec.get("paramRef") or {}), age(obj, now_s)]


def _param_ref(reference: Object) -> str:
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    selector = reference.get("selector")
    return UNSET if selector is None else _printed(selector)


def _printed(selector: Object) -> str:
    """A LabelSelector as Go prints the struct."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{each.get('key', '')},Operator:{each.get('operator', '')},"
        f"Values:[{' '.join(each.get('values') or ())}],}},"
        for each in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


CELLS = {
    (_GROUP, "MutatingWebhookConfiguration"): webhooks,
    (_GROUP, "ValidatingWebhookConfiguration"): webhooks,
    (_GROUP, "ValidatingAdmissionPolicy"): validating_policy,
    (_GROUP, "MutatingAdmissionPolicy"): mutating_policy,
    (_GROUP, "ValidatingAdmissionPolicyBinding"): binding,
    (_GROUP, "MutatingAdmissionPolicyBinding"): binding,
}
