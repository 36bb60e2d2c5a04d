"""When leases end: one timer each, on the cluster's clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from clusters.emulated.clock import Clock

TTL_MIN_S: Final = 2  # etcd raises shorter ones: one and a half election timeouts, rounded up
FIRST_LEASE_ID: Final = 0x1000


class LeaseTimers:
    """Timers by lease. A timer runs in a loop, so leases that were copied or recovered are armed later."""

    def __init__(self, clock: Clock, expire: Callable[[int], None]) -> None:
        self._clock = clock
        self._expire = expire
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._ends_s: dict[int, float] = {}
        self._last_id = FIRST_LEASE_ID

    def allowed(self, ttl_s: int) -> int:
        if ttl_s < 1:
            raise ValueError(f"a lease of {ttl_s} s cannot be granted; give at least 1")
        return max(ttl_s, TTL_MIN_S)

    def next_id(self, leases: Mapping[int, object]) -> int:
        """Ids count up, so that the same run gives the same ids; a real etcd draws them."""
        self._last_id = max(self._last_id, max(leases, default=0)) + 1
        return self._last_id

    def unarmed(self, leases: Iterable[int]) -> list[int]:
        return [lease for lease in leases if lease not in self._timers]

    def arm(self, lease_id: int, ttl_s: int) -> None:
        """Begins the time of a lease, or begins it anew."""
        self.forget(lease_id)
        self._ends_s[lease_id] = self._clock.monotonic_s() + ttl_s
        self._timers[lease_id] = self._clock.call_later(ttl_s, lambda: self._expire(lease_id))

    def forget(self, lease_id: int) -> None:
        timer = self._timers.pop(lease_id, None)
        if timer is not None:
            timer.cancel()
            del self._ends_s[lease_id]

    def remaining_s(self, lease_id: int) -> float:
        return max(0.0, self._ends_s[lease_id] - self._clock.monotonic_s())

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._ends_s.clear()
