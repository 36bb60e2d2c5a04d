"""Type conversions: ``int(x)``, ``string(x)``, ``duration(x)``, ``timestamp(x)`` and the rest."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from clusters.kube.cel import types as t
from clusters.kube.cel.errors import EvaluationError
from clusters.kube.cel.operators import MAX_UNIX, MIN_UNIX, checked_int, checked_uint, go_fixed, go_float
from clusters.kube.cel.types import Type
from clusters.kube.cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, Timestamp, Uint

_NANOS = 10**9
_INT = re.compile(r"[+-]?[0-9]+\Z")
_UINT = re.compile(r"[0-9]+\Z")
_FLOAT = re.compile(
    r"[+-]?(?:[0-9]+(?:_?[0-9]+)*\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z|[+-]?(?:inf|infinity)\Z|nan\Z", re.I
)
_DURATION = re.compile(r"([+-]?)((?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+|0)\Z")
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": _NANOS,
    "m": 60 * _NANOS,
    "h": 3600 * _NANOS,
}
_RFC3339 = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))\Z", re.ASCII)
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def conversion_error(source: Type, target: Type) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{source}' to '{target}'")


def string_to_bool(value: str) -> bool:
    if value in _TRUE:
        return True
    if value in _FALSE:
        return False
    raise conversion_error(t.STRING, t.BOOL)


def string_to_bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")


def string_to_double(value: str) -> float:
    if not _FLOAT.match(value):
        raise conversion_error(t.STRING, t.DOUBLE)
    number = float(value)
    if math.isinf(number) and "n" not in value.lower():
        raise conversion_error(t.STRING, t.DOUBLE)
    return number


def string_to_int(value: str) -> int:
    if _INT.match(value) and INT_MIN <= (number := int(value)) <= INT_MAX:
        return number
    raise conversion_error(t.STRING, t.INT)


def string_to_uint(value: str) -> Uint:
    if _UINT.match(value) and (number := int(value)) <= UINT_MAX:
        return Uint(number)
    raise conversion_error(t.STRING, t.UINT)


def parse_duration(value: str) -> int | None:
    """Nanoseconds of a Go duration such as ``1h30m``, or None."""
    match = _DURATION.match(value)
    if match is None:
        return None
    total = 0
    for whole, fraction, unit in _PART.findall(match.group(2)):
        scale = _UNITS[unit]
        total += int(whole or 0) * scale
        if fraction:
            total += int(fraction) * scale // 10 ** len(fraction)
    if match.group(1) == "-":
        total = -total
    return total if INT_MIN <= total <= INT_MAX else None


def string_to_duration(value: str) -> Duration:
    nanos = parse_duration(value)
    if nanos is None:
        raise conversion_error(t.STRING, t.DURATION)
    return Duration(nanos)


def int_to_duration(value: int) -> Duration:
    raise conversion_error(t.INT, t.DURATION)


def parse_timestamp(value: str) -> Timestamp | None:
    """An RFC 3339 time, or None; the range is not checked."""
    match = _RFC3339.match(value)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        base = datetime(max(year, 1), month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    if year == 0:
        return Timestamp((MIN_UNIX - 1) * _NANOS)
    fraction = (match.group(7) or "")[:9].ljust(9, "0")
    offset = 0
    if match.group(8):
        hours, minutes = int(match.group(9)), int(match.group(10))
        if hours > 24 or minutes > 59:
            return None
        offset = (hours * 3600 + minutes * 60) * (-1 if match.group(8) == "-" else 1)
    elapsed = base - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = elapsed.days * 86400 + elapsed.seconds - offset
    return Timestamp(seconds * _NANOS + int(fraction), offset)


def string_to_timestamp(value: str) -> Timestamp:
    parsed = parse_timestamp(value)
    if parsed is None:
        raise conversion_error(t.STRING, t.TIMESTAMP)
    if not MIN_UNIX <= parsed.nanos // _NANOS <= MAX_UNIX:
        raise EvaluationError("timestamp overflow")
    return parsed


def int_to_timestamp(value: int) -> Timestamp:
    if not MIN_UNIX <= value <= MAX_UNIX:
        raise EvaluationError("timestamp overflow")
    return Timestamp(value * _NANOS)


def timestamp_to_int(value: Timestamp) -> int:
    return value.nanos // _NANOS


def timestamp_to_string(value: Timestamp) -> str:
    from datetime import timedelta

    seconds, nanos = divmod(value.nanos, _NANOS)
    local = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds + value.offset_s)
    text = f"{local.year:04d}-{local.month:02d}-{local.day:02d}T{local.hour:02d}:{local.minute:02d}:{local.second:02d}"
    if nanos:
        text += f".{nanos:09d}".rstrip("0")
    if value.offset_s == 0:
        return text + "Z"
    hours, rest = divmod(abs(value.offset_s), 3600)
    return f"{text}{'-' if value.offset_s < 0 else '+'}{hours:02d}:{rest // 60:02d}"


def duration_to_int(value: Duration) -> int:
    return value.nanos


def duration_seconds(value: Duration) -> float:
    """As Go computes it: whole seconds plus the fraction, each rounded to a double."""
    whole = abs(value.nanos) // _NANOS
    seconds = whole + (abs(value.nanos) - whole * _NANOS) / 1e9
    return -seconds if value.nanos < 0 else seconds


def duration_to_string(value: Duration) -> str:
    return go_fixed(duration_seconds(value)) + "s"


def double_to_int(value: float) -> int:
    if math.isnan(value) or math.isinf(value) or value <= float(INT_MIN) or value >= float(INT_MAX):
        raise EvaluationError("integer overflow")
    return int(value)


def double_to_uint(value: float) -> Uint:
    if math.isnan(value) or math.isinf(value) or value < 0 or value >= float(UINT_MAX):
        raise EvaluationError("unsigned integer overflow")
    return Uint(int(value))


def uint_to_int(value: Uint) -> int:
    return checked_int(int(value))


def int_to_uint(value: int) -> Uint:
    return checked_uint(value)


def bool_to_string(value: bool) -> str:
    return "true" if value else "false"


def bytes_to_string(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def double_to_string(value: float) -> str:
    return go_float(value)
