"""A Pod that waits to be scheduled, and what earlier attempts said about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from clusters.emulated.scheduler.pod_info import PodInfo


@dataclass(slots=True, eq=False)
class QueuedPod:
    """`plugins` refused it last time; empty means that the attempt failed for another reason."""

    info: PodInfo
    timestamp_s: float
    attempts: int = 0
    unschedulable_count: int = 0
    consecutive_errors: int = 0
    backoff_until_s: float | None = None
    plugins: set[str] = field(default_factory=set)
    gated_by: str = ""
    flushed_at_s: float = 0.0
