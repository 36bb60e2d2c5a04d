"""Hop 7: the embedded store's disk, process, quota, members and contents (`store/condition.py` tells what each does)."""  # noqa: E501

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from clusters.base import Lever
from clusters.emulated.clock import Clock
from clusters.emulated.levers.pulling import Count, Run, in_loop, pulled
from clusters.emulated.store.embedded import EmbeddedStore

_SLOW_ENOUGH = 4  # How many changes of leader a write lives through, if nobody told it.


class StoreLevers:
    def __init__(self, store: EmbeddedStore, clock: Clock, run: Run) -> None:
        self._store = store
        self._clock = clock
        self._run = run

    def freeze(self) -> AbstractContextManager[Lever]:
        """As by SIGSTOP: every request hangs until the lever is released."""
        return pulled(self._run, self._store.freeze())

    def down(self) -> AbstractContextManager[Lever]:
        """The process is gone: connections are refused."""
        return pulled(self._run, self._store.down())

    def stall_fsync(self, delay_s: float) -> AbstractContextManager[Lever]:
        """Each fsync takes this long."""
        return pulled(self._run, self._store.stall_fsync(delay_s))

    def quota(self, quota_bytes: int) -> AbstractContextManager[Lever]:
        """The database may not grow beyond this."""
        return pulled(self._run, self._store.quota(quota_bytes))

    @contextmanager
    def lose_quorum(self, members: int = 3) -> Iterator[Lever]:
        """All but a minority stop, the leader among them."""
        store = self._store
        with pulled(self._run, store.members(members)):
            stops = [store.stop_member(member) for member in range(members // 2 + 1)]
            with pulled(self._run, *stops) as stopped:
                yield stopped

    @contextmanager
    def change_leader(self, every_s: float) -> Iterator[Lever]:
        """Writes take longer than it takes the leader to change: each is told so half-way."""
        told = Count()
        timers: list[asyncio.TimerHandle] = []

        def change() -> None:
            told.fired += self._store.change_leader()
            timers[:] = [self._clock.call_later(every_s, change)]

        stall = self._store.stall_fsync(every_s * _SLOW_ENOUGH)
        with pulled(self._run, self._store.members(3)), pulled(self._run, stall):
            in_loop(self._run, lambda: timers.append(self._clock.call_later(every_s, change)))
            try:
                yield told
            finally:
                in_loop(self._run, lambda: [timer.cancel() for timer in timers])  # type: ignore[func-returns-value]

    @contextmanager
    def corrupt(self, key: str) -> Iterator[Lever]:
        """The stored bytes are damaged; healed, they are as they were."""
        good = self._run(self._store.get(key))
        assert good is not None, f"nothing is stored under {key}: name a key that exists"
        damaged = self._run(self._store.update(key, b"\x00\xff" + good.value[2:], good.mod_revision))
        try:
            yield Count(1)
        finally:
            self._run(self._store.update(key, good.value, damaged))

    def compact(self) -> int:
        """Forgets all history before now, which nothing brings back; returns the revision it now begins with."""
        revision = self._run(self._store.current_revision())
        self._run(self._store.compact(revision))
        return revision
