from __future__ import annotations

import pytest

from clusters.kube.quantity import QuantityError, canonical, error, parse


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("1000m", "1"), ("0.5", "500m"), ("1.5Gi", "1536Mi"), ("1024Mi", "1Gi"), ("1000", "1k"), ("1024", "1024"),
        ("1e3", "1e3"), ("12e-2", "120e-3"), ("0.1n", "1n"), ("10Ei", "9223372036854775807"), ("-0", "0"),
        ("1.500", "1.500"), ("+1", "+1"), ("0.001Ki", "1024m"), ("1000E", "1"), (".5", "500m"),
    ],
)  # fmt: skip
def test_canonical_form(written: str, stored: str) -> None:
    assert canonical(written) == stored


@pytest.mark.parametrize("text", ["", "abc", "1..2", "1Q", "1 Gi"])
def test_what_does_not_look_like_a_quantity(text: str) -> None:
    assert error(text).startswith("quantities must match the regular expression '^([+-]?[0-9.]+)")


def test_a_suffix_nobody_knows() -> None:
    with pytest.raises(QuantityError, match="unable to parse quantity's suffix"):
        parse("1Kii")


def test_amounts_compare_whatever_their_notation() -> None:
    assert parse("1Gi") == parse("1073741824")
    assert parse("1500m") > parse("1")
    assert parse("100m").value() == 1
    assert parse("-100m").value() == -1


def test_a_sum_keeps_the_notation_of_its_first_part() -> None:
    assert str(parse("1Gi") + parse("512Mi")) == "1536Mi"
    assert str(parse("0") + parse("1Gi")) == "1Gi"
    assert str(parse("1") - parse("250m")) == "750m"


def test_rounding_up_keeps_what_is_too_large_for_a_word() -> None:
    assert str(parse("79414548770228743.603025").rounded_up(-3)) == "79414548770228743604m"
