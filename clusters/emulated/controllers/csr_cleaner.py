"""Deletes CertificateSigningRequests that nobody needs any more, once an hour.

issued, denied or failed         an hour later
certificate expired              at once
pending, or approved for nobody  a day later
"""

from __future__ import annotations

import base64
from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import NotFound
from clusters.emulated.client.resources import CERTIFICATE_SIGNING_REQUESTS
from clusters.emulated.controllers import certificate_requests as requests
from clusters.kube.timestamps import unix_s

Object = dict[str, Any]

EVERY_S = 3600.0
HANDLED_S, PENDING_S = 3600.0, 24 * 3600.0


class CsrCleanerController(Controller):
    name = "certificatesigningrequest-cleaner-controller"
    service_account = "certificate-controller"

    def setup(self) -> None:
        self._requests = self.informer(CERTIFICATE_SIGNING_REQUESTS)
        self.periodic(EVERY_S, self._clean)

    async def _clean(self) -> None:
        now_s = self.clock.now_s()
        for request in self._requests.store.list():
            if is_over(request, now_s):
                try:
                    await self.api.delete(CERTIFICATE_SIGNING_REQUESTS, request["metadata"]["name"])
                except NotFound:
                    continue


def is_over(request: Object, now_s: float) -> bool:
    conditions = (request.get("status") or {}).get("conditions") or []
    if not conditions:
        return now_s - unix_s(request["metadata"]["creationTimestamp"]) > PENDING_S
    issued = requests.is_issued(request)
    for each in conditions:
        updated = each.get("lastUpdateTime")
        age_s = now_s - unix_s(updated) if updated else 0.0
        if each["type"] == "Approved":
            if age_s > (HANDLED_S if issued else PENDING_S) or (issued and _has_expired(request, now_s)):
                return True
        elif each["type"] in ("Denied", "Failed") and age_s > HANDLED_S:
            return True
    return False


def _has_expired(request: Object, now_s: float) -> bool:
    from cryptography import x509

    try:
        certificate = x509.load_pem_x509_certificate(base64.b64decode(request["status"]["certificate"]))
    except ValueError:
        return False  # Somebody else's signer may put anything there.
    return now_s > certificate.not_valid_after_utc.timestamp()
