"""W8: ADDED exactly when the key was absent before; the previous value is the state just before."""

from __future__ import annotations

from recorded import History, Stream


def check(stream: Stream, history: History) -> list[str]:
    violations = []
    for event in stream.events():
        before = history.state_at(event.revision - 1).get(event.key)
        after = history.state_at(event.revision).get(event.key)
        kind = "DELETED" if after is None else "ADDED" if before is None else "MODIFIED"
        where = f"{event.key} at revision {event.revision}"
        if event.kind != kind:
            violations.append(f"{where} is told as {event.kind}, it is {kind}")
        if event.previous != before:
            violations.append(f"{where} has previous value {event.previous!r}, it was {before!r}")
        if event.value != (before if after is None else after):
            violations.append(f"{where} has value {event.value!r}, it is {after!r}")
    return violations
