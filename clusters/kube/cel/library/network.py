"""IP addresses and CIDRs, with the parse errors of Go's netip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

from clusters.kube.cel import types as t
from clusters.kube.cel.declarations import Row
from clusters.kube.cel.errors import EvaluationError
from clusters.kube.cel.values import Opaque

_HEX = frozenset("0123456789abcdefABCDEF")


def _quoted(text: str) -> str:
    from clusters.kube.cel.library.formatting import go_quote

    return go_quote(text)


class AddressError(ValueError):
    """Why netip would not parse it."""


class IP(Opaque):
    __slots__ = ("address",)
    cel_type = t.IP

    def __init__(self, address: IPv4Address | IPv6Address) -> None:
        self.address = address

    def equals(self, other: object) -> bool:
        if not isinstance(other, IP):
            raise EvaluationError("no such overload")
        return self.address == other.address

    def cel_size(self) -> int:
        return self.address.max_prefixlen // 8


class CIDR(Opaque):
    __slots__ = ("address", "bits")
    cel_type = t.CIDR

    def __init__(self, address: IPv4Address | IPv6Address, bits: int) -> None:
        self.address = address
        self.bits = bits

    def equals(self, other: object) -> bool:
        if not isinstance(other, CIDR):
            raise EvaluationError("no such overload")
        return self.address == other.address and self.bits == other.bits

    def cel_size(self) -> int:
        return -(-self.bits // 8)

    def covers(self, address: IPv4Address | IPv6Address) -> bool:
        if address.version != self.address.version:
            return False
        shift = address.max_prefixlen - self.bits
        return int(address) >> shift == int(self.address) >> shift


def _parse_v4(text: str) -> IPv4Address:
    fields: list[int] = []
    value, digits = 0, 0
    for index, char in enumerate(text):
        if char.isdigit() and char < "\x80":
            if digits == 1 and value == 0:
                raise AddressError("IPv4 field has octet with leading zero")
            value = value * 10 + int(char)
            digits += 1
            if value > 255:
                raise AddressError("IPv4 field has value >255")
        elif char == ".":
            if index == 0 or index == len(text) - 1 or text[index - 1] == ".":
                raise AddressError(f"IPv4 field must have at least one digit (at {_quoted(text[index:])})")
            if len(fields) == 3:
                raise AddressError("IPv4 address too long")
            fields.append(value)
            value, digits = 0, 0
        else:
            raise AddressError(f"unexpected character (at {_quoted(text[index:])})")
    if len(fields) < 3:
        raise AddressError("IPv4 address too short")
    return IPv4Address(".".join(str(each) for each in (*fields, value)))


def _parse_v6(text: str) -> IPv6Address:
    body, mark, zone = text.partition("%")
    if mark and not zone:
        raise AddressError("zone must be a non-empty string")
    rest, groups, gap = body, 0, False
    if rest.startswith("::"):
        gap, rest = True, rest[2:]
    while groups < 8 and rest:
        length = 0
        while length < len(rest) and rest[length] in _HEX:
            length += 1
            if length > 4:
                raise AddressError(f"each group must have 4 or less digits (at {_quoted(rest)})")
        if length == 0:
            raise AddressError(f"each colon-separated field must have at least one digit (at {_quoted(rest)})")
        if length < len(rest) and rest[length] == ".":
            if not gap and groups != 6:
                raise AddressError(
                    f"embedded IPv4 address must replace the final 2 fields of the address (at {_quoted(rest)})"
                )
            if groups + 2 > 8:
                raise AddressError(
                    f"too many hex fields to fit an embedded IPv4 at the end of the address (at {_quoted(rest)})"
                )
            _parse_v4(rest)
            rest, groups = "", groups + 2
            break
        groups += 1
        rest = rest[length:]
        if not rest:
            break
        if rest[0] != ":":
            raise AddressError(f"unexpected character, want colon (at {_quoted(rest)})")
        if len(rest) == 1:
            raise AddressError(f"colon must be followed by more characters (at {_quoted(rest)})")
        rest = rest[1:]
        if rest[0] == ":":
            if gap:
                raise AddressError(f"multiple :: in address (at {_quoted(rest)})")
            gap, rest = True, rest[1:]
    if rest:
        raise AddressError(f"trailing garbage after address (at {_quoted(rest)})")
    if groups < 8 and not gap:
        raise AddressError("address string too short")
    if groups == 8 and gap:
        raise AddressError("the :: must expand to at least one field of zeros")
    return IPv6Address(body)


def _parse_addr(text: str) -> IPv4Address | IPv6Address:
    for char in text:
        try:
            if char == ".":
                return _parse_v4(text)
            if char == ":":
                return _parse_v6(text)
            if char == "%":
                raise AddressError("missing IPv6 address")
        except AddressError as error:
            raise AddressError(f"ParseAddr({_quoted(text)}): {error}") from error
    raise AddressError(f"ParseAddr({_quoted(text)}): unable to parse IP")


def _parse_ip(text: str) -> IP:
    try:
        address = _parse_addr(text)
    except AddressError as error:
        raise EvaluationError(
            f"IP Address {_quoted(text)} parse error during conversion from string: {error}"
        ) from error
    if "%" in text:
        raise EvaluationError(f"IP address {_quoted(text)} with zone value is not allowed")
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise EvaluationError(f"IPv4-mapped IPv6 address {_quoted(text)} is not allowed")
    return IP(address)


def _parse_prefix(text: str) -> CIDR:
    wrong = f"netip.ParsePrefix({_quoted(text)}): "
    head, slash, tail = text.rpartition("/")
    if not slash:
        raise AddressError(wrong + "no '/'")
    try:
        address = _parse_addr(head)
    except AddressError as error:
        raise AddressError(wrong + str(error)) from error
    if "%" in head:
        raise AddressError(wrong + "IPv6 zones cannot be present in a prefix")
    if len(tail) > 1 and not "1" <= tail[0] <= "9":
        raise AddressError(wrong + f"bad bits after slash: {_quoted(tail)}")
    if not tail or not (tail.isascii() and tail.isdigit()):
        raise AddressError(wrong + f"bad bits after slash: {_quoted(tail)}")
    if int(tail) > address.max_prefixlen:
        raise AddressError(wrong + "prefix length out of range")
    return CIDR(address, int(tail))


def _parse_cidr(text: str) -> CIDR:
    prefix = "network address parse error during conversion from string: "
    try:
        cidr = _parse_prefix(text)
    except AddressError as error:
        raise EvaluationError(f"{prefix}{prefix}{error}") from error
    if isinstance(cidr.address, IPv6Address) and cidr.address.ipv4_mapped is not None:
        raise EvaluationError(f"{prefix}IPv4-mapped IPv6 address {_quoted(text)} is not allowed")
    return cidr


def _parses(parse: object) -> object:
    def test(text: str) -> bool:
        try:
            parse(text)  # type: ignore[operator]
        except EvaluationError:
            return False
        return True

    return test


def _masked(cidr: CIDR) -> CIDR:
    shift = cidr.address.max_prefixlen - cidr.bits
    kept = int(cidr.address) >> shift << shift
    return CIDR(type(cidr.address)(kept), cidr.bits)


def _contains_cidr(outer: CIDR, inner: CIDR) -> bool:
    return outer.bits <= inner.bits and outer.covers(inner.address)


def _contains_ip_string(cidr: CIDR, text: str) -> bool:
    # What cannot be parsed is no IP, and so no such overload.
    try:
        return cidr.covers(_parse_ip(text).address)
    except EvaluationError:
        raise EvaluationError("no such overload") from None


def _contains_cidr_string(cidr: CIDR, text: str) -> bool:
    return _contains_cidr(cidr, _parse_cidr(text))


def _is_global_unicast(ip: IP) -> bool:
    address = ip.address
    broadcast = address.version == 4 and int(address) == 0xFFFFFFFF
    return not (address.is_unspecified or address.is_loopback or address.is_multicast or _link_local(ip) or broadcast)


def _link_local(ip: IP) -> bool:
    address = ip.address
    return int(address) >> 16 == 0xA9FE if address.version == 4 else int(address) >> 118 == 0x3FA


def _link_local_multicast(ip: IP) -> bool:
    value = int(ip.address)
    if ip.address.version == 4:
        return value >> 8 == 0xE00000
    return value >> 120 == 0xFF and value >> 112 & 0xF == 2


def _cidr_string(cidr: CIDR) -> str:
    return f"{cidr.address}/{cidr.bits}"


FUNCTIONS: Mapping[str, Sequence[Row]] = {
    "ip": [("string_to_ip", "(string): IP", _parse_ip), ("cidr_ip", "CIDR.(): IP", lambda cidr: IP(cidr.address))],
    "family": [("ip_family", "IP.(): int", lambda ip: ip.address.version)],
    "ip.isCanonical": [("ip_is_canonical", "(string): bool", lambda text: str(_parse_ip(text).address) == text)],
    "isUnspecified": [("ip_is_unspecified", "IP.(): bool", lambda ip: ip.address.is_unspecified)],
    "isLoopback": [("ip_is_loopback", "IP.(): bool", lambda ip: ip.address.is_loopback)],
    "isLinkLocalMulticast": [("ip_is_link_local_multicast", "IP.(): bool", _link_local_multicast)],
    "isLinkLocalUnicast": [("ip_is_link_local_unicast", "IP.(): bool", _link_local)],
    "isGlobalUnicast": [("ip_is_global_unicast", "IP.(): bool", _is_global_unicast)],
    "isIP": [("is_ip", "(string): bool", _parses(_parse_ip))],  # type: ignore[list-item]
    "string": [
        ("ip_to_string", "(IP): string", lambda ip: str(ip.address)),
        ("cidr_to_string", "(CIDR): string", _cidr_string),
    ],
    "cidr": [("string_to_cidr", "(string): CIDR", _parse_cidr)],
    "containsIP": [
        ("cidr_contains_ip_string", "CIDR.(string): bool", _contains_ip_string),
        ("cidr_contains_ip_ip", "CIDR.(IP): bool", lambda cidr, ip: cidr.covers(ip.address)),
    ],
    "containsCIDR": [
        ("cidr_contains_cidr_string", "CIDR.(string): bool", _contains_cidr_string),
        ("cidr_contains_cidr", "CIDR.(CIDR): bool", _contains_cidr),
    ],
    "prefixLength": [("cidr_prefix_length", "CIDR.(): int", lambda cidr: cidr.bits)],
    "masked": [("cidr_masked", "CIDR.(): CIDR", _masked)],
    "isCIDR": [("is_cidr", "(string): bool", _parses(_parse_cidr))],  # type: ignore[list-item]
}

__all__ = ["CIDR", "FUNCTIONS", "IP", "ip_address"]
