"""W5: a watch from X begins with the first change after X, or is refused because X left the window."""

from __future__ import annotations

from recorded import History, Stream


def check(stream: Stream, history: History) -> list[str]:
    if stream.refused_below is not None:
        if stream.from_revision >= stream.refused_below:
            return [f"refused from {stream.from_revision}, though {stream.refused_below} is said to be the oldest"]
        return ["a refused watch yielded events"] if stream.events() else []
    events = stream.events()
    if not events:
        return []
    wanted = history.expected(stream.prefix, stream.from_revision, events[0].revision)
    if wanted and wanted[0][0] == events[0].revision:
        return []
    return [f"began at revision {events[0].revision}, the first after {stream.from_revision} is {wanted[:1]}"]
