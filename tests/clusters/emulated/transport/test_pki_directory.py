"""Certificates on disk: made once, private, the same after a restart, and never half there."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from clusters.emulated.transport.pki import Pki
from clusters.emulated.transport.pki_directory import PkiUnusableError

NOW_S = 1_800_000_000.0
YEAR_S = 365 * 24 * 3600.0


def test_the_second_start_has_the_first_ones_certificates(tmp_path: Path) -> None:
    first = Pki.load_or_create(tmp_path / "pki", NOW_S)
    second = Pki.load_or_create(tmp_path / "pki", NOW_S + 3600)
    assert second.ca.certificate_pem == first.ca.certificate_pem
    assert second.front_proxy_ca.certificate_pem == first.front_proxy_ca.certificate_pem
    assert (second.serving, second.admin) == (first.serving, first.admin)
    assert second.service_account == first.service_account


def test_a_stored_authority_signs_what_the_first_one_trusts(tmp_path: Path) -> None:
    from cryptography import x509

    first = Pki.load_or_create(tmp_path / "pki", NOW_S)
    second = Pki.load_or_create(tmp_path / "pki", NOW_S)
    alice = x509.load_pem_x509_certificate(second.ca.client("alice").certificate_pem)
    alice.verify_directly_issued_by(x509.load_pem_x509_certificate(first.ca.certificate_pem))


def test_nobody_else_can_read_them(tmp_path: Path) -> None:
    Pki.load_or_create(tmp_path / "pki", NOW_S)
    assert stat.S_IMODE((tmp_path / "pki").stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "pki").iterdir()} == {0o600}
    assert [each.name for each in tmp_path.iterdir()] == ["pki"], "nothing partial is left"


def test_what_expires_soon_is_issued_anew_by_the_same_authority(tmp_path: Path) -> None:
    first = Pki.load_or_create(tmp_path / "pki", NOW_S)
    later = Pki.load_or_create(tmp_path / "pki", NOW_S + YEAR_S)
    assert later.ca.certificate_pem == first.ca.certificate_pem
    assert later.serving != first.serving
    assert later.admin != first.admin
    assert Pki.load_or_create(tmp_path / "pki", NOW_S + YEAR_S).admin == later.admin, "and stored"


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "apiserver.crt", "admin.key", "sa.key"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    Pki.load_or_create(tmp_path / "pki", NOW_S)
    (tmp_path / "pki" / name).unlink()
    with pytest.raises(PkiUnusableError, match=f"{name} cannot be used: it is missing"):
        Pki.load_or_create(tmp_path / "pki", NOW_S)


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "apiserver.crt", "admin.crt"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str) -> None:
    Pki.load_or_create(tmp_path / "pki", NOW_S)
    (tmp_path / "pki" / name).write_text("scribble")
    with pytest.raises(PkiUnusableError, match=f"{name} cannot be used"):
        Pki.load_or_create(tmp_path / "pki", NOW_S)


def test_a_key_of_another_certificate_is_named(tmp_path: Path) -> None:
    Pki.load_or_create(tmp_path / "pki", NOW_S)
    Pki.load_or_create(tmp_path / "other", NOW_S)
    (tmp_path / "other" / "ca.key").replace(tmp_path / "pki" / "ca.key")
    with pytest.raises(PkiUnusableError, match="the key is not the certificate's"):
        Pki.load_or_create(tmp_path / "pki", NOW_S)
