"""How long a Pod that failed waits at least: 1 s, 2 s, 4 s, … 10 s, in whole seconds of the clock.

failed the 1st time at 12:00:00.3   →   may be tried from 12:00:02.0 on, when its second has passed
"""

from __future__ import annotations

import math
from typing import Final

from clusters.emulated.scheduler.queue.queued_pod import QueuedPod

INITIAL_S: Final = 1
MAX_S: Final = 10
WINDOW_S: Final = 1


def until_s(queued: QueuedPod) -> float:
    """The last second in which the Pod still backs off. Minus infinity if it never failed."""
    count = queued.consecutive_errors or queued.unschedulable_count
    if count == 0:
        return -math.inf
    if queued.backoff_until_s is None:
        queued.backoff_until_s = math.floor(queued.timestamp_s + duration_s(count))
    return queued.backoff_until_s


def duration_s(count: int) -> int:
    return MAX_S if count > MAX_S.bit_length() else min(MAX_S, INITIAL_S << (count - 1))


def is_backing_off(queued: QueuedPod, now_s: float) -> bool:
    return until_s(queued) >= math.floor(now_s)


def over_at_s(queued: QueuedPod) -> float:
    """When the window after the back-off begins."""
    return until_s(queued) + WINDOW_S
