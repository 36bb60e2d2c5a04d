"""What a controller has asked for and not yet seen in its informers.

Between creating a Pod and the informer showing it, counting the informer's Pods would create it twice. So a
controller notes what it expects, and does nothing more for that key until it was observed, or five minutes passed:

    expect_creations("shop/web", 2)      satisfied: no
    creation_observed("shop/web")        satisfied: no
    creation_observed("shop/web")        satisfied: yes
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from clusters.emulated.clock import Clock

EXPECTATIONS_TIMEOUT_S: Final = 300.0


@dataclass(slots=True)
class _Expected:
    creations: int
    deletions: int
    since_s: float


class ControllerExpectations:
    """By key of the controller's own object."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._expected: dict[str, _Expected] = {}

    def satisfied(self, key: str) -> bool:
        """Whether the informers have caught up with what was asked for; also if nothing was, or too long ago."""
        expected = self._expected.get(key)
        if expected is None or (expected.creations <= 0 and expected.deletions <= 0):
            return True
        return self._clock.monotonic_s() - expected.since_s > EXPECTATIONS_TIMEOUT_S

    def set(self, key: str, creations: int, deletions: int) -> None:
        """Replaces what was expected before."""
        self._expected[key] = _Expected(creations, deletions, self._clock.monotonic_s())

    def expect_creations(self, key: str, count: int) -> None:
        self.set(key, count, 0)

    def expect_deletions(self, key: str, count: int) -> None:
        self.set(key, 0, count)

    def creation_observed(self, key: str) -> None:
        """Also for a creation that failed: it will never be seen."""
        self.lower(key, 1, 0)

    def deletion_observed(self, key: str) -> None:
        self.lower(key, 0, 1)

    def raise_by(self, key: str, creations: int, deletions: int) -> None:
        self.lower(key, -creations, -deletions)

    def lower(self, key: str, creations: int, deletions: int) -> None:
        expected = self._expected.get(key)
        if expected is not None:
            expected.creations -= creations
            expected.deletions -= deletions

    def pending(self, key: str) -> tuple[int, int]:
        """How many creations and deletions are still to be seen."""
        expected = self._expected.get(key)
        return (expected.creations, expected.deletions) if expected is not None else (0, 0)

    def forget(self, key: str) -> None:
        """The controller's object is gone."""
        self._expected.pop(key, None)


class UidTrackingExpectations(ControllerExpectations):
    """Deletions are counted by what is deleted: a graceful one is seen twice, as an update and as a deletion."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._deleted: dict[str, set[str]] = {}

    def expect_deleted(self, key: str, deleted_keys: Iterable[str]) -> None:
        expected = set(deleted_keys)
        self._deleted[key] = expected
        self.expect_deletions(key, len(expected))

    def deleted_observed(self, key: str, deleted_key: str) -> None:
        expected = self._deleted.get(key)
        if expected is not None and deleted_key in expected:
            expected.discard(deleted_key)
            self.deletion_observed(key)

    def forget(self, key: str) -> None:
        self._deleted.pop(key, None)
        super().forget(key)
