"""Bad certificates, made for the occasion. They are real: whoever refuses one does it for its real reason."""

from __future__ import annotations

from clusters.emulated.clock import RealClock
from clusters.emulated.transport.pki import (
    SERVING_ADDRESSES,
    SERVING_NAMES,
    CertificateAuthority,
    Credential,
    Pki,
    Validity,
)
from clusters.lever_protocols import Defect

ELSEWHERE = "elsewhere.example.com"


def client_credential(pki: Pki, now_s: float, defect: Defect) -> Credential:
    """A client certificate of the administrator that the api-server, whose time it is, must not accept."""
    if defect == "foreign":
        return CertificateAuthority("kubernetes", now_s).client("kubernetes-admin", ("system:masters",))
    if defect == "wrong-usage":
        return pki.ca.server("kubernetes-admin")
    validity = {"expired": Validity.expired(now_s), "not-yet-valid": Validity.not_yet(now_s)}.get(defect)
    assert validity is not None, f"a client certificate has no defect {defect}"
    return pki.ca.client("kubernetes-admin", ("system:masters",), validity=validity)


def serving_credential(
    authority: CertificateAuthority,
    now_s: float,
    defect: Defect,
    names: tuple[str, ...] = SERVING_NAMES,
    addresses: tuple[str, ...] = SERVING_ADDRESSES,
) -> Credential:
    """A serving certificate that a client must not accept, whichever of the two times it lives in."""
    real_s = RealClock().now_s()
    if defect == "foreign":
        other = CertificateAuthority("kubernetes", now_s, Validity.current(now_s, 10.0).including(real_s))
        return other.server("kube-apiserver", names, addresses, validity=Validity.current(now_s).including(real_s))
    if defect == "wrong-name":
        good = Validity.current(now_s).including(real_s)
        return authority.server("kube-apiserver", (ELSEWHERE,), validity=good)
    validity = {
        "expired": Validity.expired(min(now_s, real_s)),
        "not-yet-valid": Validity.not_yet(max(now_s, real_s)),
    }.get(defect)
    assert validity is not None, f"a serving certificate has no defect {defect}"
    return authority.server("kube-apiserver", names, addresses, validity=validity)
