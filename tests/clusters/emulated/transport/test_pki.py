"""Certificates as Kubernetes reads them, and the bad ones that faults need."""

from __future__ import annotations

import time

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from clusters.emulated.transport.pki import SERVING_ADDRESSES, SERVING_NAMES, Pki, Validity

NOW_S = 1_794_992_143.0


def load(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def test_a_client_certificate_carries_user_and_groups() -> None:
    certificate = load(Pki.create(NOW_S).ca.client("alice", ("dev", "ops")).certificate_pem)
    subject = certificate.subject
    assert [name.value for name in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["alice"]
    assert [name.value for name in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == [
        "dev",
        "ops",
    ]
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_the_admin_is_a_master_and_signed_by_the_ca() -> None:
    pki = Pki.create(NOW_S)
    admin = load(pki.admin.certificate_pem)
    admin.verify_directly_issued_by(load(pki.ca.certificate_pem))
    assert admin.subject.rfc4514_string() == "CN=kubernetes-admin,O=system:masters"


def test_the_serving_certificate_is_for_every_name_of_the_api_server() -> None:
    pki = Pki.create(NOW_S, extra_names=("api.test",), extra_addresses=("192.0.2.1",))
    names = load(pki.serving.certificate_pem).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.DNSName) == [*SERVING_NAMES, "api.test"]
    addresses = [str(address) for address in names.value.get_values_for_type(x509.IPAddress)]
    assert addresses == [*SERVING_ADDRESSES, "192.0.2.1"]


def test_validity_follows_the_given_time() -> None:
    ca = Pki.create(NOW_S).ca
    for validity, before, after in (
        (None, True, True),
        (Validity.expired(NOW_S), True, False),
        (Validity.not_yet(NOW_S), False, True),
    ):
        certificate = load(ca.client("a", validity=validity).certificate_pem)
        assert (certificate.not_valid_before_utc.timestamp() <= NOW_S) is before
        assert (certificate.not_valid_after_utc.timestamp() >= NOW_S) is after


def test_two_clusters_do_not_trust_each_other() -> None:
    ours, theirs = Pki.create(NOW_S), Pki.create(NOW_S)
    assert ours.ca.certificate_pem != theirs.ca.certificate_pem
    assert ours.ca.certificate_pem != ours.front_proxy_ca.certificate_pem


def test_the_service_account_key_is_a_pair() -> None:
    key = Pki.create(NOW_S).service_account
    private = load_pem_private_key(key.private_pem, None)
    assert private.public_key() == load_pem_public_key(key.public_pem)


def test_a_pki_is_made_in_milliseconds() -> None:
    Pki.create(NOW_S)
    best_s = min(_seconds(lambda: Pki.create(NOW_S).server_context()) for _ in range(5))
    assert best_s < 0.02


def _seconds(work: object) -> float:
    assert callable(work)
    started_s = time.perf_counter()
    work()
    return time.perf_counter() - started_s
