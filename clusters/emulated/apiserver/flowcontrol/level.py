"""A priority level: its seats, and the queues in which requests wait for one.

Flows are dealt a few of the level's queues by a hash of their name (shuffle sharding), and a request joins the
shortest of its flow's queues. A seat that becomes free goes to the next queue in turn. The real server shares by
the work that each flow has had; with requests of like cost, taking turns comes to the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from clusters.emulated.clock import Clock

Object = dict[str, Any]

CONCURRENCY_LIMIT, QUEUE_FULL, TIME_OUT = "concurrency-limit", "queue-full", "time-out"
_SEATS_SHARE_MAX = 0.15  # One request never takes more of a level than this.


class RejectionError(Exception):
    """There is no seat for this request; the text is the reason as metrics name it."""


@dataclass(slots=True, eq=False)
class _Waiting:
    seats: int
    turn: asyncio.Future[None]


@dataclass(slots=True, eq=False)
class PriorityLevel:
    """`limit` is the number of seats it has of its own; `borrow` asks the other levels for more."""

    name: str
    uid: str
    clock: Clock
    exempt: bool = False
    shares: int = 0
    lendable_percent: int = 0
    borrowing_percent: int | None = None
    queues_count: int = 0  # 0: requests without a seat are rejected at once.
    hand_size: int = 1
    queue_length_max: int = 0
    limit: int = 0
    lendable: int = 0
    #: A lever's limit in place of the level's own.
    forced_limit: int | None = None
    executing: int = 0
    waiting: int = 0
    queues: list[deque[_Waiting]] = field(default_factory=list)
    _next_queue: int = 0

    @classmethod
    def of(cls, obj: Object, clock: Clock) -> PriorityLevel:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        exempt = spec.get("type") == "Exempt"
        settings: Object = spec.get("exempt" if exempt else "limited") or {}
        queuing = (settings.get("limitResponse") or {}).get("queuing") or {}
        level = cls(
            metadata["name"],
            metadata.get("uid", ""),
            clock,
            exempt,
            settings.get("nominalConcurrencyShares", 0 if exempt else 30),
            settings.get("lendablePercent", 0),
            settings.get("borrowingLimitPercent"),
            queuing.get("queues", 0),
            queuing.get("handSize", 1),
            queuing.get("queueLengthLimit", 0),
        )
        level.queues = [deque() for _ in range(level.queues_count)]
        return level

    def take_over(self, old: PriorityLevel) -> None:
        """What runs keeps its seats when the level's configuration changes."""
        self.forced_limit = old.forced_limit
        self.executing = old.executing

    @property
    def seats_max(self) -> int:
        """The most seats that one request of this level may occupy."""
        return max(1, min(math.ceil(self.limit * _SEATS_SHARE_MAX), self.limit // max(self.hand_size, 1)))

    def current_limit(self, others: list[PriorityLevel]) -> int:
        """Its own seats, and those that others lend and do not use.

        The real server moves seats every ten seconds, by the demand it saw; here they move at once.
        """
        if self.forced_limit is not None:
            return self.forced_limit
        spare = sum(max(0, min(other.lendable, other.limit - other.executing)) for other in others if other is not self)
        if self.borrowing_percent is not None:
            spare = min(spare, self.limit * self.borrowing_percent // 100)
        return self.limit + spare

    async def wait(self, flow: str, seats: int, wait_max_s: float) -> None:
        """Waits for seats that are not free now; raises `RejectionError` when there is no use in waiting."""
        if not self.queues:
            raise RejectionError(CONCURRENCY_LIMIT)
        queue = min((self.queues[index] for index in self._hand(flow)), key=len)
        if len(queue) >= self.queue_length_max:
            raise RejectionError(QUEUE_FULL)
        entry = _Waiting(seats, asyncio.get_running_loop().create_future())
        queue.append(entry)
        self.waiting += 1
        timer = self.clock.call_later(wait_max_s, lambda: _give_up(entry))
        try:
            await entry.turn
        except BaseException:
            if entry.turn.done() and not entry.turn.cancelled() and entry.turn.exception() is None:
                self.executing -= seats  # The seat came as the client went; the caller frees it for others.
            else:
                self.waiting -= 1
                queue.remove(entry)
            raise
        finally:
            timer.cancel()

    def dispatch(self, limit: int) -> None:
        """Gives free seats to those who wait, one queue after the other."""
        idle = 0
        while self.waiting and idle < len(self.queues):
            queue = self.queues[self._next_queue]
            entry = next((each for each in queue if not each.turn.done()), None)
            if entry is None:
                idle += 1
            elif not limit or (self.executing and self.executing + entry.seats > limit):
                return
            else:
                idle = 0
                queue.remove(entry)
                self.waiting -= 1
                self.executing += entry.seats
                entry.turn.set_result(None)
            self._next_queue = (self._next_queue + 1) % len(self.queues)

    def _hand(self, flow: str) -> list[int]:
        """The queues of a flow, always the same ones."""
        number = int.from_bytes(hashlib.sha256(flow.encode()).digest()[:8], "little")
        deck = list(range(self.queues_count))
        hand: list[int] = []
        for _ in range(min(self.hand_size, self.queues_count)):
            number, index = divmod(number, len(deck))
            hand.append(deck.pop(index))
        return hand


def _give_up(entry: _Waiting) -> None:
    if not entry.turn.done():
        entry.turn.set_exception(RejectionError(TIME_OUT))
