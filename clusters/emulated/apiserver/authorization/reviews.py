"""The access reviews: may somebody do something (SubjectAccessReview and its kin), and what may I do at all?

Each function takes the posted object and returns it with its status; what is wrong with it is a 422 or 400.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.authorization.attributes import Attributes, Decision, Verdict
from clusters.emulated.apiserver.authorization.chain import AuthorizerChain
from clusters.emulated.apiserver.request import UserInfo
from clusters.kube import errors, fieldselectors, selectors
from clusters.kube.field import FieldError, invalid, required
from clusters.kube.gostring import Verbatim, to_json
from clusters.kube.selectors import SelectorError

Object = dict[str, Any]
_GROUP = "authorization.k8s.io"
_METADATA_ORDER = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
    "managedFields",
)  # fmt: skip
_RESOURCE_FIELDS = ("namespace", "verb", "group", "version", "resource", "subresource", "name")


async def subject_access_review(review: Object, chain: AuthorizerChain) -> Object:
    spec = review.get("spec") or {}
    problems = _spec_problems(spec) + _subject_problems(spec) + _selector_problems(spec)
    _refuse(review, problems + _metadata_problems(review, ""))
    return await _answer(review, _subject(spec), chain)


async def local_subject_access_review(review: Object, namespace: str, chain: AuthorizerChain) -> Object:
    """`namespace` is the one in the URL."""
    spec = review.get("spec") or {}
    own = (review.get("metadata") or {}).get("namespace", "")
    problems = _spec_problems(spec) + _subject_problems(spec) + _selector_problems(spec)
    problems += _metadata_problems(review, "namespace")
    resource = spec.get("resourceAttributes")
    if resource is not None and resource.get("namespace", "") != own:
        where = "spec.resourceAttributes.namespace"
        problems.append(invalid(where, resource.get("namespace", ""), "must match metadata.namespace"))
    if spec.get("nonResourceAttributes") is not None:
        shown = _shown(spec["nonResourceAttributes"])
        problems.append(invalid("spec.nonResourceAttributes", shown, "disallowed on this kind of request"))
    _refuse(review, problems)
    if namespace != own:
        raise errors.bad_request(f"spec.resourceAttributes.namespace must match namespace: {namespace}")
    return await _answer(review, _subject(spec), chain)


async def self_subject_access_review(review: Object, user: UserInfo, chain: AuthorizerChain) -> Object:
    spec = review.get("spec") or {}
    _refuse(review, _spec_problems(spec) + _selector_problems(spec) + _metadata_problems(review, ""))
    return await _answer(review, user, chain)


def self_subject_rules_review(review: Object, user: UserInfo, chain: AuthorizerChain) -> Object:
    """For `kubectl auth can-i --list`. The answer forgets what was asked, as Kubernetes' does."""
    namespace = (review.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise errors.bad_request("no namespace on request")
    rules = chain.rules_for(user, namespace)
    status: Object = {
        "resourceRules": rules.resource_rules,
        "nonResourceRules": rules.non_resource_rules,
        "incomplete": rules.incomplete,
    }
    if rules.error:
        status["evaluationError"] = rules.error
    return {
        "kind": review["kind"],
        "apiVersion": review["apiVersion"],
        "metadata": {},
        "spec": {},
        "status": status,
    }


def _refuse(review: Object, problems: list[FieldError]) -> None:
    if problems:
        # The kind is read from the object after its decoding has emptied it.
        raise errors.invalid(f".{_GROUP}", "", problems)


def _subject(spec: Mapping[str, Any]) -> UserInfo:
    extra = {name: tuple(values) for name, values in (spec.get("extra") or {}).items()}
    return UserInfo(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


async def _answer(review: Object, user: UserInfo, chain: AuthorizerChain) -> Object:
    spec = review["spec"]
    resource = spec.get("resourceAttributes")
    notes: list[str] = []
    if resource is not None:
        attributes = _resource_attributes(user, resource, notes)
    else:
        path = spec["nonResourceAttributes"]
        attributes = Attributes(user, path.get("verb", ""), is_resource=False, path=path.get("path", ""))
    verdict = await chain.authorize(attributes)
    return {**review, "status": _status(verdict, notes)}


def _status(verdict: Verdict, notes: list[str]) -> Object:
    status: Object = {"allowed": verdict.allowed}
    if verdict.decision is Decision.DENY:
        status["denied"] = True
    if verdict.reason:
        status["reason"] = verdict.reason
    texts = [verdict.error, *notes] if verdict.error else notes
    if texts:
        status["evaluationError"] = "; ".join(texts)
    return status


def _resource_attributes(user: UserInfo, resource: Mapping[str, Any], notes: list[str]) -> Attributes:
    values = {name: resource.get(name, "") for name in _RESOURCE_FIELDS}
    fields, labels = resource.get("fieldSelector") or {}, resource.get("labelSelector") or {}
    return Attributes(
        user,
        values["verb"],
        values["group"],
        values["version"] or "*",
        values["resource"],
        values["subresource"],
        values["namespace"],
        values["name"],
        field_selector=_field_selector(fields, notes),
        label_selector=_label_selector(labels, notes),
    )


def _field_selector(selector: Mapping[str, Any], notes: list[str]) -> str:
    raw: str = selector.get("rawSelector", "")
    if raw:
        try:
            fieldselectors.parse(raw)
        except SelectorError:
            notes.append("spec.resourceAttributes.fieldSelector ignored due to parse error")
            return ""
        return raw
    requirements = selector.get("requirements") or ()
    terms = []
    for requirement in requirements:
        values: list[str] = requirement.get("values") or []
        operator = {"In": "=", "NotIn": "!="}.get(requirement.get("operator", ""))
        if operator is not None and len(values) == 1:
            terms.append(str(fieldselectors.Term(requirement.get("key", ""), operator, values[0])))
    _note_ignored("fieldSelector", len(requirements), len(terms), notes)
    return ",".join(terms)


def _label_selector(selector: Mapping[str, Any], notes: list[str]) -> str:
    raw: str = selector.get("rawSelector", "")
    if raw:
        try:
            selectors.parse(raw)
        except SelectorError:
            notes.append("spec.resourceAttributes.labelSelector ignored due to parse error")
            return ""
        return raw
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
    requirements = selector.get("requirements") or ()
    terms = []
    for requirement in requirements:
        operator = operators.get(requirement.get("operator", ""))
        if operator is None:
            continue
        try:
            terms.append(selectors.requirement(requirement.get("key", ""), operator, requirement.get("values") or ()))
        except SelectorError:
            continue
    _note_ignored("labelSelector", len(requirements), len(terms), notes)
    return ",".join(map(str, terms))


def _note_ignored(name: str, asked: int, understood: int, notes: list[str]) -> None:
    if understood < asked:
        how = "partially ignored" if understood else "ignored"
        notes.append(f"spec.resourceAttributes.{name} {how} due to parse error")


def _shown(value: Mapping[str, Any]) -> Verbatim:
    """Field errors print internal types, whose JSON has Go's field names."""
    return Verbatim(to_json({"Path": value.get("path", ""), "Verb": value.get("verb", "")}))


def _spec_problems(spec: Mapping[str, Any]) -> list[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        text = "cannot be specified in combination with resourceAttributes"
        return [invalid("spec.nonResourceAttributes", _shown(path), text)]
    if resource is None and path is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [invalid("spec.resourceAttributes", Verbatim("null"), text)]
    return []


def _subject_problems(spec: Mapping[str, Any]) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [invalid("spec.user", spec.get("user", ""), "at least one of user or group must be specified")]


def _selector_problems(spec: Mapping[str, Any]) -> list[FieldError]:
    problems: list[FieldError] = []
    for name in ("fieldSelector", "labelSelector"):
        selector = (spec.get("resourceAttributes") or {}).get(name)
        if selector is None:
            continue
        where = f"spec.resourceAttributes.{name}"
        raw, requirements = selector.get("rawSelector", ""), selector.get("requirements") or ()
        if raw and requirements:
            text = "may not specified at the same time as requirements"
            problems.append(invalid(f"{where}.rawSelector", raw, text))
        if not raw and not requirements:
            text = f"when {where} is specified, requirements or rawSelector is required"
            problems.append(required(f"{where}.requirements", text))
        for position, requirement in enumerate(requirements):
            problems += _requirement_problems(f"{where}.requirements[{position}]", requirement, name)
    return problems


def _requirement_problems(where: str, requirement: Mapping[str, Any], kind: str) -> list[FieldError]:
    """Unknown operators are let through: a newer client may know more than this server."""
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    problems = []
    if kind == "fieldSelector" and not requirement.get("key"):
        problems.append(required(f"{where}.key", "must be specified"))
    if operator in ("In", "NotIn") and not values:
        text = "must be specified when `operator` is 'In' or 'NotIn'"
        problems.append(required(f"{where}.values", text))
    if operator in ("Exists", "DoesNotExist") and values:
        text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        problems.append(FieldError("FieldValueForbidden", f"{where}.values", None, text))
    return problems


def _metadata_problems(review: Object, allowed: str) -> list[FieldError]:
    metadata = review.get("metadata") or {}
    ignored = {"managedFields", "creationTimestamp", allowed}
    if all(name in ignored or not value for name, value in metadata.items()):
        return []
    text = "must be empty except for namespace" if allowed else "must be empty"
    shown = {name: metadata[name] for name in _METADATA_ORDER if metadata.get(name)}
    printed = json.dumps(shown, separators=(",", ":"), ensure_ascii=False)
    return [invalid("metadata", Verbatim(printed), text)]
