"""The last events, as many as Kubernetes keeps: 100 at first, doubled while they are all young.

Grows by two when full and even the oldest event is younger than 75 s, up to 102,400; halves when the
youngest quarter already spans more than 75 s. So a quiet resource keeps 100 events, a busy one 75 s.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Generic, TypeVar

from clusters.emulated.watch.events import CacheEvent

T = TypeVar("T")

EVENTS_MIN: Final = 100
EVENTS_MAX: Final = 100 * 1024
FRESH_S: Final = 75.0


class EventWindow(Generic[T]):
    """A bounded, ordered history. `oldest` is the smallest revision from which it can continue."""

    def __init__(self, capacity: int | None = None) -> None:
        self._fixed = capacity is not None
        self.capacity = EVENTS_MIN if capacity is None else capacity
        self._events: deque[tuple[CacheEvent[T], float]] = deque()
        self.oldest = 0

    def __len__(self) -> int:
        return len(self._events)

    def reset(self, revision: int) -> None:
        """Begins anew after a list at this revision."""
        self._events.clear()
        self.oldest = revision

    def append(self, event: CacheEvent[T], now_s: float) -> None:
        events = self._events
        if len(events) >= self.capacity:
            if not self._fixed:
                self._resize(now_s)
            while len(events) >= max(1, self.capacity):
                self._drop()
        events.append((event, now_s))
        if self.capacity < 1:
            self._drop()

    def set_capacity(self, capacity: int | None) -> None:
        """Fixes the capacity and drops what is too much at once; None lets it grow again."""
        self._fixed = capacity is not None
        self.capacity = max(EVENTS_MIN, len(self._events)) if capacity is None else capacity
        while len(self._events) > self.capacity:
            self._drop()

    def after(self, revision: int) -> list[CacheEvent[T]]:
        """The events after this revision, oldest first. The caller has checked `oldest`."""
        found: list[CacheEvent[T]] = []
        for event, _ in reversed(self._events):
            if event.revision <= revision:
                break
            found.append(event)
        found.reverse()
        return found

    def _drop(self) -> None:
        dropped, _ = self._events.popleft()
        if self._events and self._events[0][0].revision > dropped.revision:
            # Kubernetes counts from the oldest event that is left, though nothing lies in between.
            self.oldest = self._events[0][0].revision - 1
        else:
            self.oldest = dropped.revision  # The rest of this revision, if any, would be incomplete.

    def _resize(self, now_s: float) -> None:
        if now_s - self._events[0][1] < FRESH_S:
            self.capacity = min(self.capacity * 2, EVENTS_MAX)
        elif now_s - self._events[-(self.capacity // 4)][1] > FRESH_S:
            self.capacity = max(self.capacity // 2, EVENTS_MIN)
