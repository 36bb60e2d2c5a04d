"""Reading the parts of timestamps and durations, in UTC or in a named or numeric time zone."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any

from clusters.kube.cel.declarations import Row
from clusters.kube.cel.errors import EvaluationError
from clusters.kube.cel.library.conversions import duration_seconds
from clusters.kube.cel.values import Duration, Timestamp

_NUMBER = re.compile(r"[+-]?[0-9]+\Z")


def _zone(name: str) -> tzinfo:
    if ":" not in name:
        if name in ("", "UTC"):
            return UTC
        from zoneinfo import ZoneInfo

        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            raise EvaluationError(f"unknown time zone {name}") from None
    hours, _, minutes = name.partition(":")
    for part in (hours, minutes):
        if not _NUMBER.match(part):
            raise EvaluationError(f'strconv.Atoi: parsing "{part}": invalid syntax')
    sign = -1 if name.startswith("-") else 1
    return timezone(timedelta(minutes=int(hours) * 60 + sign * int(minutes)))


def _local(value: Timestamp, zone: str) -> datetime:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value.nanos // 10**9)
    return moment.astimezone(_zone(zone))


def _getter(read: Callable[[datetime, Timestamp], int]) -> tuple[Callable[..., int], Callable[..., int]]:
    def in_utc(value: Timestamp) -> int:
        return read(_local(value, ""), value)

    def in_zone(value: Timestamp, zone: str) -> int:
        return read(_local(value, zone), value)

    return in_utc, in_zone


def _parts(name: str, read: Callable[[datetime, Timestamp], int]) -> list[Row]:
    in_utc, in_zone = _getter(read)
    return [
        (f"timestamp_to_{name}", "timestamp.(): int", in_utc),
        (f"timestamp_to_{name}_with_tz", "timestamp.(string): int", in_zone),
    ]


def _truncated(scale: float) -> Callable[[Any], int]:
    return lambda value: int(duration_seconds(value) / scale)


def _milliseconds(value: Duration) -> int:
    return int(abs(value.nanos) // 10**6) * (-1 if value.nanos < 0 else 1)


FUNCTIONS: Mapping[str, Sequence[Row]] = {
    "getFullYear": _parts("year", lambda when, _: when.year),
    "getMonth": _parts("month", lambda when, _: when.month - 1),
    "getDayOfYear": _parts("day_of_year", lambda when, _: when.timetuple().tm_yday - 1),
    "getDayOfMonth": _parts("day_of_month", lambda when, _: when.day - 1),
    "getDate": _parts("day_of_month_1_based", lambda when, _: when.day),
    "getDayOfWeek": _parts("day_of_week", lambda when, _: when.isoweekday() % 7),
    "getHours": [
        *_parts("hours", lambda when, _: when.hour),
        ("duration_to_hours", "duration.(): int", _truncated(3600)),
    ],
    "getMinutes": [
        *_parts("minutes", lambda when, _: when.minute),
        ("duration_to_minutes", "duration.(): int", _truncated(60)),
    ],
    "getSeconds": [
        *_parts("seconds", lambda when, _: when.second),
        ("duration_to_seconds", "duration.(): int", _truncated(1)),
    ],
    "getMilliseconds": [
        *_parts("milliseconds", lambda _, value: value.nanos % 10**9 // 10**6),
        ("duration_to_milliseconds", "duration.(): int", _milliseconds),
    ],
}
