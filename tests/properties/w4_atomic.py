"""W4: the changes of one revision are never split over two responses."""

from __future__ import annotations

from recorded import BOOKMARK, History, Stream


def check(stream: Stream, history: History) -> list[str]:
    home: dict[int, int] = {}
    violations = []
    for number, response in enumerate(stream.responses):
        for revision in {item.revision for item in response if item.kind != BOOKMARK}:
            if revision in home:
                violations.append(f"revision {revision} is in responses {home[revision]} and {number}")
            home[revision] = number
    return violations
