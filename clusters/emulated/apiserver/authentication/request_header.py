"""The authenticating front proxy: a peer with the proxy's certificate may say in headers who the user is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from clusters.emulated.apiserver.authentication.outcome import CredentialRefusedError
from clusters.emulated.apiserver.authentication.x509 import CertificateVerifier
from clusters.emulated.apiserver.request import UserInfo
from clusters.emulated.clock import Clock

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from clusters.emulated.apiserver.http import HttpRequest


@dataclass(frozen=True, slots=True)
class RequestHeaderOptions:
    """kubeadm's `--requestheader-*` flags. Empty `allowed_names` allows every certificate of the CA."""

    allowed_names: Sequence[str] = ("front-proxy-client",)
    username_headers: Sequence[str] = ("X-Remote-User",)
    uid_headers: Sequence[str] = ()
    group_headers: Sequence[str] = ("X-Remote-Group",)
    extra_header_prefixes: Sequence[str] = ("X-Remote-Extra-",)


class RequestHeader:
    """Believes the headers when the connection's certificate comes from the request-header CA."""

    def __init__(self, ca_pem: bytes, clock: Clock, options: RequestHeaderOptions | None = None) -> None:
        self._verifier = CertificateVerifier(ca_pem)
        self._clock = clock
        self._options = options or RequestHeaderOptions()

    def authenticate(self, http: HttpRequest) -> UserInfo | None:
        if http.peer_certificate is None:
            return None
        options = self._options
        headers = http.headers
        name = next(filter(None, (headers.get(header) for header in options.username_headers)), None)
        if name is None:
            # Whoever does not speak for somebody is looked at by the next authenticator; no need to verify.
            return None
        verified = self._verifier.verify(http.peer_certificate, http.peer_chain, self._clock.now_s())
        common_name = _common_name(verified.certificate)
        if options.allowed_names and common_name not in options.allowed_names:
            raise CredentialRefusedError(f"x509: subject with cn={common_name} is not in the allowed list")
        uid = next(filter(None, (headers.get(header) for header in options.uid_headers)), "")
        groups = [value for header in options.group_headers for value in headers.get_all(header) if value]
        extra: dict[str, tuple[str, ...]] = {}
        for prefix in options.extra_header_prefixes:
            lower = prefix.lower()
            for header, value in headers.items():
                if header.startswith(lower):
                    key = unquote(header[len(lower) :])
                    extra[key] = (*extra.get(key, ()), value)
        return UserInfo(name, uid or "", tuple(groups), extra)


def _common_name(certificate: Certificate) -> str:
    from cryptography.x509.oid import NameOID

    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""
