"""Whether a certificate and a key belong together: what Go's tls.X509KeyPair says about them."""

from __future__ import annotations

import re

_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\s.*?-----END \1-----", re.DOTALL)


def _blocks(pem: bytes) -> list[str]:
    return [kind.decode("ascii") for kind in _BLOCK.findall(pem)]


def _skipped(kinds: list[str]) -> str:
    return f"after skipping PEM blocks of the following types: [{' '.join(kinds)}]"


def pair_error(certificate: bytes, key: bytes) -> str:
    """Empty if they are a pair. Only the shape of the PEM files and the keys' equality are looked at."""
    kinds = _blocks(certificate)
    if "CERTIFICATE" not in kinds:
        if not kinds:
            return "tls: failed to find any PEM data in certificate input"
        if len(kinds) == 1 and kinds[0].endswith("PRIVATE KEY"):
            return (
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
                "PEM inputs may have been switched"
            )
        return f'tls: failed to find "CERTIFICATE" PEM block in certificate input {_skipped(kinds)}'
    key_kinds = _blocks(key)
    if not any(kind == "PRIVATE KEY" or kind.endswith(" PRIVATE KEY") for kind in key_kinds):
        if not key_kinds:
            return "tls: failed to find any PEM data in key input"
        if key_kinds == ["CERTIFICATE"]:
            return "tls: found a certificate rather than a key in the PEM for the private key"
        return f'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input {_skipped(key_kinds)}'
    return _mismatch(certificate, key)


def _mismatch(certificate: bytes, key: bytes) -> str:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        public = x509.load_pem_x509_certificate(certificate).public_key()
    except ValueError as wrong:
        return f"x509: {wrong}"
    try:
        private = load_pem_private_key(key, None)
    except (ValueError, TypeError):
        return "tls: failed to parse private key"
    own = private.public_key()
    if type(own) is not type(public):
        return "tls: private key type does not match public key type"
    return "" if own == public else "tls: private key does not match public key"
