"""Checking a server's certificate in the order, and with the words, of Go's crypto/x509.

The order decides which of several faults is named: dates, then host name, then issuer, then key usage.
Python's `ssl` checks in another order and words differently, so its verification is off and this one runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING

from clusters.kube.gostring import quote

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_NAMES_SHOWN_MAX = 100
_CHAIN_LENGTH_MAX = 10
_LABEL_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


class CertificateRefusedError(Exception):
    """The text after `tls: failed to verify certificate: `."""


def load_roots(pem: bytes) -> list[Certificate]:
    """The certificates of a CA bundle; those that cannot be read are left out, as Go leaves them out."""
    from cryptography import x509

    end = b"-----END CERTIFICATE-----"
    roots: list[Certificate] = []
    for block in pem.split(end)[:-1]:
        start = block.find(b"-----BEGIN CERTIFICATE-----")
        if start < 0:
            continue
        try:
            roots.append(x509.load_pem_x509_certificate(block[start:] + end + b"\n"))
        except ValueError:
            continue
    return roots


def verify_server_certificate(
    chain_der: Sequence[bytes], roots: Sequence[Certificate], server_name: str, now_s: float
) -> None:
    """Raises `CertificateRefusedError` unless the leaf `chain_der[0]` is good for `server_name` at `now_s`."""
    from cryptography import x509

    try:
        leaf, *intermediates = [x509.load_der_x509_certificate(der) for der in chain_der]
    except ValueError as error:
        raise CertificateRefusedError(f"x509: malformed certificate: {error}") from error
    now = datetime.fromtimestamp(now_s, UTC)
    _check_dates(leaf, now)
    _check_host(leaf, server_name)
    if leaf not in roots:
        _check_issuer([leaf], roots, intermediates, now)
    if not _allows_server_auth(leaf):
        raise CertificateRefusedError("x509: certificate specifies an incompatible key usage")


def _check_dates(certificate: Certificate, now: datetime) -> None:
    before, after = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if before <= now <= after:
        return
    relation = f"before {_rfc3339(before)}" if now < before else f"after {_rfc3339(after)}"
    raise CertificateRefusedError(
        f"x509: certificate has expired or is not yet valid: current time {_rfc3339(now)} is {relation}"
    )


def _rfc3339(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


# Host names.


def _check_host(leaf: Certificate, host: str) -> None:
    names, addresses, has_extension = _alternative_names(leaf)
    address = _parse_address(host.removeprefix("[").removesuffix("]") if host.startswith("[") else host)
    if address is not None:
        host = host.strip("[]")
        if any(_plain(candidate) == _plain(address) for candidate in addresses):
            return
    elif any(_name_matches(name, host) for name in names):
        return
    if not has_extension and _labels_match(_common_name(leaf), host.lower().rstrip(".").split(".")):
        raise CertificateRefusedError("x509: certificate relies on legacy Common Name field, use SANs instead")
    if address is not None and not addresses:
        raise CertificateRefusedError(
            f"x509: cannot validate certificate for {host} because it doesn't contain any IP SANs"
        )
    valid = [str(candidate) for candidate in addresses] if address is not None else names
    if len(valid) >= _NAMES_SHOWN_MAX:
        what = "names" if address is None else "IP SANs"
        raise CertificateRefusedError(f"x509: certificate is valid for {len(valid)} {what}, but none matched {host}")
    if not valid:
        raise CertificateRefusedError(f"x509: certificate is not valid for any names, but wanted to match {host}")
    raise CertificateRefusedError(f"x509: certificate is valid for {', '.join(valid)}, not {host}")


def _alternative_names(
    leaf: Certificate,
) -> tuple[list[str], list[IPv4Address | IPv6Address], bool]:
    from cryptography import x509

    try:
        extension = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return [], [], False
    addresses = [
        address
        for address in extension.get_values_for_type(x509.IPAddress)
        if isinstance(address, IPv4Address | IPv6Address)
    ]
    return extension.get_values_for_type(x509.DNSName), addresses, True


def _parse_address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _plain(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """An IPv4 address in IPv6 clothing is that IPv4 address."""
    return getattr(address, "ipv4_mapped", None) or address


def _name_matches(pattern: str, host: str) -> bool:
    host = host.lower()
    if _is_host_name(host.removesuffix("."), False) and _is_host_name(pattern, True):
        return _labels_match(pattern, host.removesuffix(".").split("."))
    return pattern.lower() == host != ""


def _is_host_name(name: str, pattern: bool) -> bool:
    if name in ("", "*"):
        return False
    for i, label in enumerate(name.split(".")):
        if pattern and i == 0 and label == "*":
            continue
        if not label or label[0] == "-" or not _LABEL_LETTERS.issuperset(label):
            return False
    return True


def _labels_match(pattern: str, labels: list[str]) -> bool:
    """`*.ns.svc` matches `web.ns.svc`: a star stands for exactly one label, and only the first."""
    if not pattern:
        return False
    parts = pattern.lower().split(".")
    return len(parts) == len(labels) and all(
        part == label or (i == 0 and part == "*") for i, (part, label) in enumerate(zip(parts, labels, strict=True))
    )


def _common_name(certificate: Certificate) -> str:
    from cryptography.x509.oid import NameOID

    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""


# Issuers.


def _check_issuer(
    chain: list[Certificate],
    roots: Sequence[Certificate],
    intermediates: Sequence[Certificate],
    now: datetime,
) -> None:
    """Looks for a way from the end of `chain` to a root. A signature that does not fit becomes Go's hint."""
    child = chain[-1]
    hint: tuple[CertificateRefusedError, Certificate] | None = None
    beyond: CertificateRefusedError | None = None
    for parent, is_root in _potential_parents(child, chain, roots, intermediates):
        try:
            _check_signature(child, parent)
        except CertificateRefusedError as refusal:
            hint = hint or (refusal, parent)
            continue
        try:
            _check_dates(parent, now)
            if not is_root:
                _check_issuer([*chain, parent], roots, intermediates, now)
        except CertificateRefusedError as refusal:
            # An authority that did sign, but is no good itself, is named as the fault.
            beyond = refusal
            continue
        return
    if beyond is not None:
        raise beyond
    text = "x509: certificate signed by unknown authority"
    if hint is not None:
        obstacle, candidate = hint
        text += (
            f" (possibly because of {quote(str(obstacle))} while trying to verify candidate authority "
            f"certificate {quote(_shown_name(candidate))})"
        )
    raise CertificateRefusedError(text)


def _potential_parents(
    child: Certificate,
    chain: list[Certificate],
    roots: Sequence[Certificate],
    intermediates: Sequence[Certificate],
) -> Iterator[tuple[Certificate, bool]]:
    if len(chain) > _CHAIN_LENGTH_MAX:
        return
    for pool, is_root in ((roots, True), (intermediates, False)):
        for candidate in pool:
            if candidate.subject == child.issuer and candidate not in chain:
                yield candidate, is_root


def _check_signature(child: Certificate, parent: Certificate) -> None:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    try:
        is_ca = parent.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        is_ca = False
    try:
        may_sign = parent.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign
    except x509.ExtensionNotFound:
        may_sign = True
    if not (is_ca and may_sign):
        raise CertificateRefusedError(
            "x509: invalid signature: parent certificate cannot sign this kind of certificate"
        )
    try:
        child.verify_directly_issued_by(parent)
    except (InvalidSignature, ValueError, TypeError) as error:
        key = parent.public_key()
        if isinstance(key, ec.EllipticCurvePublicKey):
            text = "x509: ECDSA verification failure"
        elif isinstance(key, ed25519.Ed25519PublicKey):
            text = "x509: Ed25519 verification failure"
        else:
            text = "crypto/rsa: verification error"
        raise CertificateRefusedError(text) from error


def _shown_name(certificate: Certificate) -> str:
    from cryptography.x509.oid import NameOID

    name = _common_name(certificate)
    if name:
        return name
    organizations = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return str(organizations[0].value) if organizations else f"serial:{certificate.serial_number}"


def _allows_server_auth(leaf: Certificate) -> bool:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    try:
        usages = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    wanted = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)
    return any(usage in wanted for usage in usages)
