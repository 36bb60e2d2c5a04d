"""Who may approve, sign and attest for a signer, and who may never be issued a certificate.

CertificateApproval, CertificateSigning, ClusterTrustBundleAttest and CertificateSubjectRestriction: four
plugins over one question, whether the user has the verb on the synthetic resource `signers`.
"""

from __future__ import annotations

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.authorizing import Authorize, may_use_signer
from clusters.emulated.apiserver.admission.certificate_requests import CsrError, subject_of
from clusters.emulated.apiserver.admission.denial import forbidden
from clusters.emulated.apiserver.objects import Object
from clusters.kube.gostring import quote

_REQUESTS = frozenset(("certificatesigningrequests.certificates.k8s.io",))
_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"


def _signer(obj: Object | None) -> str:
    name: str = ((obj or {}).get("spec") or {}).get("signerName", "")
    return name


class CertificateApproval(AdmissionPlugin):
    name = "CertificateApproval"
    operations = frozenset(("UPDATE",))
    resources = _REQUESTS

    def __init__(self, authorize: Authorize) -> None:
        self._authorize = authorize

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource != "approval":
            return
        # The old object's signer: an approval cannot also move the request to another signer.
        signer = _signer(attributes.old_object)
        if not await may_use_signer(self._authorize, attributes.user, "approve", signer):
            why = f"user not permitted to approve requests with signerName {quote(signer)}"
            raise forbidden(attributes, why)


class CertificateSigning(AdmissionPlugin):
    name = "CertificateSigning"
    operations = frozenset(("UPDATE",))
    resources = _REQUESTS

    def __init__(self, authorize: Authorize) -> None:
        self._authorize = authorize

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource != "status":
            return
        old = (attributes.old_object or {}).get("status") or {}
        new = (attributes.object or {}).get("status") or {}
        if old.get("certificate") == new.get("certificate") and (old.get("conditions") or []) == (
            new.get("conditions") or []
        ):
            return
        signer = _signer(attributes.old_object)
        if not await may_use_signer(self._authorize, attributes.user, "sign", signer):
            why = f"user not permitted to sign requests with signerName {quote(signer)}"
            raise forbidden(attributes, why)


class ClusterTrustBundleAttest(AdmissionPlugin):
    name = "ClusterTrustBundleAttest"
    operations = frozenset(("CREATE", "UPDATE"))
    resources = frozenset(("clustertrustbundles.certificates.k8s.io",))

    def __init__(self, authorize: Authorize) -> None:
        self._authorize = authorize

    async def validate(self, attributes: Attributes) -> None:
        signer = _signer(attributes.object)
        if not signer or (attributes.operation == "UPDATE" and _only_bookkeeping(attributes)):
            return
        if not await may_use_signer(self._authorize, attributes.user, "attest", signer):
            why = f"user not permitted to attest for signerName {quote(signer)}"
            raise forbidden(attributes, why)


def _only_bookkeeping(attributes: Attributes) -> bool:
    """Garbage collection and storage migration touch these fields of objects they do not own."""
    kept = ("ownerReferences", "finalizers", "selfLink", "managedFields")

    def rest(obj: Object | None) -> Object:
        metadata = (obj or {}).get("metadata") or {}
        plain = {name: metadata[name] for name in metadata if name not in kept}
        return {**(obj or {}), "metadata": plain}

    return rest(attributes.object) == rest(attributes.old_object)


class CertificateSubjectRestriction(AdmissionPlugin):
    name = "CertificateSubjectRestriction"
    operations = frozenset(("CREATE",))
    resources = _REQUESTS

    async def validate(self, attributes: Attributes) -> None:
        if attributes.subresource or _signer(attributes.object) != _CLIENT_SIGNER:
            return
        assert attributes.object is not None
        try:
            subject = subject_of(attributes.object["spec"].get("request", ""))
        except CsrError as error:
            raise forbidden(attributes, f"failed to parse CSR: {error}") from error
        if "system:masters" in subject.organizations:
            why = f"use of {_CLIENT_SIGNER} signer with system:masters group is not allowed"
            raise forbidden(attributes, why)
