"""W7: with a selector, a watch tells exactly how the selected set changes: enter, stay, leave."""

from __future__ import annotations

from collections.abc import Callable

from recorded import History, Stream


def check(stream: Stream, history: History, selects: Callable[[bytes], bool]) -> list[str]:
    violations = []
    told = {(event.revision, event.key): event for event in stream.events()}
    end = max([stream.complete_to, *(revision for revision, _ in told)])
    for revision, key in history.expected(stream.prefix, stream.from_revision, end):
        before = history.state_at(revision - 1).get(key)
        after = history.state_at(revision).get(key)
        was = before is not None and selects(before)
        now = after is not None and selects(after)
        wanted = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}.get((was, now))
        event = told.pop((revision, key), None)
        kind = None if event is None else event.kind
        if kind != wanted:
            violations.append(f"{key} at revision {revision} is told as {kind}, not as {wanted}")
    return violations + [f"{key} at revision {revision} is no change of the set" for revision, key in told]
