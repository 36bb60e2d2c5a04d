"""What a CertificateSigningRequest asks for, and whether its signer may give it, in Kubernetes' words."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]

CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING = "kubernetes.io/kubelet-serving"
LEGACY_UNKNOWN = "kubernetes.io/legacy-unknown"
SIGNERS = frozenset((CLIENT, KUBELET_CLIENT, KUBELET_SERVING, LEGACY_UNKNOWN))


class RequestError(Exception):
    """The PEM inside cannot be read."""


@dataclass(frozen=True, slots=True)
class Parsed:
    pem: bytes
    common_name: str
    organizations: tuple[str, ...]
    dns: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()


def parse(request: str) -> Parsed:
    """`request` is spec.request: base64 over PEM."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        pem = base64.b64decode(request)
        found = x509.load_pem_x509_csr(pem)
    except (binascii.Error, ValueError) as error:
        raise RequestError(str(error)) from None

    def values(oid: x509.ObjectIdentifier) -> tuple[str, ...]:
        return tuple(str(each.value) for each in found.subject.get_attributes_for_oid(oid))

    names = values(NameOID.COMMON_NAME)
    common_name, organizations = names[-1] if names else "", values(NameOID.ORGANIZATION_NAME)
    try:
        alternatives = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return Parsed(pem, common_name, organizations)

    def of(kind: Any) -> tuple[str, ...]:
        return tuple(str(each) for each in alternatives.get_values_for_type(kind))

    return Parsed(
        pem, common_name, organizations, of(x509.DNSName), of(x509.RFC822Name), of(x509.IPAddress),
        of(x509.UniformResourceIdentifier),
    )  # fmt: skip


def refusal(signer: str, request: Parsed, usages: Iterable[str]) -> str:
    """Why this signer does not sign this request; empty if it does."""
    if signer == KUBELET_CLIENT:
        return kubelet_client_problem(request, usages)
    if signer == KUBELET_SERVING:
        return _kubelet_serving_problem(request, usages)
    return _client_problem(usages) if signer == CLIENT else ""


def kubelet_client_problem(request: Parsed, usages: Iterable[str]) -> str:
    if request.organizations != ("system:nodes",):
        return "subject organization is not system:nodes"
    if request.dns:
        return "DNS subjectAltNames are not allowed"
    if request.emails:
        return "Email subjectAltNames are not allowed"
    if request.addresses:
        return "IP subjectAltNames are not allowed"
    if request.uris:
        return "URI subjectAltNames are not allowed"
    if not request.common_name.startswith("system:node:"):
        return "subject common name does not begin with system:node:"
    return _usage_problem(usages, "client auth")


def _kubelet_serving_problem(request: Parsed, usages: Iterable[str]) -> str:
    if request.organizations != ("system:nodes",):
        return "subject organization is not system:nodes"
    if not request.dns and not request.addresses:
        return "DNS or IP subjectAltName is required"
    if request.emails:
        return "Email subjectAltNames are not allowed"
    if request.uris:
        return "URI subjectAltNames are not allowed"
    problem = _usage_problem(usages, "server auth")
    if not problem and not request.common_name.startswith("system:node:"):
        return "subject common name does not begin with system:node:"
    return problem


def _usage_problem(usages: Iterable[str], purpose: str) -> str:
    wanted = {"digital signature", "key encipherment", purpose}
    if set(usages) in (wanted, wanted - {"key encipherment"}):
        return ""
    return f"usages did not match [{' '.join(sorted(wanted))}]"


def _client_problem(usages: Iterable[str]) -> str:
    named = list(usages)
    for usage in named:
        if usage not in ("digital signature", "key encipherment", "client auth"):
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in named else "missing required usage for client certificate: client auth"


def has_condition(request: Object, kind: str) -> bool:
    """Whatever its status: Approved and Denied are always true."""
    return any(each["type"] == kind for each in (request.get("status") or {}).get("conditions") or ())


def is_true(request: Object, kind: str) -> bool:
    conditions = (request.get("status") or {}).get("conditions") or ()
    return any(each["type"] == kind and each.get("status", "True") in ("True", "") for each in conditions)


def is_issued(request: Object) -> bool:
    return bool((request.get("status") or {}).get("certificate"))
