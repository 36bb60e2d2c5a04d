"""Exponential back-off per key, as client-go's flowcontrol.Backoff: 10 s, doubled up to 300 s, forgotten after peace.

    back_off.next("c", finished_s)                  the first time: 10 s from now on
    back_off.is_in_back_off_since("c", finished_s)  whether fewer than 10 s have passed since `finished_s`
    back_off.next("c", finished_s)                  20 s, 40 s, 80 s, 160 s, 300 s …

A key whose event comes more than twice the longest wait (ten minutes) after its last step begins anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from clusters.emulated.clock import Clock

INITIAL_S: Final = 10.0
MAX_S: Final = 300.0


@dataclass(slots=True)
class _Entry:
    back_off_s: float
    updated_s: float


class BackOff:
    def __init__(self, clock: Clock, initial_s: float = INITIAL_S, max_s: float = MAX_S) -> None:
        self._clock = clock
        self._initial_s = initial_s
        self._max_s = max_s
        self._entries: dict[str, _Entry] = {}

    def get(self, key: str) -> float:
        entry = self._entries.get(key)
        return 0.0 if entry is None else entry.back_off_s

    def next(self, key: str, event_s: float) -> None:
        entry = self._entries.get(key)
        now_s = self._clock.now_s()
        if entry is None or self._expired(event_s, entry):
            self._entries[key] = _Entry(self._initial_s, now_s)
        else:
            entry.back_off_s = min(entry.back_off_s * 2, self._max_s)
            entry.updated_s = now_s

    def is_in_back_off_since(self, key: str, event_s: float) -> bool:
        """Whether what happened at `event_s` is still too fresh to try again."""
        entry = self._entries.get(key)
        if entry is None or self._expired(event_s, entry):
            return False
        return self._clock.now_s() - event_s < entry.back_off_s

    def is_in_back_off_since_update(self, key: str, event_s: float) -> bool:
        """Whether `event_s` is too soon after the last step."""
        entry = self._entries.get(key)
        if entry is None or self._expired(event_s, entry):
            return False
        return event_s - entry.updated_s < entry.back_off_s

    def forget(self, prefix: str) -> None:
        """Of a pod that is gone."""
        for key in [key for key in self._entries if key.startswith(prefix)]:
            del self._entries[key]

    def _expired(self, event_s: float, entry: _Entry) -> bool:
        return event_s - entry.updated_s > 2 * self._max_s


def duration(seconds: float) -> str:
    """As Go prints a duration: `10s`, `1m20s`, `5m0s`, `1.504s`, `250ms`."""
    if seconds == 0:
        return "0s"
    if seconds < 1:
        return f"{_trimmed(seconds * 1000)}ms" if seconds >= 0.001 else f"{_trimmed(seconds * 1e6)}µs"
    minutes, rest = divmod(seconds, 60)
    if not minutes:
        return f"{_trimmed(rest)}s"
    hours, minutes = divmod(int(minutes), 60)
    return (f"{hours}h" if hours else "") + f"{minutes}m{_trimmed(rest)}s"


def _trimmed(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".")
