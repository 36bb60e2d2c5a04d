"""How long to wait before a failed Pod is replaced: from one delay to another, doubled each time."""

from __future__ import annotations

from dataclasses import dataclass

from clusters.emulated.clock import Clock


@dataclass(slots=True)
class _Entry:
    delay_s: float
    since_s: float


class FailedPodBackOff:
    """By key; a key that was quiet for twice the longest delay begins anew."""

    def __init__(self, clock: Clock, first_s: float, max_s: float) -> None:
        self._clock = clock
        self._first_s = first_s
        self._max_s = max_s
        self._entries: dict[str, _Entry] = {}

    def remaining_delay_s(self, key: str) -> float:
        """The delay that is in force; 0 if none is."""
        entry = self._entries.get(key)
        age_s = self._clock.monotonic_s() - entry.since_s if entry is not None else 0.0
        if entry is None or age_s >= entry.delay_s:
            return 0.0
        return entry.delay_s

    def fail(self, key: str) -> None:
        now_s = self._clock.monotonic_s()
        self._forget_old(now_s)
        entry = self._entries.get(key)
        delay_s = self._first_s if entry is None else min(entry.delay_s * 2, self._max_s)
        self._entries[key] = _Entry(delay_s, now_s)

    def _forget_old(self, now_s: float) -> None:
        old = [key for key, entry in self._entries.items() if now_s - entry.since_s > 2 * self._max_s]
        for key in old:
            del self._entries[key]
