"""Which start of a CronJob is due, and when the next will be. All pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from clusters.emulated.controllers.pod_state import seconds_of
from clusters.kube import cron

Object = dict[str, Any]

#: Beyond every clock: the next time of a schedule that has none, such as 30 February.
NEVER = datetime.max.replace(tzinfo=UTC, microsecond=0) - timedelta(days=1)


def schedule_of(cron_job: Object) -> cron.Schedule:
    """Raises ScheduleError."""
    schedule: str = cron_job["spec"]["schedule"]
    zone = cron_job["spec"].get("timeZone")
    if "TZ" not in schedule and zone is not None and cron.known_zone(zone):
        schedule = f"TZ={zone} {schedule}"
    return cron.parse(schedule)


@dataclass(frozen=True, slots=True)
class Times:
    """The times of one CronJob, counted from its last start, or its creation."""

    MISSED_MAX: ClassVar[int] = 100

    cron_job: Object
    schedule: cron.Schedule

    def _after(self, moment: datetime) -> datetime:
        return self.schedule.next_after(moment, UTC) or NEVER

    def _earliest(self) -> datetime:
        last = (self.cron_job.get("status") or {}).get("lastScheduleTime")
        since = last or self.cron_job["metadata"].get("creationTimestamp")
        return datetime.fromtimestamp(seconds_of(since), UTC)

    def most_recent(self, now: datetime, *, within_deadline: bool) -> tuple[datetime | None, int]:
        """The last time that has come since the last start, and how many came; none if none has."""
        earliest = self._earliest()
        deadline_s = self.cron_job["spec"].get("startingDeadlineSeconds")
        if within_deadline and deadline_s is not None:
            earliest = max(earliest, now - timedelta(seconds=deadline_s))
        first = self._after(earliest)
        if now < first:
            return None, 0
        second = self._after(first)
        if now < second:
            return first, 0
        # Counted by the distance of the first two: schedules are mostly regular, and the walk stays short.
        between_s = round((second - first).total_seconds())
        missed = int((now - first).total_seconds()) // between_s + 1
        found: datetime | None = None
        moment = self._after(first + timedelta(seconds=(missed - 2) * between_s))
        while moment <= now:
            found, moment = moment, self._after(moment)
        return found, missed

    def next_after(self, now: datetime) -> datetime:
        """When to look again."""
        recent, missed = self.most_recent(now, within_deadline=False)
        if recent is None:
            recent = now if missed else self._earliest()
        return self._after(recent)
