"""W1: the revisions of a watch never go down."""

from __future__ import annotations

from itertools import pairwise

from recorded import History, Stream


def check(stream: Stream, history: History) -> list[str]:
    revisions = [event.revision for event in stream.events()]
    return [f"revision {b} came after {a}" for a, b in pairwise(revisions) if b < a]
