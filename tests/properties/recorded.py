"""What the checkers read: the committed history, and what each watch yielded."""

from __future__ import annotations

from dataclasses import dataclass, field

BOOKMARK = "BOOKMARK"


@dataclass(frozen=True)
class Commit:
    """One revision; a change to None is a deletion."""

    revision: int
    changes: tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True)
class Seen:
    """One item of a watch. A BOOKMARK has only a revision; a DELETED carries the last value."""

    kind: str
    revision: int
    key: str = ""
    value: bytes | None = None
    previous: bytes | None = None


@dataclass
class Stream:
    """One watch from its start to its end; a response may hold several items.

    `complete_to`: the watch was open, and nothing held it back, when the history was at this revision.
    `refused_below`: it was answered with "too old", and this was the oldest revision it could have had.
    """

    prefix: str
    from_revision: int
    responses: list[list[Seen]] = field(default_factory=list)
    complete_to: int = 0
    refused_below: int | None = None

    def events(self) -> list[Seen]:
        return [item for response in self.responses for item in response if item.kind != BOOKMARK]

    def items(self) -> list[Seen]:
        return [item for response in self.responses for item in response]


class History:
    """Everything committed, and the state after each revision."""

    def __init__(self, commits: list[Commit]) -> None:
        self.commits = commits
        self._states: dict[int, dict[str, bytes]] = {}
        state: dict[str, bytes] = {}
        for commit in commits:
            state = dict(state)
            for key, value in commit.changes:
                if value is None:
                    state.pop(key, None)
                else:
                    state[key] = value
            self._states[commit.revision] = state

    def state_at(self, revision: int) -> dict[str, bytes]:
        """The state after this revision; empty before the first commit."""
        return self._states.get(revision, {})

    def expected(self, prefix: str, after: int, to: int) -> list[tuple[int, str]]:
        """What a watch on this prefix must yield for after < revision <= to, as (revision, key)."""
        return [
            (commit.revision, key)
            for commit in self.commits
            if after < commit.revision <= to
            for key, _ in commit.changes
            if key.startswith(prefix)
        ]
