"""IP addresses and CIDRs as Kubernetes reads them: leniently in old fields, strictly in new ones.

"Sloppy" accepts what Go accepted before 1.17 (IPv4 octets with leading zeros); strict refuses that and
IPv4-mapped IPv6. Checks return the texts Kubernetes gives.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from clusters.kube.gostring import quote

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

INVALID_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
INVALID_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


@lru_cache(maxsize=4096)
def parse_ip(text: str) -> Address | None:
    """The address, or None; an IPv4-mapped IPv6 address is its IPv4 address, as Go's net.IP has it."""
    if "." in text and ":" not in text:
        return _ipv4(text)
    if "%" in text:
        return None
    groups = text.split(":")
    head = [group.lstrip("0")[-4:] or "0" if _is_hex(group) and len(group) > 4 else group for group in groups[:-1]]
    tail = groups[-1]
    if "." in tail:
        mapped = _ipv4(tail)
        if mapped is None:
            return None
        tail = str(mapped)
    elif len(tail) > 4 and _is_hex(tail):
        tail = tail.lstrip("0") or "0"
    try:
        address = ipaddress.IPv6Address(":".join([*head, tail]))
    except ValueError:
        return None
    return address.ipv4_mapped or address


def _is_hex(text: str) -> bool:
    return bool(text) and all(character in "0123456789abcdefABCDEF" for character in text)


def _ipv4(text: str) -> ipaddress.IPv4Address | None:
    parts = text.split(".")
    if len(parts) != 4:
        return None
    value = 0
    for part in parts:
        if not part.isascii() or not part.isdigit() or int(part) > 255:
            return None
        value = value << 8 | int(part)
    return ipaddress.IPv4Address(value)


@lru_cache(maxsize=4096)
def _parse_strict(text: str) -> Address | None:
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def ip(value: str, strict: bool = False) -> list[str]:
    """A field that has always held an IP: `strict` for values that were not there before."""
    if parse_ip(value) is None:
        return [INVALID_IP]
    if strict:
        exact = _parse_strict(value)
        if exact is None:
            return ["must not have leading 0s"]
        if isinstance(exact, ipaddress.IPv6Address) and exact.ipv4_mapped:
            return ["must not be an IPv4-mapped IPv6 address"]
    return []


def canonical_ip(value: str) -> list[str]:
    """A new field: strict, and written the one canonical way."""
    errors = ip(value, strict=True)
    if errors:
        return errors
    canonical = str(parse_ip(value))
    return [] if value == canonical else [f"must be in canonical form ({quote(canonical)})"]


def _split_cidr(text: str) -> tuple[Address, int] | None:
    address_text, slash, bits_text = text.partition("/")
    address = parse_ip(address_text)
    if not slash or address is None or not bits_text.isascii() or not bits_text.isdigit():
        return None
    bits = int(bits_text)
    # The prefix length of a mapped address counts from the IPv6 notation it is written in.
    width = 128 if ":" in address_text else 32
    return (address, bits) if bits <= width else None


@lru_cache(maxsize=1024)
def parse_cidr(text: str) -> Network | None:
    """The network with its host bits cleared, or None."""
    found = _split_cidr(text)
    if found is None:
        return None
    address, bits = found
    if isinstance(address, ipaddress.IPv6Address):
        return ipaddress.IPv6Network((int(address), bits), strict=False)
    return ipaddress.IPv4Network((int(address), max(bits - 96, 0) if ":" in text else bits), strict=False)


def cidr(value: str, strict: bool = False) -> list[str]:
    network = parse_cidr(value)
    if network is None:
        return [INVALID_CIDR]
    if strict:
        address_text, _, bits = value.partition("/")
        exact = _parse_strict(address_text)
        if exact is None or (len(bits) > 1 and bits.startswith("0")):
            return ["must not have leading 0s in IP or prefix length"]
        if isinstance(exact, ipaddress.IPv6Address) and exact.ipv4_mapped:
            return ["must not have an IPv4-mapped IPv6 address"]
        if exact != network.network_address:
            return ["must not have bits set beyond the prefix length"]
    return []


def canonical_cidr(value: str) -> list[str]:
    errors = cidr(value, strict=True)
    if errors:
        return errors
    canonical = str(parse_cidr(value))
    return [] if value == canonical else [f"must be in canonical form ({quote(canonical)})"]


def warnings_for_ip(field: str, value: str) -> list[str]:
    address = parse_ip(value)
    if address is None:
        return []
    exact = _parse_strict(value)
    if exact is None or (isinstance(exact, ipaddress.IPv6Address) and exact.ipv4_mapped):
        return [f"{field}: non-standard IP address {quote(value)} is invalid: use {quote(str(address))}"]
    if exact.version == 6 and str(exact) != value:
        return [f"{field}: IPv6 address {quote(value)} should be in RFC 5952 canonical format ({quote(str(exact))})"]
    return []


def warnings_for_cidr(field: str, value: str) -> list[str]:
    found, network = _split_cidr(value), parse_cidr(value)
    if found is None or network is None:
        return []
    warnings = []
    if found[0] != network.network_address:
        single = f"{found[0]}/{network.max_prefixlen}"
        warnings.append(
            f"{field}: CIDR value {quote(value)} is ambiguous in this context "
            f"(should be {quote(str(network))} or {quote(single)}?)"
        )
    address_text, _, bits = value.partition("/")
    exact = _parse_strict(address_text)
    mapped = isinstance(exact, ipaddress.IPv6Address) and exact.ipv4_mapped
    if exact is None or mapped or (len(bits) > 1 and bits.startswith("0")):
        warnings.append(f"{field}: non-standard CIDR value {quote(value)} is invalid: use {quote(str(network))}")
    elif not warnings and exact.version == 6 and f"{exact}/{bits}" != value:
        warnings.append(
            f"{field}: IPv6 CIDR value {quote(value)} should be in RFC 5952 canonical format "
            f"({quote(f'{exact}/{bits}')})"
        )
    return warnings
