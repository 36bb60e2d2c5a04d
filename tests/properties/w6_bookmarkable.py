"""W6: after a bookmark only later events come; bookmarks never go down, nor below the last event."""

from __future__ import annotations

from recorded import BOOKMARK, History, Stream


def check(stream: Stream, history: History) -> list[str]:
    bookmark = last = 0
    violations = []
    for item in stream.items():
        if item.kind != BOOKMARK:
            if item.revision <= bookmark:
                violations.append(f"an event of revision {item.revision} came after the bookmark {bookmark}")
            last = item.revision
            continue
        if item.revision < max(bookmark, last):
            violations.append(f"bookmark {item.revision} after bookmark {bookmark} and event {last}")
        bookmark = item.revision
    return violations
