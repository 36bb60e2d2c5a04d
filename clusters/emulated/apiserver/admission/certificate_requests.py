"""The subject of a PEM-encoded certificate signing request, as CertificateSigningRequests carry it."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass


class CsrError(ValueError):
    """The request is no PEM-encoded CSR; `str()` says why."""


@dataclass(frozen=True, slots=True)
class Subject:
    common_name: str
    organizations: tuple[str, ...]


def subject_of(request: str) -> Subject:
    """`request` is spec.request: base64 over PEM. Raises CsrError."""
    try:
        pem = base64.b64decode(request)
    except (binascii.Error, ValueError) as error:
        raise CsrError("PEM block type must be CERTIFICATE REQUEST") from error
    if b"-----BEGIN CERTIFICATE REQUEST-----" not in pem:
        raise CsrError("PEM block type must be CERTIFICATE REQUEST")
    # Imported here: cryptography is heavy, and few requests are CSRs.
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        subject = x509.load_pem_x509_csr(pem).subject
    except ValueError as error:
        raise CsrError(str(error)) from error

    def values(oid: x509.ObjectIdentifier) -> tuple[str, ...]:
        return tuple(str(each.value) for each in subject.get_attributes_for_oid(oid))

    common_names = values(NameOID.COMMON_NAME)
    return Subject(common_names[-1] if common_names else "", values(NameOID.ORGANIZATION_NAME))
