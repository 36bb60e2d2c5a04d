"""Cron schedules as CronJobs have them: five fields or a descriptor (`@hourly`, `@every 90m`).

    >>> str(parse("*/20 9-17 * * mon-fri").minutes)
    'frozenset({0, 40, 20})'

Raises ScheduleError with the text of the parser that Kubernetes uses.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from clusters.kube.gostring import plain_list, quote

_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
_DAYS = {name: number for number, name in enumerate(_DAY_NAMES)}
_BOUNDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}), (0, 23, {}), (1, 31, {}), (1, 12, _MONTHS), (0, 6, _DAYS),
)  # fmt: skip
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip
_UNITS_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION_PART = re.compile(r"(\d*\.?\d*)([a-zµμ]+)").fullmatch
_SEARCH_YEARS = 5


class ScheduleError(ValueError):
    """The schedule cannot be read; `str()` is the text for the user."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The minutes at which it fires; `every_s` instead for a constant delay."""

    minutes: frozenset[int] = frozenset()
    hours: frozenset[int] = frozenset()
    days: frozenset[int] = frozenset()
    months: frozenset[int] = frozenset()
    weekdays: frozenset[int] = frozenset()
    # A star in one of the two day fields means that both must match; otherwise either does.
    any_day: bool = True
    every_s: int = 0
    zone: str = ""

    def next_after(self, moment: datetime, zone: tzinfo) -> datetime | None:
        """The first time after `moment`; None if there is none within five years (30 February)."""
        if self.every_s:
            return moment.replace(microsecond=0) + timedelta(seconds=self.every_s)
        local = moment.astimezone(ZoneInfo(self.zone) if self.zone else zone)
        local = local.replace(second=0, microsecond=0) + timedelta(minutes=1)
        limit = local.year + _SEARCH_YEARS
        while local.year <= limit:
            if local.month not in self.months or not self._day_matches(local):
                local = (local + timedelta(days=1)).replace(hour=0, minute=0)
            elif local.hour not in self.hours:
                local = (local + timedelta(hours=1)).replace(minute=0)
            elif local.minute not in self.minutes:
                local += timedelta(minutes=1)
            else:
                return local.astimezone(moment.tzinfo)
        return None

    def _day_matches(self, local: datetime) -> bool:
        day, weekday = local.day in self.days, local.isoweekday() % 7 in self.weekdays
        return day and weekday if self.any_day else day or weekday


def parse(text: str) -> Schedule:
    """Raises ScheduleError."""
    if not text:
        raise ScheduleError("empty spec string")
    zone = ""
    if text.startswith(("TZ=", "CRON_TZ=")):
        start, end = text.index("=") + 1, text.find(" ")
        if end < 0:
            # The parser of Kubernetes slices up to the missing space and recovers from its own panic.
            raise ScheduleError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        zone, text = text[start:end], text[end:].strip()
        if not known_zone(zone):
            raise ScheduleError(f"provided bad location {zone}: unknown time zone {zone}")
    if text.startswith("@every "):
        return Schedule(every_s=_every(text), zone=zone)
    if text.startswith("@") and text not in _DESCRIPTORS:
        raise ScheduleError(f"unrecognized descriptor: {text}")
    fields = _DESCRIPTORS.get(text, text).split()
    if len(fields) != len(_BOUNDS):
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: {plain_list(fields)}")
    minutes, hours, days, months, weekdays = (
        _field(field, *bounds) for field, bounds in zip(fields, _BOUNDS, strict=True)
    )
    any_day = days[1] or weekdays[1]
    return Schedule(minutes[0], hours[0], days[0], months[0], weekdays[0], any_day=any_day, zone=zone)


def known_zone(name: str) -> bool:
    """Whether the time zone database has `name`."""
    if name in ("", "UTC", "Local"):
        return True
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return False
    return True


def _field(text: str, low: int, high: int, names: dict[str, int]) -> tuple[frozenset[int], bool]:
    values: set[int] = set()
    star = False
    for part in filter(None, text.split(",")):
        found, starred = _range(part, low, high, names)
        values.update(found)
        star = star or starred
    return frozenset(values), star


def _range(text: str, low: int, high: int, names: dict[str, int]) -> tuple[range, bool]:
    span, *steps = text.split("/")
    first, *rest = span.split("-")
    star = first in ("*", "?")
    if star:
        start, end = low, high
    else:
        start = _number(first, names)
        if len(rest) > 1:
            raise ScheduleError(f"too many hyphens: {text}")
        end = _number(rest[0], names) if rest else start
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {text}")
    step = 1
    if steps:
        step = _number(steps[0], {})
        if not rest:
            end = high
        star = star and step <= 1
    if start < low:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({low}): {text}")
    if end > high:
        raise ScheduleError(f"end of range ({end}) above maximum ({high}): {text}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {text}")
    return range(start, end + 1, step), star


def _number(text: str, names: dict[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isascii() or not digits.isdigit():
        raise ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: invalid syntax")
    if abs(int(text)) >= 1 << 63:
        raise ScheduleError(f"failed to parse int from {text}: strconv.Atoi: parsing {quote(text)}: value out of range")
    if int(text) < 0:
        raise ScheduleError(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)


def _every(text: str) -> int:
    duration = text[len("@every ") :]
    body = duration[1:] if duration[:1] in ("+", "-") else duration
    seconds = 0.0
    for part in re.findall(r"[\d.]+[a-zµμ]*|[^\d.]+", body) if body != "0" else ():
        found = _DURATION_PART(part)
        why = "invalid duration"
        if found and found[1] not in ("", ".") and found[2] not in _UNITS_S:
            why = f"unknown unit {quote(found[2])} in duration"
        elif not found and part.replace(".", "", 1).isdigit():
            why = "missing unit in duration"
        if not found or found[1] in ("", ".") or found[2] not in _UNITS_S:
            raise ScheduleError(f"failed to parse duration {text}: time: {why} {quote(duration)}")
        seconds += float(found[1]) * _UNITS_S[found[2]]
    if not body:
        raise ScheduleError(f"failed to parse duration {text}: time: invalid duration {quote(duration)}")
    return max(int(-seconds if duration.startswith("-") else seconds), 1)
