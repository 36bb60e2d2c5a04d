"""What one request remembers between the first and the second pass through the mutating plugins.

Kubernetes runs the whole mutating chain a second time when a webhook (or a mutating policy) changed the
object, so that built-in plugins see the change; webhooks with reinvocationPolicy IfNeeded that ran
before the change are asked again.

    first pass:  w1 (changes), w2 (changes)  -> should_reinvoke, w1 is to be asked again
    second pass: built-in plugins, w1, then w2 if w1 changed the object once more
"""

from __future__ import annotations

from typing import Any


class Reinvocation:
    """`should_reinvoke` asks for the second pass; `is_reinvoke` is true during it."""

    __slots__ = ("is_reinvoke", "should_reinvoke", "trackers")

    def __init__(self) -> None:
        self.is_reinvoke = False
        self.should_reinvoke = False
        self.trackers: dict[str, ReinvocationTracker] = {}

    def tracker(self, plugin: str) -> ReinvocationTracker:
        found = self.trackers.get(plugin)
        if found is None:
            found = self.trackers[plugin] = ReinvocationTracker()
        return found


class ReinvocationTracker:
    """One plugin's own record: which of its webhooks ran, which must run again, what it left behind."""

    __slots__ = ("last_output", "previously_invoked", "to_reinvoke")

    def __init__(self) -> None:
        self.last_output: Any = None
        self.previously_invoked: set[str] = set()
        self.to_reinvoke: set[str] = set()

    def require_reinvoking_previous(self) -> None:
        self.to_reinvoke |= self.previously_invoked
        self.previously_invoked = set()

    def should_reinvoke(self, uid: str) -> bool:
        return uid in self.to_reinvoke

    def note_invoked(self, uid: str) -> None:
        self.previously_invoked.add(uid)
