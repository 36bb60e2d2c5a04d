"""Certificates for tests, valid around a chosen moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, ObjectIdentifier

NOW_S = 1_800_000_000.0


class Authority:
    """A CA, or an intermediate one when it is given an issuer."""

    def __init__(self, name: str, issuer: Authority | None = None) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = issuer or self
        builder = _builder(self.name, issuer.name, self.key.public_key(), -1000, 1_000_000)
        builder = builder.add_extension(x509.BasicConstraints(True, None), True)
        self.certificate = builder.sign(issuer.key, hashes.SHA256())

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(Encoding.DER)

    def issue(
        self,
        name: str,
        *groups: str,
        starts_s: float = -100,
        ends_s: float = 3600,
        usage: ObjectIdentifier | None = ExtendedKeyUsageOID.CLIENT_AUTH,
    ) -> bytes:
        """The DER of a certificate; times are relative to NOW_S."""
        names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        if name:
            names.append(x509.NameAttribute(NameOID.COMMON_NAME, name))
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(x509.Name(names), self.name, key.public_key(), starts_s, ends_s)
        if usage is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), False)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(Encoding.DER)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, starts_s: float, ends_s: float
) -> x509.CertificateBuilder:
    now = datetime.fromtimestamp(NOW_S, UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + timedelta(seconds=starts_s))
        .not_valid_after(now + timedelta(seconds=ends_s))
    )
