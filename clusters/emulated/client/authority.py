"""What kube-controller-manager signs with: the cluster's CA and the key of ServiceAccount tokens.

A component has it only where it was given the keys; without, whatever needs a signature stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from cryptography import x509

Object = dict[str, Any]

BACKDATE_S = 300.0
_SHORT_S = 8 * 3600.0
_KEY_USAGES = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
# In the order in which Go writes them.
_EXTENDED_USAGES = {
    "any": "2.5.29.37.0",
    "server auth": "1.3.6.1.5.5.7.3.1",
    "client auth": "1.3.6.1.5.5.7.3.2",
    "code signing": "1.3.6.1.5.5.7.3.3",
    "email protection": "1.3.6.1.5.5.7.3.4",
    "s/mime": "1.3.6.1.5.5.7.3.4",
    "ipsec end system": "1.3.6.1.5.5.7.3.5",
    "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
    "ipsec user": "1.3.6.1.5.5.7.3.7",
    "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocsp signing": "1.3.6.1.5.5.7.3.9",
    "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
    "netscape sgc": "2.16.840.1.113730.4.1",
}


class SigningError(Exception):
    """The request cannot be signed; the message says why."""


class Authority(Protocol):
    @property
    def root_ca_pem(self) -> bytes: ...

    def legacy_token(self, service_account: Object, secret_name: str) -> str:
        """The token of a Secret of type kubernetes.io/service-account-token."""
        ...

    def certificate(self, request_pem: bytes, usages: Sequence[str], now_s: float, ttl_s: float) -> bytes:
        """PEM of a certificate for a PEM request. Raises `SigningError`."""
        ...


@dataclass(frozen=True, slots=True)
class KeyAuthority:
    """Signs with keys it holds."""

    root_ca_pem: bytes
    ca_key_pem: bytes
    service_account_key_pem: bytes

    def legacy_token(self, service_account: Object, secret_name: str) -> str:
        from clusters.emulated.apiserver.authentication.jwt import SigningKey
        from clusters.emulated.apiserver.authentication.token_issuer import legacy_token

        return legacy_token(service_account, secret_name, SigningKey.from_pem(self.service_account_key_pem))

    def certificate(self, request_pem: bytes, usages: Sequence[str], now_s: float, ttl_s: float) -> bytes:
        from cryptography import x509
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

        try:
            request = x509.load_pem_x509_csr(request_pem)
        except ValueError as error:
            raise SigningError(f"unable to parse certificate request: {error}") from None
        if not request.is_signature_valid:
            raise SigningError("unable to verify certificate request signature")
        issuer = x509.load_pem_x509_certificate(self.root_ca_pem)
        key: Any = load_pem_private_key(self.ca_key_pem, password=None)
        expires_s = now_s + ttl_s - (0.0 if ttl_s < _SHORT_S else BACKDATE_S)
        expires = min(datetime.fromtimestamp(int(expires_s), UTC), issuer.not_valid_after_utc)
        builder = (
            x509.CertificateBuilder()
            .subject_name(request.subject)
            .issuer_name(issuer.subject)
            .public_key(request.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime.fromtimestamp(int(now_s - BACKDATE_S), UTC))
            .not_valid_after(expires)
        )
        for extension, critical in _extensions(request, usages, key.public_key()):
            builder = builder.add_extension(extension, critical=critical)
        return builder.sign(key, SHA256()).public_bytes(Encoding.PEM)


def _extensions(
    request: x509.CertificateSigningRequest, usages: Sequence[str], issuer_key: Any
) -> list[tuple[x509.ExtensionType, bool]]:
    from cryptography import x509

    unknown = [usage for usage in usages if usage not in _KEY_USAGES and usage not in _EXTENDED_USAGES]
    if unknown:
        texts = " ".join(f'"{usage}"' for usage in unknown)
        raise SigningError(f"unrecognized usage values: [{texts}]")
    found: list[tuple[x509.ExtensionType, bool]] = []
    plain = {_KEY_USAGES[usage] for usage in usages if usage in _KEY_USAGES}
    if plain:
        found.append((x509.KeyUsage(**{name: name in plain for name in sorted(set(_KEY_USAGES.values()))}), True))
    extended = dict.fromkeys(oid for usage, oid in _EXTENDED_USAGES.items() if usage in usages)
    if extended:
        found.append((x509.ExtendedKeyUsage([x509.ObjectIdentifier(oid) for oid in extended]), False))
    found.append((x509.BasicConstraints(ca=False, path_length=None), True))
    found.append((x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), False))
    try:
        names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return found
    found.append((names.value, names.critical))
    return found
