"""W2: no change of a key is told twice on one watch."""

from __future__ import annotations

from recorded import History, Stream


def check(stream: Stream, history: History) -> list[str]:
    seen: set[tuple[int, str]] = set()
    violations = []
    for event in stream.events():
        change = (event.revision, event.key)
        if change in seen:
            violations.append(f"{event.key} at revision {event.revision} was told twice")
        seen.add(change)
    return violations
