"""Signs what is approved, for Kubernetes' own signers, if there is an authority to sign with."""

from __future__ import annotations

import base64
from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import NotFound
from clusters.emulated.client.resources import CERTIFICATE_SIGNING_REQUESTS
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers import certificate_requests as requests

Object = dict[str, Any]

DURATION_MAX_S = 365 * 24 * 3600.0
DURATION_MIN_S = 600.0


class CsrSigningController(Controller):
    name = "certificatesigningrequest-signing-controller"
    service_account = "certificate-controller"

    def setup(self) -> None:
        self._requests = self.informer(CERTIFICATE_SIGNING_REQUESTS)
        if self.context.authority is not None:
            self._requests.add_handler(self.enqueue, lambda _, new: self.enqueue(new))

    async def reconcile(self, key: str) -> None:
        authority = self.context.authority
        request = self._requests.store.get(key)
        if request is None or authority is None or not is_to_sign(request):
            return
        spec, status = request["spec"], dict(request.get("status") or {})
        parsed = requests.parse(spec["request"])
        problem = requests.refusal(spec["signerName"], parsed, spec.get("usages") or ())
        now_s = self.clock.now_s()
        if problem:
            now = rfc3339(now_s)
            failed = {
                "type": "Failed",
                "status": "True",
                "reason": "SignerValidationFailure",
                "message": problem,
                "lastUpdateTime": now,
                "lastTransitionTime": now,
            }
            status["conditions"] = [*(status.get("conditions") or ()), failed]
        else:
            pem = authority.certificate(parsed.pem, spec.get("usages") or (), now_s, duration_s(spec))
            status["certificate"] = base64.b64encode(pem).decode("ascii")
        try:
            await self.api.update(CERTIFICATE_SIGNING_REQUESTS, {**request, "status": status}, subresource="status")
        except NotFound:
            return


def is_to_sign(request: Object) -> bool:
    return (
        request["spec"]["signerName"] in requests.SIGNERS
        and not requests.is_issued(request)
        and requests.has_condition(request, "Approved")
        and not requests.has_condition(request, "Denied")
        and not requests.is_true(request, "Failed")
    )


def duration_s(spec: Object) -> float:
    wanted = spec.get("expirationSeconds")
    return DURATION_MAX_S if wanted is None else min(DURATION_MAX_S, max(DURATION_MIN_S, float(wanted)))
