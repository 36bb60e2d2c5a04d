"""The condition a store is in: what its levers do to its disk, its process, its quota and its members."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from clusters.emulated.clock import Clock
from clusters.emulated.store.connection import CONNECTION_LOST, Connection
from clusters.emulated.store.errors import LeaderChanged, Unavailable
from clusters.emulated.store.levers import Lever
from clusters.emulated.store.members import ELECTION_S, Members
from clusters.emulated.store.mvcc import Mvcc
from clusters.emulated.store.pipeline import Pipeline, Result
from clusters.emulated.store.requests import AlarmRequest, Request
from clusters.emulated.store.wal import WriteAheadLog

FSYNCS_PER_COMMIT: Final = 2  # the log's and the database's, as the recorded times of a stalled disk show


class Condition:
    """Healthy unless a lever is pulled. `changed` is called whenever that may be different from before."""

    def __init__(
        self,
        clock: Clock,
        mvcc: Mvcc,
        members: Members,
        apply: Callable[[Request], Result],
        wal: WriteAheadLog | None,
        quota_bytes: int,
        changed: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._mvcc = mvcc
        self._changed = changed
        self._wal = wal
        self.members = members
        self.connection = Connection(clock)
        self.pipeline = Pipeline(clock, self.connection, members, apply, wal)
        self.quota_bytes = quota_bytes
        self.quota_levers: list[Lever] = []

    @property
    def healthy(self) -> bool:
        return (
            self.connection.is_open
            and self.members.healthy
            and not self.pipeline.stalls
            and self.pipeline.idle
            and not self._mvcc.alarms
            and not self.quota_bytes
        )

    def stall_fsync(self, delay_s: float, *, fsyncs_per_commit: int = FSYNCS_PER_COMMIT) -> Lever:
        """Each fsync takes this long. A write waits for its commit, a linearizable read for a round."""

        def pull(lever: Lever) -> None:
            self.pipeline.stall(lever, delay_s * fsyncs_per_commit)
            self._changed()

        def release(lever: Lever) -> None:
            self.pipeline.unstall(lever)
            self._changed()

        return Lever("store.stall_fsync", pull, release)

    def freeze(self) -> Lever:
        """As by SIGSTOP: every request hangs until the lever is released; watches are silent."""

        def pull(lever: Lever) -> None:
            self.connection.freeze(lever)
            self._changed()

        def release(_: Lever) -> None:
            self.connection.thaw()
            self._changed()

        return Lever("store.freeze", pull, release)

    def down(self) -> Lever:
        """Killed: what is under way fails, what comes later hangs. After the release the server is up at once,
        but clients come back at their next attempt to connect, as gRPC's backoff has it."""

        def pull(lever: Lever) -> None:
            lost = self.pipeline.fail_in_flight(lambda: Unavailable(CONNECTION_LOST), lost=True)
            lever.fired += lost
            self.connection.go_down(lever)
            self._changed()

        def release(_: Lever) -> None:
            self.connection.come_back()
            self._changed()

        return Lever("store.down", pull, release)

    def quota(self, quota_bytes: int) -> Lever:
        """A database of this size is full: the next write raises NOSPACE. Released, the alarm is disarmed too."""
        before = self.quota_bytes

        def pull(lever: Lever) -> None:
            self.quota_levers.append(lever)
            self.quota_bytes = quota_bytes
            self._changed()

        def release(lever: Lever) -> None:
            self.quota_levers.remove(lever)
            self.quota_bytes = before
            self._mvcc.alarms = ()
            if self._wal is not None and lever.fired:
                self.pipeline.submit(AlarmRequest(""))  # The log has the alarm, so it must have its end.
            self._changed()

        return Lever("store.quota", pull, release)

    def member_count(self, count: int) -> Lever:
        """The store has so many members, all of them running but those that are stopped by a lever."""
        before = self.members.count

        def pull(_: Lever) -> None:
            self.members.resize(count)
            self._settle_leader()

        def release(_: Lever) -> None:
            self.members.resize(before)
            self._settle_leader()

        return Lever("store.members", pull, release)

    def _settle_leader(self) -> None:
        if self.members.leader is None:
            self._elect_later()
        self._changed()

    def stop_member(self, member: int) -> Lever:
        """Stops a member. Losing the leader costs an election, losing the quorum every write until healed."""
        self.members.check(member)

        def pull(lever: Lever) -> None:
            if self.members.stop(member):
                lever.fired += 1 + self.pipeline.fail_in_flight(LeaderChanged, lost=False)
                self._elect_later()
            self._changed()

        def release(_: Lever) -> None:
            self.members.stopped.discard(member)
            self._elect_later()
            self._changed()

        return Lever("store.stop_member", pull, release)

    def change_leader(self) -> int:
        """Another member takes over after an election. Returns how many requests under way were told so;
        their writes may still be committed."""
        before = self.members.leader
        told = self.pipeline.fail_in_flight(LeaderChanged, lost=False)
        self.members.step_down()
        self._changed()
        self._elect_later(before)
        return told

    def _elect_later(self, not_member: int | None = None) -> None:
        def elect() -> None:
            self.members.elect(not_member)
            self._changed()

        self._clock.call_later(ELECTION_S, elect)
