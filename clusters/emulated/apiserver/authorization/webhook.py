"""The webhook authorizer: a SubjectAccessReview to somebody who knows better."""

from __future__ import annotations

import json
from typing import Any

from clusters.emulated.apiserver.authorization.attributes import Attributes, Decision, Rules, Verdict
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.apiserver.review_webhook import ReviewFailedError, ReviewWebhook

ANSWERS_MAX = 4096
_IN = frozenset(("=", "==", "in"))
_OPERATORS = {"exists": "Exists", "!": "DoesNotExist", "!=": "NotIn", "notin": "NotIn"}


class WebhookAuthorizer:
    """Allow, deny or no opinion, as the webhook says; its failure is `decision_on_error`."""

    def __init__(
        self,
        webhook: ReviewWebhook,
        *,
        version: str = "v1",
        authorized_ttl_s: float = 300,
        unauthorized_ttl_s: float = 30,
        decision_on_error: Decision = Decision.NO_OPINION,
    ) -> None:
        self._webhook = webhook
        self._version = version
        self._authorized_ttl_s = authorized_ttl_s
        self._unauthorized_ttl_s = unauthorized_ttl_s
        self._decision_on_error = decision_on_error
        self._answers: dict[str, tuple[float, dict[str, Any]]] = {}

    async def ask(self, attributes: Attributes) -> Verdict:
        spec = review_spec(attributes)
        key = json.dumps(spec, sort_keys=True)
        now_s = self._webhook.clock.monotonic_s()
        known = self._answers.get(key)
        if known is not None and now_s < known[0]:
            return _verdict(known[1])
        if self._version == "v1beta1" and "groups" in spec:
            spec["group"] = spec.pop("groups")
        review = {
            "kind": "SubjectAccessReview",
            "apiVersion": f"authorization.k8s.io/{self._version}",
            "metadata": {},
            "spec": spec,
            "status": {"allowed": False},
        }
        try:
            status = (await self._webhook.review(review)).get("status") or {}
        except ReviewFailedError as failed:
            return Verdict(self._decision_on_error, "", str(failed))
        ttl_s = self._authorized_ttl_s if status.get("allowed") else self._unauthorized_ttl_s
        if ttl_s > 0:
            if len(self._answers) >= ANSWERS_MAX:
                self._answers.clear()
            self._answers[key] = (now_s + ttl_s, status)
        return _verdict(status)

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        return Rules(incomplete=True, error="webhook authorizer does not support user rule resolution")


def _verdict(status: dict[str, Any]) -> Verdict:
    reason = status.get("reason", "")
    if status.get("denied"):
        both = "webhook subject access review returned both allow and deny response"
        return Verdict(Decision.DENY, reason, both if status.get("allowed") else "")
    return Verdict(Decision.ALLOW if status.get("allowed") else Decision.NO_OPINION, reason)


def review_spec(attributes: Attributes) -> dict[str, Any]:
    """The question as a SubjectAccessReview's spec; what is empty is left out, as Go leaves it out."""
    user = attributes.user
    spec: dict[str, Any] = {}
    if attributes.is_resource:
        asked: dict[str, Any] = {
            "namespace": attributes.namespace,
            "verb": attributes.verb,
            "group": attributes.group,
            "version": attributes.version,
            "resource": attributes.resource,
            "subresource": attributes.subresource,
            "name": attributes.name,
        }
        spec["resourceAttributes"] = {name: value for name, value in asked.items() if value}
        spec["resourceAttributes"] |= _selectors(attributes)
    else:
        spec["nonResourceAttributes"] = {"path": attributes.path, "verb": attributes.verb}
    spec["user"] = user.name
    if user.groups:
        spec["groups"] = list(user.groups)
    if user.extra:
        spec["extra"] = {name: list(values) for name, values in user.extra.items()}
    if user.uid:
        spec["uid"] = user.uid
    return spec


def _selectors(attributes: Attributes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    fields = [
        {"key": term.field, "operator": "In" if term.operator == "=" else "NotIn", "values": [term.value]}
        for term in attributes.field_terms()
    ]
    if fields:
        found["fieldSelector"] = {"requirements": fields}
    labels = []
    for requirement in attributes.label_requirements():
        operator = "In" if requirement.operator in _IN else _OPERATORS.get(requirement.operator)
        if operator is None:
            continue  # Greater and less than have no place in the review.
        entry: dict[str, Any] = {"key": requirement.key, "operator": operator}
        if requirement.values:
            entry["values"] = list(requirement.values)
        labels.append(entry)
    if labels:
        found["labelSelector"] = {"requirements": labels}
    return found
