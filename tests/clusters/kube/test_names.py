from __future__ import annotations

import pytest

from clusters.kube import ipaddr, names


def test_names_that_are_fine() -> None:
    assert names.dns_label("web-1") == []
    assert names.dns_subdomain("a.b-c.d") == []
    assert names.qualified_name("example.com/My_Name.1") == []
    assert names.label_value("") == []
    assert names.env_var_name("any thing!") == []


def test_a_generated_name_may_begin_with_a_dash_at_its_end() -> None:
    assert names.dns_label("web-", prefix=True) == []
    assert names.dns_label("web-") != []


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (names.dns_label("a.b"), ["must not contain dots"]),
        (names.path_segment_name(".."), ["may not be '..'"]),
        (names.path_segment_name("a/b%"), ["may not contain '/'", "may not contain '%'"]),
        (names.config_map_key("..x"), ["must not start with '..'"]),
        (names.port_number(0), ["must be between 1 and 65535, inclusive"]),
        (
            names.port_name("--"),
            [
                "must contain at least one letter (a-z)",
                "must not contain consecutive hyphens",
                "must not begin or end with a hyphen",
            ],
        ),
        (names.label_value("x" * 64), ["must be no more than 63 bytes"]),
        (names.dns_subdomain("x" * 254), ["must be no more than 253 characters"]),
    ],
)
def test_what_is_wrong_with_a_name(texts: list[str], expected: list[str]) -> None:
    assert texts == expected


@pytest.mark.parametrize(
    ("address", "texts"),
    [
        ("10.0.0.1", []),
        ("10.0.0.01", ["must not have leading 0s"]),
        ("::ffff:10.0.0.1", ["must not be an IPv4-mapped IPv6 address"]),
        ("10.0.0", ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]),
        ("fe80::1%eth0", ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]),
    ],
)
def test_addresses_in_new_values(address: str, texts: list[str]) -> None:
    assert ipaddr.ip(address, strict=True) == texts


def test_networks() -> None:
    assert ipaddr.cidr("10.0.0.0/8", strict=True) == []
    assert ipaddr.cidr("10.0.0.1/8", strict=True) == ["must not have bits set beyond the prefix length"]
    assert ipaddr.warnings_for_cidr("f", "10.0.0.1/8") == [
        'f: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)'
    ]
