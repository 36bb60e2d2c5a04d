"""Client certificates: is one issued by the cluster's CA, valid now, meant for clients; and who is it?

The transport has proven that the client holds the key. Everything else about the certificate is checked here,
at cluster time, because Kubernetes answers a bad one with 401 instead of failing the handshake.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusters.emulated.apiserver.authentication.outcome import (
    CREDENTIAL_ID,
    CredentialRefusedError,
    with_authenticated_group,
)
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.clock import Clock

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from clusters.emulated.apiserver.http import HttpRequest

CHAIN_MAX = 8
USER_UID_OID = "1.3.6.1.4.1.57683.2"


@dataclass(frozen=True, slots=True)
class VerifiedCertificate:
    """A certificate with a chain to the CA, and between which times all of the chain is valid."""

    certificate: Certificate
    not_before_s: float
    not_after_s: float


class CertificateVerifier:
    """Finds a chain from a certificate to one of the roots."""

    def __init__(self, roots_pem: bytes) -> None:
        self._roots_pem = roots_pem
        self._parsed: list[Certificate] | None = None

    def _roots(self) -> list[Certificate]:
        if self._parsed is None:
            from cryptography import x509

            self._parsed = x509.load_pem_x509_certificates(self._roots_pem)
        return self._parsed

    def verify(self, der: bytes, intermediates: tuple[bytes, ...], now_s: float) -> VerifiedCertificate:
        """Raises CredentialRefusedError when there is no chain that is good for a client now."""
        from cryptography import x509

        try:
            leaf = x509.load_der_x509_certificate(der)
            between = [x509.load_der_x509_certificate(one) for one in intermediates]
        except ValueError as problem:
            raise CredentialRefusedError(f"x509: malformed certificate: {problem}") from None
        _check_dates(leaf, now_s)
        chain = self._chain([leaf], between, now_s)
        if chain is None:
            raise CredentialRefusedError("x509: certificate signed by unknown authority")
        if not all(_is_for_clients(certificate) for certificate in chain):
            raise CredentialRefusedError("x509: certificate specifies an incompatible key usage")
        return VerifiedCertificate(
            leaf,
            max(one.not_valid_before_utc.timestamp() for one in chain),
            min(one.not_valid_after_utc.timestamp() for one in chain),
        )

    def _chain(self, chain: list[Certificate], between: list[Certificate], now_s: float) -> list[Certificate] | None:
        last = chain[-1]
        for root in self._roots():
            if last == root:
                return chain
            if _issued(root, last) and _is_valid(root, now_s):
                return [*chain, root]
        if len(chain) < CHAIN_MAX:
            for issuer in between:
                if issuer not in chain and _issued(issuer, last) and _is_ca(issuer) and _is_valid(issuer, now_s):
                    found = self._chain([*chain, issuer], between, now_s)
                    if found is not None:
                        return found
        return None


class X509:
    """Authenticates the connection's client certificate: CN is the user, each O a group."""

    def __init__(self, client_ca_pem: bytes, clock: Clock) -> None:
        self._verifier = CertificateVerifier(client_ca_pem)
        self._clock = clock

    def authenticate(self, http: HttpRequest) -> UserInfo | None:
        if http.peer_certificate is None:
            return None
        now_s = self._clock.now_s()
        connection = http.connection
        known = connection.get("authentication.x509")
        if known is not None and known[0] is self and known[2] <= now_s <= known[3]:
            user: UserInfo | None = known[1]
            return user
        verified = self._verifier.verify(http.peer_certificate, http.peer_chain, now_s)
        user = user_of(verified.certificate, http.peer_certificate)
        if user is not None:
            user = with_authenticated_group(user)
        connection["authentication.x509"] = (self, user, verified.not_before_s, verified.not_after_s)
        return user


def user_of(certificate: Certificate, der: bytes) -> UserInfo | None:
    """None for a certificate without a common name: it says nobody's name."""
    from cryptography.x509.oid import NameOID

    name, uids, groups = "", [], []
    for attribute in certificate.subject:
        value = attribute.value if isinstance(attribute.value, str) else attribute.value.decode("utf-8", "replace")
        if attribute.oid == NameOID.COMMON_NAME:
            name = value
        elif attribute.oid == NameOID.ORGANIZATION_NAME:
            groups.append(value)
        elif attribute.oid.dotted_string == USER_UID_OID:
            uids.append(value)
    if not name:
        return None
    if len(uids) > 1:
        raise CredentialRefusedError(f"expected 1 UID, but found multiple: [{' '.join(uids)}]")
    if uids == [""]:
        raise CredentialRefusedError("UID cannot be an empty string")
    fingerprint = hashlib.sha256(der).hexdigest()
    extra = {CREDENTIAL_ID: (f"X509SHA256={fingerprint}",)}
    return UserInfo(name, uids[0] if uids else "", tuple(groups), extra)


def _check_dates(certificate: Certificate, now_s: float) -> None:
    if now_s > certificate.not_valid_after_utc.timestamp():
        raise CredentialRefusedError("x509: certificate has expired or is not yet valid: certificate has expired")
    if now_s < certificate.not_valid_before_utc.timestamp():
        raise CredentialRefusedError("x509: certificate has expired or is not yet valid: certificate is not yet valid")


def _is_valid(certificate: Certificate, now_s: float) -> bool:
    return certificate.not_valid_before_utc.timestamp() <= now_s <= certificate.not_valid_after_utc.timestamp()


def _issued(issuer: Certificate, certificate: Certificate) -> bool:
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    try:
        certificate.verify_directly_issued_by(issuer)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError):
        return False
    return True


def _is_ca(certificate: Certificate) -> bool:
    from cryptography import x509

    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _is_for_clients(certificate: Certificate) -> bool:
    """A certificate without extended key usages is good for everything."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return ExtendedKeyUsageOID.CLIENT_AUTH in usages or ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE in usages
