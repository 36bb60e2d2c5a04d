"""The certificates of one cluster: its CAs, the serving certificate, the admin, and bad ones on demand.

Keys are EC P-256: a cluster's whole PKI takes about two milliseconds. Validity comes from the given time, so a
certificate is expired in cluster time; serial numbers and keys are secrets and never come from a seed.

    pki = Pki.create(now_s=clock.now_s())
    alice = pki.ca.client("alice", groups=("dev",))
    expired = pki.ca.client("alice", validity=Validity.expired(clock.now_s()))
    foreign = Pki.create(now_s=clock.now_s()).ca.client("alice")
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clusters.emulated.transport.tls import server_context

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate, KeyUsage, Name

# `cryptography` takes 40 to 90 ms to import; it is imported by the functions below, on their first call.

_HOUR_S = 3600.0
_YEAR_S = 365 * 24 * _HOUR_S

SERVING_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
SERVING_ADDRESSES = ("127.0.0.1", "::1", "10.96.0.1")


@dataclass(frozen=True, slots=True)
class Validity:
    """From when until when a certificate is valid, in Unix seconds."""

    not_before_s: float
    not_after_s: float

    @classmethod
    def current(cls, now_s: float, years: float = 1.0) -> Validity:
        """Valid now. It begins an hour ago, for clients whose clock is a little behind."""
        return cls(now_s - _HOUR_S, now_s + years * _YEAR_S)

    def including(self, moment_s: float | None) -> Validity:
        """Lengthened so that it holds an hour before and a year after this moment too."""
        if moment_s is None:
            return self
        return Validity(min(self.not_before_s, moment_s - _HOUR_S), max(self.not_after_s, moment_s + _YEAR_S))

    @classmethod
    def expired(cls, now_s: float, ago_s: float = _HOUR_S) -> Validity:
        return cls(now_s - _YEAR_S, now_s - ago_s)

    @classmethod
    def not_yet(cls, now_s: float, in_s: float = _HOUR_S) -> Validity:
        return cls(now_s + in_s, now_s + in_s + _YEAR_S)


@dataclass(frozen=True, slots=True)
class Credential:
    """A certificate and its private key, as PEM."""

    certificate_pem: bytes
    key_pem: bytes

    @property
    def certificate_der(self) -> bytes:
        return ssl.PEM_cert_to_DER_cert(self.certificate_pem.decode("ascii"))

    def server_context(self, client_ca_pems: Sequence[bytes] = ()) -> ssl.SSLContext:
        """Serves this certificate."""
        return server_context(self.certificate_pem, self.key_pem, client_ca_pems)


class CertificateAuthority:
    """Signs client and serving certificates. `now_s` is the time that default validities start from."""

    def __init__(self, common_name: str, now_s: float, validity: Validity | None = None) -> None:
        self.now_s = now_s
        self._key = new_key()
        self._name = _name(common_name, ())
        self._certificate = _certificate(
            self._name, self._name, self._key, self._key, validity or Validity.current(now_s, 10.0), ca=True
        )

    @classmethod
    def load(cls, certificate_pem: bytes, key_pem: bytes, now_s: float) -> CertificateAuthority:
        """One that was stored. Raises ValueError when the two are unreadable or do not belong together."""
        from cryptography import x509
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        certificate = x509.load_pem_x509_certificate(certificate_pem)
        key = load_pem_private_key(key_pem, password=None)
        if not isinstance(key, EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
            raise ValueError("the key is not the certificate's")
        authority = cls.__new__(cls)
        authority.now_s = now_s
        authority._key = key
        authority._name = certificate.subject
        authority._certificate = certificate
        return authority

    @cached_property
    def certificate_pem(self) -> bytes:
        return _pem(self._certificate)

    @cached_property
    def certificate_der(self) -> bytes:
        return ssl.PEM_cert_to_DER_cert(self.certificate_pem.decode("ascii"))

    def client(self, user: str, groups: Sequence[str] = (), *, validity: Validity | None = None) -> Credential:
        """A client certificate: Kubernetes reads the user from CN and the groups from O."""
        return self._issue(user, groups, validity, client=True)

    def server(
        self,
        common_name: str,
        names: Sequence[str] = (),
        addresses: Sequence[str] = (),
        *,
        validity: Validity | None = None,
    ) -> Credential:
        """A serving certificate for these DNS names and IP addresses. Used as a client's it earns a 401."""
        return self._issue(common_name, (), validity, names=names, addresses=addresses)

    def sign(
        self, user: str, groups: Sequence[str], key: EllipticCurvePrivateKey, validity: Validity | None = None
    ) -> bytes:
        """PEM of a client certificate for a key that exists already."""
        return _pem(
            _certificate(
                _name(user, groups),
                self._name,
                key,
                self._key,
                validity or Validity.current(self.now_s),
                client=True,
            )
        )

    def _issue(
        self,
        common_name: str,
        organizations: Sequence[str],
        validity: Validity | None,
        *,
        client: bool = False,
        names: Sequence[str] = (),
        addresses: Sequence[str] = (),
    ) -> Credential:
        key = new_key()
        certificate = _certificate(
            _name(common_name, organizations),
            self._name,
            key,
            self._key,
            validity or Validity.current(self.now_s),
            client=client,
            names=names,
            addresses=addresses,
        )
        return Credential(_pem(certificate), key_pem(key))

    @cached_property
    def key_pem(self) -> bytes:
        return key_pem(self._key)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The key pair that signs ServiceAccount tokens (ES256)."""

    private_pem: bytes
    public_pem: bytes

    @classmethod
    def create(cls) -> SigningKey:
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        key = new_key()
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return cls(key_pem(key), public)


@dataclass(frozen=True, slots=True)
class Pki:
    """What `kubeadm init` would put below /etc/kubernetes/pki."""

    ca: CertificateAuthority
    front_proxy_ca: CertificateAuthority
    serving: Credential
    admin: Credential
    service_account: SigningKey

    @classmethod
    def create(
        cls,
        now_s: float,
        extra_names: Sequence[str] = (),
        extra_addresses: Sequence[str] = (),
        *,
        also_s: float | None = None,
    ) -> Pki:
        """`also_s` is another time at which the CA and the serving certificate have to be good: that of clients
        who do not live in the cluster's time."""
        validity = Validity.current(now_s, 10.0).including(also_s)
        ca = CertificateAuthority("kubernetes", now_s, validity)
        front_proxy_ca = CertificateAuthority("front-proxy-ca", now_s)
        serving = Validity.current(now_s).including(also_s)
        return cls.issue(ca, front_proxy_ca, SigningKey.create(), extra_names, extra_addresses, serving)

    @classmethod
    def issue(
        cls,
        ca: CertificateAuthority,
        front_proxy_ca: CertificateAuthority,
        service_account: SigningKey,
        extra_names: Sequence[str] = (),
        extra_addresses: Sequence[str] = (),
        serving_validity: Validity | None = None,
    ) -> Pki:
        """New serving and admin certificates under these authorities."""
        return cls(
            ca=ca,
            front_proxy_ca=front_proxy_ca,
            serving=ca.server(
                "kube-apiserver",
                (*SERVING_NAMES, *extra_names),
                (*SERVING_ADDRESSES, *extra_addresses),
                validity=serving_validity,
            ),
            admin=ca.client("kubernetes-admin", ("system:masters",)),
            service_account=service_account,
        )

    @classmethod
    def load_or_create(cls, directory: Path, now_s: float) -> Pki:
        """The one stored in `directory` (see `pki_directory`), made on first use."""
        from clusters.emulated.transport.pki_directory import load_or_create

        return load_or_create(directory, now_s)

    def server_context(self, serving: Credential | None = None) -> ssl.SSLContext:
        """The listener's TLS; `serving` replaces the certificate that it shows. Like kube-apiserver it names
        both CAs as issuers of the client certificates it would like to see."""
        return (serving or self.serving).server_context((self.ca.certificate_pem, self.front_proxy_ca.certificate_pem))

    def client_context(self, credential: Credential | None = None) -> ssl.SSLContext:
        """TLS for a client of this cluster that trusts its CA and shows `credential`."""
        from clusters.emulated.transport.tls import client_context

        return client_context(
            self.ca.certificate_pem,
            None if credential is None else (credential.certificate_pem, credential.key_pem),
        )


def new_key() -> EllipticCurvePrivateKey:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: EllipticCurvePrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())


def _pem(certificate: Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _name(common_name: str, organizations: Sequence[str]) -> Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    if common_name:
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
    return x509.Name(attributes)


def _certificate(
    subject: Name,
    issuer: Name,
    key: EllipticCurvePrivateKey,
    issuer_key: EllipticCurvePrivateKey,
    validity: Validity,
    *,
    ca: bool = False,
    client: bool = False,
    names: Sequence[str] = (),
    addresses: Sequence[str] = (),
) -> Certificate:
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.x509.oid import ExtendedKeyUsageOID

    public = key.public_key()
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.fromtimestamp(int(validity.not_before_s), UTC))
        .not_valid_after(datetime.fromtimestamp(int(validity.not_after_s), UTC))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(_key_usage(ca), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if ca:
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    else:
        usage = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if names or addresses:
        alternatives = [x509.DNSName(name) for name in names]
        builder = builder.add_extension(
            x509.SubjectAlternativeName(
                [*alternatives, *(x509.IPAddress(ip_address(address)) for address in addresses)]
            ),
            critical=False,
        )
    return builder.sign(issuer_key, SHA256())


def _key_usage(ca: bool) -> KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=not ca,
        key_cert_sign=ca,
        crl_sign=ca,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
