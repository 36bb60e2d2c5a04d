"""The members of the store's cluster: who is up, who leads, and whether there is a quorum."""

from __future__ import annotations

from typing import Final

from clusters.emulated.store.protocol import MemberStatus
from clusters.emulated.store.waiting import Gate

ELECTION_S: Final = 1.0  # etcd's default election timeout
REQUEST_TIMEOUT_S: Final = 5.0 + 2 * ELECTION_S  # what etcd allows a request to wait for its commit


class Members:
    """Members are numbered from 0; the first one leads at the beginning.

    `serving` is closed while there is no leader: without a quorum, or during an election.
    """

    def __init__(self, count: int = 1) -> None:
        self.count = checked(count)
        self.stopped: set[int] = set()
        self.leader: int | None = 0
        self.serving = Gate()

    def fork(self) -> Members:
        return Members(self.count)

    @property
    def healthy(self) -> bool:
        return self.leader is not None

    @property
    def has_quorum(self) -> bool:
        return self.count - len(self.stopped) > self.count // 2

    def resize(self, count: int) -> None:
        """Adds or removes members at the end; the leader steps down if it is gone or has no quorum left."""
        self.count = checked(count)
        self.stopped = {member for member in self.stopped if member < count}
        if self.leader is not None and (self.leader >= count or not self.has_quorum):
            self.step_down()

    def check(self, member: int) -> None:
        if not 0 <= member < self.count:
            raise ValueError(f"there is no member {member}; there are {self.count}, numbered from 0")

    def stop(self, member: int) -> bool:
        """Stops a member; True when the members have lost their leader by that."""
        self.stopped.add(member)
        if self.leader is not None and (self.leader == member or not self.has_quorum):
            self.step_down()
            return True
        return False

    def step_down(self) -> None:
        if self.leader is not None:
            self.leader = None
            self.serving.close()

    def elect(self, not_member: int | None = None) -> None:
        """Makes a running member the leader, if there is a quorum and no leader yet."""
        if self.leader is not None or not self.has_quorum:
            return
        running = [m for m in range(self.count) if m not in self.stopped]
        self.leader = next((m for m in running if m != not_member), running[0])
        self.serving.open()

    def status(self) -> tuple[MemberStatus, ...]:
        return tuple(
            MemberStatus(m + 1, f"member-{m}", m not in self.stopped, m == self.leader) for m in range(self.count)
        )


def checked(count: int) -> int:
    if count < 1:
        raise ValueError(f"a store needs at least one member, not {count}")
    return count
