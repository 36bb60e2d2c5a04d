"""Cron schedules: when they fire, and what is said of those that cannot be read."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from clusters.kube import cron


def fires(schedule: str, after: str) -> str | None:
    found = cron.parse(schedule).next_after(datetime.fromisoformat(after), UTC)
    return found.strftime("%Y-%m-%d %H:%M") if found else None


@pytest.mark.parametrize(
    ("schedule", "after", "next_time"),
    [
        ("*/20 * * * *", "2026-01-01T00:05:00+00:00", "2026-01-01 00:20"),
        ("0 3 * * *", "2026-01-01T03:00:00+00:00", "2026-01-02 03:00"),
        ("0 0 1 * mon", "2026-01-02T00:00:00+00:00", "2026-01-05 00:00"),  # The first of the month or a Monday.
        ("0 9-17 * * mon-fri", "2026-01-02T17:30:00+00:00", "2026-01-05 09:00"),
        ("@monthly", "2026-01-15T00:00:00+00:00", "2026-02-01 00:00"),
        ("@every 90m", "2026-01-01T00:00:00+00:00", "2026-01-01 01:30"),
        ("0 0 30 2 *", "2026-01-01T00:00:00+00:00", None),
    ],
)
def test_the_next_time(schedule: str, after: str, next_time: str | None) -> None:
    assert fires(schedule, after) == next_time


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'),
        ("@fortnightly", "unrecognized descriptor: @fortnightly"),
        ("@every 5", 'failed to parse duration @every 5: time: missing unit in duration "5"'),
        ("TZ=Mars * * * * *", "provided bad location Mars: unknown time zone Mars"),
    ],
)
def test_what_is_wrong_with_a_schedule(schedule: str, text: str) -> None:
    with pytest.raises(cron.ScheduleError) as refused:
        cron.parse(schedule)
    assert str(refused.value) == text
