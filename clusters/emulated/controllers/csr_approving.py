"""Approves the client certificates of kubelets whose user may have one: its own, or a node's."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import NotFound
from clusters.emulated.client.resources import CERTIFICATE_SIGNING_REQUESTS, Resource
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers import certificate_requests as requests

Object = dict[str, Any]

_REVIEWS = Resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False)
_SELF, _NODE = "selfnodeclient", "nodeclient"
_MESSAGES = {
    _SELF: "Auto approving self kubelet client certificate after SubjectAccessReview.",
    _NODE: "Auto approving kubelet client certificate after SubjectAccessReview.",
}


class NotAllowedError(Exception):
    """The request is one of ours, and its user may not have it; tried again in case that changes."""


class CsrApprovingController(Controller):
    name = "certificatesigningrequest-approving-controller"
    service_account = "certificate-controller"

    def setup(self) -> None:
        self._requests = self.informer(CERTIFICATE_SIGNING_REQUESTS)
        self._requests.add_handler(self.enqueue, lambda _, new: self.enqueue(new))

    async def reconcile(self, key: str) -> None:
        request = self._requests.store.get(key)
        if request is None or requests.is_issued(request):
            return
        if requests.has_condition(request, "Approved") or requests.has_condition(request, "Denied"):
            return
        tried = recognised(request)
        for subresource in tried:
            if await self._is_allowed(request["spec"], subresource):
                await self._approve(request, _MESSAGES[subresource])
                return
        if tried:
            raise NotAllowedError(f"{key} is recognized as {tried}, and its user is not allowed that")

    async def _is_allowed(self, spec: Object, subresource: str) -> bool:
        attributes = {
            "group": "certificates.k8s.io",
            "resource": "certificatesigningrequests",
            "verb": "create",
            "subresource": subresource,
            "version": "*",
        }
        review: Object = {"user": spec.get("username", ""), "resourceAttributes": attributes}
        for field in ("uid", "groups", "extra"):
            if spec.get(field):
                review[field] = spec[field]
        answer = await self.api.create(_REVIEWS, {"spec": review})
        return bool(answer["status"].get("allowed"))

    async def _approve(self, request: Object, message: str) -> None:
        now = rfc3339(self.clock.now_s())
        condition = {
            "type": "Approved",
            "status": "True",
            "reason": "AutoApproved",
            "message": message,
            "lastUpdateTime": now,
            "lastTransitionTime": now,
        }
        status = request.get("status") or {}
        changed = {**status, "conditions": [*(status.get("conditions") or ()), condition]}
        try:
            await self.api.update(CERTIFICATE_SIGNING_REQUESTS, {**request, "status": changed}, subresource="approval")
        except NotFound:
            return


def recognised(request: Object) -> list[str]:
    """What the request is, as the subresources whose creation its user must be allowed; none if it is not ours."""
    spec = request["spec"]
    if spec["signerName"] != requests.KUBELET_CLIENT:
        return []
    parsed = requests.parse(spec["request"])
    if requests.kubelet_client_problem(parsed, spec.get("usages") or ()):
        return []
    return [_SELF, _NODE] if spec.get("username") == parsed.common_name else [_NODE]
