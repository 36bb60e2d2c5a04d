"""Each watch checker accepts a sound history and catches one that is broken in its own way."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest
import w1_ordered
import w2_unique
import w3_reliable
import w4_atomic
import w5_resumable
import w6_bookmarkable
import w7_filtered
import w8_previous
from recorded import BOOKMARK, Commit, History, Seen, Stream

HISTORY = History(
    [
        Commit(2, (("/a", b"1"), ("/b", b"2"))),
        Commit(3, (("/a", b"2"),)),
        Commit(4, (("/c", b"3"),)),
        Commit(5, (("/a", None),)),
    ]
)
A2 = Seen("ADDED", 2, "/a", b"1")
B2 = Seen("ADDED", 2, "/b", b"2")
A3 = Seen("MODIFIED", 3, "/a", b"2", b"1")
C4 = Seen("ADDED", 4, "/c", b"3")
A5 = Seen("DELETED", 5, "/a", b"2", b"2")


def bookmark(revision: int) -> Seen:
    return Seen(BOOKMARK, revision)


def sound() -> Stream:
    return Stream("/", 1, [[A2, B2], [A3], [bookmark(3)], [C4, A5], [bookmark(9)]], complete_to=5)


def even(value: bytes) -> bool:
    return int(value) % 2 == 0


BROKEN: list[tuple[ModuleType, str, Stream]] = [
    (w1_ordered, "swapped", Stream("/", 1, [[A2, B2], [C4], [A3]])),
    (w2_unique, "repeated after a reconnect", Stream("/", 1, [[A2, B2], [A3], [A3]])),
    (w3_reliable, "gap", Stream("/", 1, [[A2, B2], [C4]])),
    (w3_reliable, "silent although open", Stream("/", 3, [[C4]], complete_to=5)),
    (w3_reliable, "one change of a transaction missing", Stream("/", 1, [[A2], [A3]])),
    (w3_reliable, "of another prefix", Stream("/a", 1, [[A2, B2]])),
    (w4_atomic, "split", Stream("/", 1, [[A2], [B2]])),
    (w5_resumable, "begins too late", Stream("/", 2, [[C4]])),
    (w5_resumable, "begins too early", Stream("/", 3, [[A3], [C4]])),
    (w5_resumable, "refused without need", Stream("/", 3, [], refused_below=2)),
    (w6_bookmarkable, "event at a bookmark", Stream("/", 1, [[A2, B2], [bookmark(3)], [A3]])),
    (w6_bookmarkable, "bookmark below the last event", Stream("/", 1, [[C4], [bookmark(3)]])),
    (w6_bookmarkable, "bookmark going down", Stream("/", 1, [[bookmark(9)], [bookmark(8)]])),
    (w8_previous, "ADDED for an update", Stream("/", 2, [[Seen("ADDED", 3, "/a", b"2", b"1")]])),
    (w8_previous, "wrong previous value", Stream("/", 2, [[Seen("MODIFIED", 3, "/a", b"2", b"0")]])),
    (w8_previous, "wrong value", Stream("/", 2, [[Seen("MODIFIED", 3, "/a", b"7", b"1")]])),
]


@pytest.mark.parametrize(
    "checker", [w1_ordered, w2_unique, w3_reliable, w4_atomic, w5_resumable, w6_bookmarkable, w8_previous]
)
def test_a_sound_watch_passes(checker: ModuleType) -> None:
    check: Callable[[Stream, History], list[str]] = checker.check
    assert check(sound(), HISTORY) == []


@pytest.mark.parametrize(("checker", "how", "stream"), BROKEN, ids=lambda p: p if isinstance(p, str) else None)
def test_a_broken_watch_is_caught(checker: ModuleType, how: str, stream: Stream) -> None:
    check: Callable[[Stream, History], list[str]] = checker.check
    assert check(stream, HISTORY) != []


def test_a_watch_with_a_selector_tells_how_the_selected_set_changes() -> None:
    entered = Seen("ADDED", 3, "/a", b"2", b"1")
    good = Stream("/", 1, [[B2], [entered], [A5]], complete_to=5)
    assert w7_filtered.check(good, HISTORY, even) == []


@pytest.mark.parametrize(
    "stream",
    [
        Stream("/", 1, [[B2], [A3], [A5]], complete_to=5),  # entering told as MODIFIED
        Stream("/", 1, [[B2], [Seen("ADDED", 3, "/a", b"2", b"1")]], complete_to=5),  # leaving not told
        Stream("/", 1, [[A2, B2], [Seen("ADDED", 3, "/a", b"2", b"1")]]),  # one that never matched
    ],
)
def test_a_broken_filter_is_caught(stream: Stream) -> None:
    assert w7_filtered.check(stream, HISTORY, even) != []
