from __future__ import annotations

import base64
from typing import Any

import pytest

from clusters.emulated.apiserver.request import UserInfo

ALICE = UserInfo("alice", groups=("system:authenticated",))


def csr(signer: str = "example.com/s", **fields: Any) -> dict[str, Any]:
    return {
        "kind": "CertificateSigningRequest",
        "metadata": {"name": "x"},
        "spec": {"signerName": signer},
        **fields,
    }


HOW: dict[str, Any] = {
    "group": "certificates.k8s.io",
    "resource": "certificatesigningrequests",
    "namespace": "",
    "user": ALICE,
}


@pytest.mark.parametrize(("subresource", "verb"), [("approval", "approve"), ("status", "sign")])
def test_signers_are_used_by_those_who_may(house: Any, subresource: str, verb: str) -> None:
    new = csr(status={"certificate": "QQ=="})
    how = {**HOW, "operation": "UPDATE", "subresource": subresource}

    refusal = house.refusal(new, old=csr(), **how)

    assert refusal.message == (
        'certificatesigningrequests.certificates.k8s.io "x" is forbidden: '
        f'user not permitted to {verb} requests with signerName "example.com/s"'
    )
    house.allowed.add(("alice", verb, "example.com/*"))
    house.admit(new, old=csr(), **how)


def test_no_client_certificate_makes_a_master(house: Any) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters")])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject)
    pem = request.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(
        serialization.Encoding.PEM
    )
    wanted = csr("kubernetes.io/kube-apiserver-client")
    wanted["spec"]["request"] = base64.b64encode(pem).decode()

    assert house.refusal(wanted, **HOW).message == (
        'certificatesigningrequests.certificates.k8s.io "x" is forbidden: '
        "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"
    )


def claim(size: str, phase: str = "Bound") -> dict[str, Any]:
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default", "resourceVersion": "1"},
        "spec": {"resources": {"requests": {"storage": size}}, "storageClassName": "s"},
        "status": {"phase": phase},
    }


def test_claims_grow_only_where_the_class_allows_it(house: Any) -> None:
    how: dict[str, Any] = {"resource": "persistentvolumeclaims", "operation": "UPDATE"}
    house.admit(claim("1Gi"), old=claim("1Gi", "Pending"), **how)
    assert house.refusal(claim("2Gi"), old=claim("1Gi", "Pending"), **how).message == (
        'persistentvolumeclaims "c" is forbidden: Only bound persistent volume claims can be expanded'
    )
    assert house.refusal(claim("2Gi"), old=claim("1Gi"), **how).message == (
        'persistentvolumeclaims "c" is forbidden: only dynamically provisioned pvc can be resized and '
        "the storageclass that provisions the pvc must support resize"
    )
    house.objects.put("storageclasses.storage.k8s.io", {"metadata": {"name": "s"}, "allowVolumeExpansion": True})
    house.admit(claim("2Gi"), old=claim("1Gi"), **how)


def running(cpu: str, generation: int) -> dict[str, Any]:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": "p", "namespace": "default", "generation": generation, "resourceVersion": "1"}
    return {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n", "containers": [container]}}


def test_a_pod_does_not_grow_beyond_its_node(house: Any) -> None:
    house.objects.put("nodes", {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "2", "memory": "1Gi"}}})

    refusal = house.refusal(running("3", 2), old=running("1", 1), operation="UPDATE", subresource="resize")

    assert refusal.message == (
        'pods "p" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 3000, allocatable: 2000'
    )
    assert refusal.details["causes"] == [{"reason": "NodeCapacity"}]
