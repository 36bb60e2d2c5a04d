"""The conditions of a CustomResourceDefinition: which there should be, decided from the definition alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from clusters.emulated.apiserver.customresources.custom_resource import is_true
from clusters.emulated.apiserver.validation.apiextensions.structural import structural_errors, unsupported
from clusters.kube.field import FieldError, aggregate, invalid
from clusters.kube.gostring import quote

Object = dict[str, Any]

_APPROVED = "api-approved.kubernetes.io"
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


def condition(kind: str, status: str, reason: str, message: str) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message}


def find(crd: Object, kind: str) -> Object | None:
    for each in (crd.get("status") or {}).get("conditions") or ():
        if each.get("type") == kind:
            return each  # type: ignore[no-any-return]
    return None


def with_condition(crd: Object, wanted: Object, now: str) -> Object:
    """The definition with this condition; the time changes only with the status."""
    status = crd.get("status") or {}
    conditions: list[Object] = list(status.get("conditions") or ())
    for position, each in enumerate(conditions):
        if each.get("type") == wanted["type"]:
            since = each.get("lastTransitionTime")
            if each.get("status") != wanted["status"] or not since:
                since = now
            conditions[position] = {**each, **wanted, "lastTransitionTime": since}
            break
    else:
        conditions.append({**wanted, "lastTransitionTime": now})
    return {**crd, "status": {**status, "conditions": conditions}}


def without_condition(crd: Object, kind: str) -> Object:
    status = crd.get("status") or {}
    kept = [each for each in status.get("conditions") or () if each.get("type") != kind]
    return {**crd, "status": {**status, "conditions": kept}}


def same(left: Object | None, right: Object | None) -> bool:
    if left is None or right is None:
        return left is right
    return all(left.get(name) == right.get(name) for name in ("type", "status", "reason", "message"))


# Names

_NO_NAMES: Object = {"plural": "", "kind": ""}


def names_in_use(others: Iterable[Object], group: str) -> tuple[set[str], set[str]]:
    """(resource names, kinds) that the definitions of a group have been granted."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for crd in others:
        if crd["spec"]["group"] != group:
            continue
        accepted = (crd.get("status") or {}).get("acceptedNames") or {}
        resources |= {accepted.get("plural", ""), accepted.get("singular", ""), *(accepted.get("shortNames") or ())}
        kinds |= {accepted.get("kind", ""), accepted.get("listKind", "")}
    return resources, kinds


def decide_names(crd: Object, all_definitions: Iterable[Object]) -> tuple[Object, Object, Object]:
    """(accepted names, NamesAccepted, Established)."""
    wanted = crd["spec"]["names"]
    accepted = (crd.get("status") or {}).get("acceptedNames") or _NO_NAMES
    resources, kinds = names_in_use(all_definitions, crd["spec"]["group"])
    granted: Object = dict(accepted)
    reason = message = ""
    for name, label, used in (
        ("plural", "Plural", resources), ("singular", "Singular", resources), ("shortNames", "ShortNames", resources),
        ("kind", "Kind", kinds), ("listKind", "ListKind", kinds),
    ):  # fmt: skip
        problem = _conflict(name, wanted, accepted, used)
        if problem:
            reason, message = f"{label}Conflict", problem
        elif wanted.get(name):
            granted[name] = wanted[name]
        else:
            granted.pop(name, None)
    if wanted.get("categories"):
        granted["categories"] = wanted["categories"]
    else:
        granted.pop("categories", None)
    naming = condition("NamesAccepted", "True", "NoConflicts", "no conflicts found")
    if reason:
        naming = condition("NamesAccepted", "False", reason, message)
    return granted, naming, _established(crd, naming)


def _conflict(name: str, wanted: Object, accepted: Object, used: set[str]) -> str:
    if name == "shortNames":
        mine = accepted.get("shortNames") or []
        if (wanted.get("shortNames") or []) == mine:
            return ""
        taken = [each for each in wanted.get("shortNames") or () if each not in mine and each in used]
        texts = list(dict.fromkeys(f"{quote(each)} is already in use" for each in taken))
        return "[" + ", ".join(texts) + "]" if len(texts) > 1 else "".join(texts)
    asked = wanted.get(name, "")
    if asked == accepted.get(name, "") or asked not in used:
        return ""
    return f"{quote(asked)} is already in use"


def _established(crd: Object, naming: Object) -> Object:
    known = find(crd, "Established")
    if (known is None or known.get("status") != "True") and naming["status"] == "True":
        return condition("Established", "False", "Installing", "the initial names have been accepted")
    return known or condition("Established", "False", "NotAccepted", "not all names are accepted")


def decide_established(crd: Object) -> Object | None:
    """Established, once the names are accepted; None when there is nothing to do."""
    if not is_true(crd, "NamesAccepted") or is_true(crd, "Established"):
        return None
    webhook = (crd["spec"].get("conversion") or {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle")
    if bundle and not _is_bundle(bundle):
        return condition("Established", "False", "InvalidCABundle", "The conversion webhook CABundle is invalid")
    return condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted")


def _is_bundle(encoded: str) -> bool:
    import base64
    import binascii

    try:
        text = base64.b64decode(encoded)
    except binascii.Error:
        return False
    from cryptography import x509

    try:
        return not text.strip() or bool(x509.load_pem_x509_certificates(text))
    except ValueError:
        return False


# Schemas and approval


def decide_non_structural(crd: Object) -> Object | None:
    errors: list[FieldError] = []
    if crd["spec"].get("preserveUnknownFields"):
        errors.append(invalid("spec.preserveUnknownFields", True, "must be false"))
    for position, version in enumerate(crd["spec"].get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            continue
        problem = unsupported(schema)
        if problem:
            text = f"failed to check validation schema for version {version['name']}: {problem}"
            return condition("NonStructuralSchema", "Unknown", "StructuralError", text)
        errors += structural_errors(schema, f"spec.versions[{position}].schema.openAPIV3Schema")
    if not errors:
        return None
    return condition("NonStructuralSchema", "True", "Violations", aggregate(errors))


def decide_approval(crd: Object) -> Object | None:
    """Groups of the Kubernetes community must say who approved them."""
    if re.search(r"(^|\.)(k8s|kubernetes)\.io$", crd["spec"]["group"]) is None:
        return None
    annotation = (crd["metadata"].get("annotations") or {}).get(_APPROVED, "")
    kind = "KubernetesAPIApprovalPolicyConformant"
    if not annotation:
        text = f"protected groups must have approval annotation {quote(_APPROVED)}, {_SEE}"
        return condition(kind, "False", "MissingAnnotation", text)
    if annotation.startswith("unapproved"):
        return condition(kind, "False", "UnapprovedAnnotation", f"not approved: {quote(annotation)}")
    parts = urlsplit(annotation)
    if parts.scheme and parts.netloc:
        return condition(kind, "True", "ApprovedAnnotation", f"approved in {annotation}")
    text = (
        f"protected groups must have approval annotation {quote(_APPROVED)} with either a URL or a reason starting "
        f'with "unapproved", {_SEE}'
    )
    return condition(kind, "False", "InvalidAnnotation", text)
