"""What looking brings: whether a sign was seen, and the thing itself to show for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Evidence:
    """What was looked at: an answer, an object, an event, what kubectl printed."""

    what: str
    at_s: float
    """Cluster time."""
    hop: int
    """Where on its way this stopped, as far as can be told; 0 if it did not."""
    thing: Any = None

    def __str__(self) -> str:
        hop = f" [hop {self.hop}]" if self.hop else ""
        return f"{self.at_s:9.3f} s{hop} {self.what}"


@dataclass(frozen=True)
class Verdict:
    """Seen or not, what was expected in words, and everything that was looked at."""

    seen: bool
    expected: str
    evidence: tuple[Evidence, ...] = ()
    parts: tuple[Verdict, ...] = ()

    def missing(self) -> list[Verdict]:
        """The single signs that decided a verdict against."""
        if self.seen:
            return []
        if not self.parts:
            return [self]
        return [each for part in self.parts for each in part.missing()]

    def all_evidence(self) -> list[Evidence]:
        return [*self.evidence, *(each for part in self.parts for each in part.all_evidence())]
