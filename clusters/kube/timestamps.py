"""metav1.Time and MicroTime: reading RFC 3339 as Go does, and writing it back in Kubernetes' forms."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache

from clusters.kube.gostring import quote

_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")
_TIME_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_STEPS = (
    (re.compile(r"\d{4}"), "2006"), (re.compile("-"), "-"), (re.compile(r"\d\d"), "01"),
    (re.compile("-"), "-"), (re.compile(r"\d\d"), "02"), (re.compile("T"), "T"),
    (re.compile(r"\d\d"), "15"), (re.compile(":"), ":"), (re.compile(r"\d\d"), "04"),
    (re.compile(":"), ":"), (re.compile(r"\d\d"), "05"),
)  # fmt: skip


class TimestampError(ValueError):
    """The text is no RFC 3339 time; the message is Go's."""


@lru_cache(maxsize=1024)
def parse_time(text: str) -> str:
    """Canonical metav1.Time: UTC, whole seconds. `2026-01-02T03:04:05+01:00` → `2026-01-02T02:04:05Z`."""
    return _parse(text, _TIME_LAYOUT).strftime("%Y-%m-%dT%H:%M:%SZ")


@lru_cache(maxsize=1024)
def parse_micro_time(text: str) -> str:
    """Canonical metav1.MicroTime: UTC, always six decimals."""
    return _parse(text, _MICRO_LAYOUT).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def unix_s(text: str) -> float:
    """Seconds since the epoch of a canonical time."""
    return datetime.fromisoformat(text).timestamp()


def _parse(text: str, layout: str) -> datetime:
    if _RFC3339.fullmatch(text) is None or (layout is _MICRO_LAYOUT and "." not in text):
        raise TimestampError(_explain(text, layout))
    zone_text = text.replace("Z", "+00:00")
    head, _, fraction = zone_text[:-6].partition(".")
    zone = zone_text[-6:]
    try:
        moment = datetime.fromisoformat(f"{head}.{(fraction + '000000')[:6]}{zone}")
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise TimestampError(f"parsing time {quote(text)}: {_out_of_range(text)} out of range") from None


def _explain(text: str, layout: str) -> str:
    """Which part of the layout the text first fails to match, in Go's words."""
    rest = text
    for pattern, part in _STEPS:
        match = pattern.match(rest)
        if match is None:
            return f"parsing time {quote(text)} as {quote(layout)}: cannot parse {quote(rest)} as {quote(part)}"
        rest = rest[match.end() :]
    fraction = re.match(r"\.\d+", rest)
    if layout is _MICRO_LAYOUT and fraction is None:
        return f"parsing time {quote(text)} as {quote(layout)}: cannot parse {quote(rest)} as {quote('.000000')}"
    if fraction is not None:
        rest = rest[fraction.end() :]
    if re.fullmatch(r"(Z|[+-]\d\d:\d\d)(.+)", rest):
        extra = re.sub(r"^(Z|[+-]\d\d:\d\d)", "", rest)
        return f"parsing time {quote(text)}: extra text: {quote(extra)}"
    return f"parsing time {quote(text)} as {quote(layout)}: cannot parse {quote(rest)} as {quote('Z07:00')}"


def _out_of_range(text: str) -> str:
    month, day, hour, minute = int(text[5:7]), int(text[8:10]), int(text[11:13]), int(text[14:16])
    if not 1 <= month <= 12:
        return "month"
    if hour > 23:
        return "hour"
    if minute > 59:
        return "minute"
    if int(text[17:19]) > 59:
        return "second"
    return "day" if not 1 <= day <= 28 else "year"
