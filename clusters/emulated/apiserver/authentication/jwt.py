"""JSON Web Tokens in compact form: signing (ES256, RS256) and checking signatures; claims are others' business.

`cryptography` is imported on first use, because a cluster that never sees a token should not pay for it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import (
        EllipticCurvePrivateKey,
        EllipticCurvePublicKey,
    )
    from cryptography.hazmat.primitives.asymmetric.rsa import (
        RSAPrivateKey,
        RSAPublicKey,
    )
    from cryptography.hazmat.primitives.hashes import HashAlgorithm

    PrivateKey = EllipticCurvePrivateKey | RSAPrivateKey
    PublicKey = EllipticCurvePublicKey | RSAPublicKey

Claims = dict[str, Any]

BAD_SIGNATURE = "go-jose/go-jose: error in cryptographic primitive"
# Algorithm → (key family, hash bits, length of one half of an ECDSA signature in bytes).
_ALGORITHMS = {
    "RS256": ("RSA", 256, 0), "RS384": ("RSA", 384, 0), "RS512": ("RSA", 512, 0),
    "PS256": ("PSS", 256, 0), "PS384": ("PSS", 384, 0), "PS512": ("PSS", 512, 0),
    "ES256": ("EC", 256, 32), "ES384": ("EC", 384, 48), "ES512": ("EC", 512, 66),
}  # fmt: skip


class SignatureRefusedError(Exception):
    """No key vouches for the token; the text is go-jose's."""


def _decode(text: str) -> bytes:
    if "=" in text:
        raise binascii.Error("padding is not allowed")
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True)
class Token:
    """A token taken apart; nothing about it is proven until `verify` returns."""

    algorithm: str
    key_id: str
    claims: Claims
    signed: bytes
    signature: bytes


def parse(text: str) -> Token | None:
    """None when the text is no JWT in compact form."""
    parts = text.split(".")
    if len(parts) != 3:
        return None
    try:
        header = json.loads(_decode(parts[0]))
        claims = json.loads(_decode(parts[1]))
        signature = _decode(parts[2])
    except (binascii.Error, ValueError):
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict):
        return None
    key_id = header.get("kid")
    return Token(
        str(header.get("alg", "")),
        key_id if isinstance(key_id, str) else "",
        claims,
        f"{parts[0]}.{parts[1]}".encode("ascii"),
        signature,
    )


def verify(token: Token, keys: Sequence[PublicKey]) -> None:
    """Returns when one of the keys signed the token; raises SignatureRefusedError otherwise."""
    algorithm = _ALGORITHMS.get(token.algorithm)
    if algorithm is None or not any(_signed_by(token, key, *algorithm) for key in keys):
        raise SignatureRefusedError(BAD_SIGNATURE)


def _digest(bits: int) -> HashAlgorithm:
    from cryptography.hazmat.primitives import hashes

    digests: dict[int, HashAlgorithm] = {256: hashes.SHA256(), 384: hashes.SHA384(), 512: hashes.SHA512()}
    return digests[bits]


def _signed_by(token: Token, key: PublicKey, family: str, bits: int, half: int) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

    digest = _digest(bits)
    try:
        if family == "EC":
            if not isinstance(key, ec.EllipticCurvePublicKey) or len(token.signature) != 2 * half:
                return False
            if (key.curve.key_size + 7) // 8 != half:
                return False
            r, s = token.signature[:half], token.signature[half:]
            encoded = utils.encode_dss_signature(int.from_bytes(r, "big"), int.from_bytes(s, "big"))
            key.verify(encoded, token.signed, ec.ECDSA(digest))
        elif not isinstance(key, rsa.RSAPublicKey):
            return False
        elif family == "PSS":
            scheme = padding.PSS(padding.MGF1(digest), padding.PSS.AUTO)
            key.verify(token.signature, token.signed, scheme, digest)
        else:
            key.verify(token.signature, token.signed, padding.PKCS1v15(), digest)
    except InvalidSignature:
        return False
    return True


def key_id_of(key: PublicKey) -> str:
    """The id Kubernetes gives a key: the SHA-256 of its DER form."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return _encode(hashlib.sha256(der).digest())


class SigningKey:
    """A private key that signs tokens; its kind gives the algorithm."""

    def __init__(self, private_key: PrivateKey) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec, rsa

        self._private_key = private_key
        self.public_key: PublicKey = private_key.public_key()
        if isinstance(private_key, rsa.RSAPrivateKey):
            self.algorithm = "RS256"
        else:
            assert isinstance(private_key, ec.EllipticCurvePrivateKey)
            self.algorithm = {256: "ES256", 384: "ES384", 521: "ES512"}[private_key.curve.key_size]
        self.key_id = key_id_of(self.public_key)
        header = json.dumps({"alg": self.algorithm, "kid": self.key_id}, separators=(",", ":"))
        self._header = _encode(header.encode())

    @classmethod
    def generate(cls) -> SigningKey:
        """A fresh ES256 key: made in microseconds where an RSA key takes a tenth of a second."""
        from cryptography.hazmat.primitives.asymmetric import ec

        return cls(ec.generate_private_key(ec.SECP256R1()))

    @classmethod
    def from_pem(cls, pem: bytes) -> SigningKey:
        from cryptography.hazmat.primitives.asymmetric import ec, rsa
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        key = load_pem_private_key(pem, None)
        if not isinstance(key, (ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey)):
            raise TypeError("a ServiceAccount signing key must be an RSA or EC private key")
        return cls(key)

    def sign(self, claims: Mapping[str, Any]) -> str:
        payload = json.dumps(claims, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        signed = f"{self._header}.{_encode(payload.encode())}"
        return f"{signed}.{_encode(self._signature(signed.encode('ascii')))}"

    def _signature(self, data: bytes) -> bytes:
        from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

        _, bits, half = _ALGORITHMS[self.algorithm]
        digest = _digest(bits)
        if isinstance(self._private_key, rsa.RSAPrivateKey):
            return self._private_key.sign(data, padding.PKCS1v15(), digest)
        r, s = utils.decode_dss_signature(self._private_key.sign(data, ec.ECDSA(digest)))
        return r.to_bytes(half, "big") + s.to_bytes(half, "big")


class KeySet:
    """Public keys by id. A token that names a key is only checked against that one."""

    def __init__(self, keys: Mapping[str, PublicKey]) -> None:
        self._by_id = dict(keys)

    @classmethod
    def of(cls, keys: Sequence[PublicKey]) -> KeySet:
        return cls({key_id_of(key): key for key in keys})

    @classmethod
    def from_jwks(cls, document: Mapping[str, Any]) -> KeySet:
        """An issuer's `/keys` document; keys that are not for signatures are left out."""
        keys = {}
        for position, entry in enumerate(document.get("keys") or ()):
            if entry.get("use", "sig") == "sig":
                keys[entry.get("kid") or f"#{position}"] = _from_jwk(entry)
        return cls(keys)

    def matching(self, key_id: str) -> list[PublicKey]:
        if not key_id:
            return list(self._by_id.values())
        return [self._by_id[key_id]] if key_id in self._by_id else []

    def all(self) -> list[PublicKey]:
        return list(self._by_id.values())

    def jwks(self) -> dict[str, Any]:
        """The document that `/openid/v1/jwks` serves."""
        return {"keys": [_to_jwk(key_id, key) for key_id, key in self._by_id.items()]}


def _number(text: str) -> int:
    return int.from_bytes(_decode(text), "big")


def _from_jwk(entry: Mapping[str, str]) -> PublicKey:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    if entry.get("kty") == "RSA":
        return rsa.RSAPublicNumbers(_number(entry["e"]), _number(entry["n"])).public_key()
    curves: dict[str | None, ec.EllipticCurve] = {
        "P-256": ec.SECP256R1(),
        "P-384": ec.SECP384R1(),
        "P-521": ec.SECP521R1(),
    }
    if entry.get("kty") != "EC" or entry.get("crv") not in curves:
        raise ValueError(f"key {entry.get('kid')!r} is of type {entry.get('kty')!r}; RSA and EC keys can be used")
    curve = curves[entry["crv"]]
    return ec.EllipticCurvePublicNumbers(_number(entry["x"]), _number(entry["y"]), curve).public_key()


def _to_jwk(key_id: str, key: PublicKey) -> dict[str, str]:
    from cryptography.hazmat.primitives.asymmetric import rsa

    def text(number: int, length: int) -> str:
        return _encode(number.to_bytes(length, "big"))

    if isinstance(key, rsa.RSAPublicKey):
        numbers = key.public_numbers()
        n = text(numbers.n, (numbers.n.bit_length() + 7) // 8)
        e = text(numbers.e, (numbers.e.bit_length() + 7) // 8)
        return {"use": "sig", "kty": "RSA", "kid": key_id, "alg": "RS256", "n": n, "e": e}
    bits = key.curve.key_size
    length = (bits + 7) // 8
    point = key.public_numbers()
    return {
        "use": "sig",
        "kty": "EC",
        "kid": key_id,
        "crv": f"P-{bits}",
        "alg": {256: "ES256", 384: "ES384", 521: "ES512"}[bits],
        "x": text(point.x, length),
        "y": text(point.y, length),
    }
