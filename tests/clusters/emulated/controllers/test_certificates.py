"""Certificate signing requests: approved, signed, refused and cleaned up."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from clusters.emulated.clock import VirtualClock
from clusters.emulated.cluster import EmulatedCluster
from clusters.emulated.controllers.certificate_requests import Parsed, refusal
from clusters.emulated.controllers.csr_cleaner import is_over

REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENT, KUBELET = "kubernetes.io/kube-apiserver-client", "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"
NODE_USAGES = ["digital signature", "client auth"]


def settle(cluster: EmulatedCluster, seconds: float = 1.0) -> None:
    assert isinstance(cluster.clock, VirtualClock)
    cluster.clock.advance(seconds)


def request_pem(common_name: str, *organizations: str, dns: str = "") -> str:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.x509.oid import NameOID

    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
    names.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    if dns:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(dns)]), critical=False)
    signed = builder.sign(ec.generate_private_key(ec.SECP256R1()), SHA256())
    return base64.b64encode(signed.public_bytes(Encoding.PEM)).decode()


def make_request(cluster: EmulatedCluster, pem: str, signer: str, usages: list[str], **spec: Any) -> None:
    body = {"request": pem, "signerName": signer, "usages": usages, **spec}
    cluster.api.create(REQUESTS, {"metadata": {"name": "r"}, "spec": body})
    settle(cluster)


def approve(cluster: EmulatedCluster) -> None:
    found = cluster.api.get(f"{REQUESTS}/r")
    condition = {"type": "Approved", "status": "True", "reason": "Because", "message": "yes"}
    cluster.api.update(f"{REQUESTS}/r/approval", {**found, "status": {"conditions": [condition]}})
    settle(cluster)


def status(cluster: EmulatedCluster) -> dict[str, Any]:
    found: dict[str, Any] = cluster.api.get(f"{REQUESTS}/r")["status"]
    return found


def certificate(cluster: EmulatedCluster) -> Any:
    from cryptography import x509

    return x509.load_pem_x509_certificate(base64.b64decode(status(cluster)["certificate"]))


def test_a_node_gets_its_client_certificate_without_anybody_s_help(cluster: EmulatedCluster) -> None:
    pem = request_pem("system:node:node-1", "system:nodes")
    make_request(cluster, pem, KUBELET, NODE_USAGES)
    (approved,) = status(cluster)["conditions"]
    # The admin may do everything, so also create the certificate of any node.
    assert (approved["type"], approved["reason"], approved["message"]) == (
        "Approved", "AutoApproved", "Auto approving kubelet client certificate after SubjectAccessReview."
    )  # fmt: skip
    settle(cluster)
    assert certificate(cluster).subject.rfc4514_string() == "CN=system:node:node-1,O=system:nodes"


def test_somebody_who_may_not_waits_for_an_approval(cluster: EmulatedCluster) -> None:
    cluster.run(cluster.components.stop("certificatesigningrequest-approving-controller"))
    make_request(cluster, request_pem("jane", "dev"), CLIENT, ["client auth"])
    assert status(cluster) == {}
    approve(cluster)
    issued = certificate(cluster)
    assert issued.issuer.rfc4514_string().startswith("CN=")
    seconds = (issued.not_valid_after_utc - issued.not_valid_before_utc).total_seconds()
    assert seconds == 365 * 24 * 3600


@pytest.mark.parametrize(("asked", "given"), [(3600, 3900), (86400, 86400), (10**9, 365 * 24 * 3600)])
def test_the_requested_duration_counts_from_five_minutes_ago(cluster: EmulatedCluster, asked: int, given: int) -> None:
    make_request(cluster, request_pem("jane"), CLIENT, ["client auth"], expirationSeconds=asked)
    approve(cluster)
    issued = certificate(cluster)
    assert (issued.not_valid_after_utc - issued.not_valid_before_utc).total_seconds() == given


def test_an_approved_request_that_breaks_its_signer_s_rules_fails(cluster: EmulatedCluster) -> None:
    make_request(cluster, request_pem("jane"), CLIENT, ["client auth", "code signing"])
    approve(cluster)
    failed = status(cluster)["conditions"][-1]
    assert (failed["type"], failed["reason"], failed["message"]) == (
        "Failed", "SignerValidationFailure", "invalid usage for client certificate: code signing"
    )  # fmt: skip
    assert "certificate" not in status(cluster)


def test_another_s_signer_is_left_alone(cluster: EmulatedCluster) -> None:
    make_request(cluster, request_pem("jane"), "example.com/mine", ["client auth"])
    approve(cluster)
    assert "certificate" not in status(cluster)


_NODE = Parsed(b"", "system:node:a", ("system:nodes",))
_SERVER = Parsed(b"", "system:node:a", ("system:nodes",), dns=("a",))


@pytest.mark.parametrize(
    ("signer", "parsed", "usages", "problem"),
    [
        (KUBELET, _NODE, ["digital signature", "key encipherment", "client auth"], ""),
        (KUBELET, _NODE, ["client auth"], "usages did not match [client auth digital signature key encipherment]"),
        (KUBELET, _SERVER, NODE_USAGES, "DNS subjectAltNames are not allowed"),
        (KUBELET, Parsed(b"", "jane", ("system:nodes",)), NODE_USAGES,
         "subject common name does not begin with system:node:"),
        (KUBELET, Parsed(b"", "system:node:a", ()), NODE_USAGES, "subject organization is not system:nodes"),
        (SERVING, _SERVER, ["digital signature", "server auth"], ""),
        (SERVING, _NODE, ["digital signature", "server auth"], "DNS or IP subjectAltName is required"),
        (CLIENT, _NODE, [], "missing required usage for client certificate: client auth"),
        ("kubernetes.io/legacy-unknown", _NODE, ["any"], ""),
    ],
)  # fmt: skip
def test_what_each_signer_refuses(signer: str, parsed: Parsed, usages: list[str], problem: str) -> None:
    assert refusal(signer, parsed, usages) == problem


HOUR = 3600.0


@pytest.mark.parametrize(
    ("kind", "issued", "age_s", "over"),
    [
        ("Approved", True, 0.5 * HOUR, False),
        ("Approved", True, 1.5 * HOUR, True),
        ("Approved", False, 1.5 * HOUR, False),
        ("Approved", False, 25 * HOUR, True),
        ("Denied", False, 1.5 * HOUR, True),
        ("Failed", False, 1.5 * HOUR, True),
        ("", False, 23 * HOUR, False),
        ("", False, 25 * HOUR, True),
    ],
)
def test_when_a_request_is_over(kind: str, issued: bool, age_s: float, over: bool) -> None:
    created = "2026-01-01T00:00:00Z"
    conditions = [{"type": kind, "lastUpdateTime": created}] if kind else []
    request = {
        "metadata": {"creationTimestamp": created},
        "status": {"conditions": conditions, "certificate": base64.b64encode(b"x").decode() if issued else ""},
    }
    assert is_over(request, 1767225600.0 + age_s) is over


def test_old_requests_are_cleaned_up(cluster: EmulatedCluster) -> None:
    make_request(cluster, request_pem("jane"), CLIENT, ["client auth"])
    approve(cluster)
    settle(cluster, 2 * HOUR + 60)
    assert cluster.api.request("GET", f"{REQUESTS}/r").code == 404
