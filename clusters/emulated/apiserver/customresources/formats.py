"""The string formats that a custom resource's schema can ask for; formats it does not know are not checked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date
from urllib.parse import urlsplit

from clusters.kube import ipaddr

Check = Callable[[str], bool]

_UUID = r"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{}[0-9a-f]{{3}}-?{}[0-9a-f]{{3}}-?[0-9a-f]{{12}}"
_DATE_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_SHORT_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONG_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_GO_DURATION = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+|[+-]?0")
_LONG_DURATION = re.compile(r"\d+\s*([A-Za-zµ]+)")
_UNITS = (
    ("ns", "nano"), ("us", "µs", "micro"), ("ms", "milli"), ("s", "sec"), ("m", "min"),
    ("h", "hr", "hour"), ("d", "day"), ("w", "wk", "week"),
)  # fmt: skip
_CARD = re.compile(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})"
)
_EMAIL = re.compile(r"(?:.*<)?(?:[^\s@<>,;:\"()\[\]\\]+|\"[^\"]*\")@[^\s@<>,;:\"()\\]+>?")
_MAC = re.compile(
    r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}|([0-9a-fA-F]{2}:){7}[0-9a-fA-F]{2}|([0-9a-fA-F]{2}:){19}[0-9a-fA-F]{2}"
    r"|([0-9a-fA-F]{2}-){5}[0-9a-fA-F]{2}|([0-9a-fA-F]{2}-){7}[0-9a-fA-F]{2}|([0-9a-fA-F]{2}-){19}[0-9a-fA-F]{2}"
    r"|[0-9a-fA-F]{12}|[0-9a-fA-F]{16}|[0-9a-fA-F]{40}"
    r"|([0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}|([0-9a-fA-F]{4}\.){3}[0-9a-fA-F]{4}|([0-9a-fA-F]{4}\.){9}[0-9a-fA-F]{4}"
)
_BYTE_OF_COLOR = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"


def check_of(schema_type: str, name: str) -> Check | None:
    """The check of a string's format, or None for one that is not checked."""
    if schema_type not in ("", "string"):
        return None
    return _CHECKS.get(name.replace("-", ""))


def _matches(pattern: str, flags: int = 0) -> Check:
    compiled = re.compile(pattern, flags | re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def _in_name(character: str) -> bool:
    """ASCII letters and digits, letters of any script, and symbols."""
    return (character.isascii() and character.isalnum()) or unicodedata.category(character)[0] in "LS"


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    if not text or len(text.encode()) > 255 or any(len(label.encode()) > 63 for label in labels):
        return False
    if len(labels) == 1:  # One dash, and only after the first character.
        return _in_name(text[0]) and all(map(_in_name, text[1:].removeprefix("-")))
    top = labels.pop()
    if len(top) < 2 or not all(unicodedata.category(character)[0] == "L" for character in top):
        return False
    return all(map(_is_label, labels))


def _is_label(label: str) -> bool:
    if not label or not (_in_name(label[0]) and _in_name(label[-1])):
        return False
    return all(character == "-" or _in_name(character) for character in label)


def _is_uri(text: str) -> bool:
    """An absolute URI, or an absolute path."""
    if not text or any(ord(character) < 0x20 or character == "\x7f" for character in text):
        return False
    if text.startswith("/") or text == "*":
        return re.search(r"%(?![0-9a-fA-F]{2})", text.partition("?")[0]) is None
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", text) is None or " " in parts.netloc:
        return False
    return re.search(r"%(?![0-9a-fA-F]{2})", parts.path) is None


def _is_ipv4(text: str) -> bool:
    return "." in text and ipaddr.parse_ip(text) is not None


def _is_ipv6(text: str) -> bool:
    return ":" in text and ipaddr.parse_ip(text) is not None


def _is_date(text: str) -> bool:
    try:
        return len(text) == 10 and date.fromisoformat(text) is not None and text[4] == "-"
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    day, _, rest = text.lower().partition("t")
    if not _is_date(day):
        return False
    match = _DATE_TIME.fullmatch(rest.partition("t")[0])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _is_duration(text: str) -> bool:
    if _GO_DURATION.fullmatch(text):
        return True
    for unit in _LONG_DURATION.findall(text):
        for variants in _UNITS:
            if unit.lower() in variants or unit.lower().startswith(variants[-1]):
                return True
    return False


def _is_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    if _CARD.fullmatch(digits) is None:
        return False
    total = 0
    for position, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if position % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"[0-9]{9}[0-9X]", digits) is None:
        return False
    total = sum((place + 1) * int(digits[place]) for place in range(9))
    return (total + 10 * (10 if digits[9] == "X" else int(digits[9]))) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if re.fullmatch(r"[0-9]{13}", digits) is None:
        return False
    total = sum((3 if place % 2 else 1) * int(digits[place]) for place in range(12))
    return int(digits[12]) == (10 - total % 10) % 10


_is_base64 = _matches(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_is_ssn = _matches(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}")

_CHECKS: dict[str, Check] = {
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "uri": _is_uri,
    "email": lambda text: _EMAIL.fullmatch(text.strip()) is not None,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": lambda text: ipaddr.parse_cidr(text) is not None,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "uuid": _matches("[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE),
    "uuid3": _matches("[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE),
    "uuid4": _matches(_UUID.format("4", "[89ab]"), re.IGNORECASE),
    "uuid5": _matches(_UUID.format("5", "[89ab]"), re.IGNORECASE),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_card,
    "ssn": lambda text: len(text) == 11 and _is_ssn(text),
    "hexcolor": _matches("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matches(rf"rgb\({_BYTE_OF_COLOR},{_BYTE_OF_COLOR},{_BYTE_OF_COLOR}\)"),
    "byte": _is_base64,
    "password": lambda text: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: len(text.encode()) <= 63 and _SHORT_NAME.fullmatch(text) is not None,
    "k8slongname": lambda text: len(text.encode()) <= 253 and _LONG_NAME.fullmatch(text) is not None,
}
