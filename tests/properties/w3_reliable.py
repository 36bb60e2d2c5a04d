"""W3: between its start and its end a watch yields exactly what was committed below its prefix."""

from __future__ import annotations

from recorded import History, Stream


def check(stream: Stream, history: History) -> list[str]:
    got = [(event.revision, event.key) for event in stream.events()]
    end = max([stream.complete_to, *(revision for revision, _ in got)])
    wanted = history.expected(stream.prefix, stream.from_revision, end)
    missed = [f"{key} at revision {revision} was not told" for revision, key in wanted if (revision, key) not in got]
    return missed + [
        f"{key} at revision {revision} was told but never committed there"
        for revision, key in got
        if (revision, key) not in wanted
    ]
