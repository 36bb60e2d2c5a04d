"""A cluster's certificates and keys as files, so that kubeconfigs and tokens outlive a restart.

    pki/                      0700
      ca.crt ca.key           and front-proxy-ca: the authorities, for ten years
      apiserver.crt .key      what the listener shows
      admin.crt .key          what the kubeconfig shows
      sa.key sa.pub           signs ServiceAccount tokens

The names are kubeadm's. The directory is made under another name and renamed when it is complete, so it exists
whole or not at all. Serving and admin certificates that have expired, or soon will, are issued anew.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from clusters.emulated.transport.pki import CertificateAuthority, Credential, Pki, SigningKey

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_RENEW_BEFORE_S = 24 * 3600.0


class PkiUnusableError(Exception):
    """A stored certificate or key cannot be used. Restore the file, or remove the directory to start anew."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(
            f"{file} cannot be used: {reason}; restore it, or remove {file.parent} to have new certificates made "
            "(kubeconfigs and tokens given out before are void then)"
        )
        self.file = file


def load_or_create(directory: Path, now_s: float) -> Pki:
    """The PKI in `directory`; a new one is made and stored there when the directory does not exist."""
    if not directory.exists():
        pki = Pki.create(now_s)
        _save(directory, pki)
        return pki
    ca = _authority(directory, "ca", now_s)
    stored = Pki(
        ca=ca,
        front_proxy_ca=_authority(directory, "front-proxy-ca", now_s),
        serving=_credential(directory, "apiserver"),
        admin=_credential(directory, "admin"),
        service_account=SigningKey(_read(directory / "sa.key"), _read(directory / "sa.pub")),
    )
    return _renewed(directory, stored, now_s)


def _renewed(directory: Path, pki: Pki, now_s: float) -> Pki:
    due = [
        name
        for name, credential in (("apiserver", pki.serving), ("admin", pki.admin))
        if _not_after_s(directory / f"{name}.crt", credential.certificate_pem) < now_s + _RENEW_BEFORE_S
    ]
    if not due:
        return pki
    fresh = Pki.issue(pki.ca, pki.front_proxy_ca, pki.service_account)
    serving = fresh.serving if "apiserver" in due else pki.serving
    admin = fresh.admin if "admin" in due else pki.admin
    renewed = Pki(pki.ca, pki.front_proxy_ca, serving, admin, pki.service_account)
    for name, data in _files(renewed).items():
        if name.partition(".")[0] in due:
            _write(directory / name, data)
    return renewed


def _save(directory: Path, pki: Pki) -> None:
    partial = directory.with_name(f".{directory.name}.{secrets.token_hex(8)}")
    partial.mkdir(mode=0o700, parents=True)
    try:
        for name, data in _files(pki).items():
            _write(partial / name, data)
        partial.rename(directory)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    _sync_directory(directory.parent)


def _files(pki: Pki) -> dict[str, bytes]:
    return {
        "ca.crt": pki.ca.certificate_pem,
        "ca.key": pki.ca.key_pem,
        "front-proxy-ca.crt": pki.front_proxy_ca.certificate_pem,
        "front-proxy-ca.key": pki.front_proxy_ca.key_pem,
        "apiserver.crt": pki.serving.certificate_pem,
        "apiserver.key": pki.serving.key_pem,
        "admin.crt": pki.admin.certificate_pem,
        "admin.key": pki.admin.key_pem,
        "sa.key": pki.service_account.private_pem,
        "sa.pub": pki.service_account.public_pem,
    }


def _write(file: Path, data: bytes) -> None:
    """0600 from its first byte on, durable, and never half of it under its own name."""
    partial = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(file)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise PkiUnusableError(file, "it is missing") from None


def _authority(directory: Path, name: str, now_s: float) -> CertificateAuthority:
    certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
    _not_after_s(certificate, _read(certificate))
    try:
        return CertificateAuthority.load(_read(certificate), _read(key), now_s)
    except ValueError as error:
        raise PkiUnusableError(key, str(error)) from None


def _credential(directory: Path, name: str) -> Credential:
    return Credential(_read(directory / f"{name}.crt"), _read(directory / f"{name}.key"))


def _not_after_s(file: Path, pem: bytes) -> float:
    from cryptography import x509

    try:
        certificate: Certificate = x509.load_pem_x509_certificate(pem)
    except ValueError as error:
        raise PkiUnusableError(file, f"it is no certificate in PEM form ({error})") from None
    return certificate.not_valid_after_utc.timestamp()
