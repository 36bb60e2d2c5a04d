"""From request to commit in rounds: log the round, make it durable, apply it, answer.

Requests that come while a round is on its way share the next one (group commit). A read that must be
linearizable can queue too: it then waits for a whole round, as a read index waits in a stalled etcd.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from clusters.emulated.clock import Clock
from clusters.emulated.store.connection import Connection
from clusters.emulated.store.errors import StoreClosed, StoreError
from clusters.emulated.store.levers import Lever
from clusters.emulated.store.members import Members
from clusters.emulated.store.protocol import TxnResult
from clusters.emulated.store.requests import Request
from clusters.emulated.store.waiting import within
from clusters.emulated.store.wal import WriteAheadLog

ROUND_REQUESTS_MAX: Final = 4096

Result = int | TxnResult
Entry = tuple[Request | None, asyncio.Future[Result]]


class Pipeline:
    """Runs rounds while there is something queued; owns the only task that applies queued requests."""

    def __init__(
        self,
        clock: Clock,
        connection: Connection,
        members: Members,
        apply: Callable[[Request], Result],
        wal: WriteAheadLog | None,
    ) -> None:
        self._clock = clock
        self._connection = connection
        self._members = members
        self._apply = apply
        self._wal = wal
        self._queue: list[Entry] = []
        self._in_flight: list[Entry] = []
        self._task: asyncio.Task[None] | None = None
        self._broken: StoreError | None = None
        self._logged = False  # the round under way is in the log, or on its way there: it will be applied
        self._stalled: asyncio.Future[None] | None = None
        self.stalls: dict[Lever, float] = {}  # seconds per round

    @property
    def idle(self) -> bool:
        return not self._queue and not self._in_flight

    def submit(self, request: Request | None) -> asyncio.Future[Result]:
        """Queues a request, or with None only the waiting for a round."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        # A caller that gave up leaves its future behind; an error in it is then nobody's to fetch.
        future.add_done_callback(_retrieve)
        if self._broken is not None:
            future.set_exception(self._broken)
            return future
        self._queue.append((request, future))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="store rounds")
        return future

    async def _run(self) -> None:
        try:
            while self._queue:
                await self._members.serving.wait()
                await self._connection.usable(write=False)
                entries = self._in_flight = self._queue[:ROUND_REQUESTS_MAX]
                del self._queue[:ROUND_REQUESTS_MAX]
                await self._round(entries)
                self._in_flight = []
        finally:
            self._task = None

    async def _round(self, entries: list[Entry]) -> None:
        if self.stalls:
            await self._stall()
        if self._in_flight is not entries:
            return  # Lost with the process that was killed before the round reached the log.
        requests = [request for request, _ in entries if request is not None]
        self._logged = True
        try:
            if self._wal is not None and requests:
                await self._wal.append(requests)
            await self._connection.usable(write=False)
        except StoreError as error:
            self._break(error)
            return
        finally:
            self._logged = False
        for request, future in entries:
            if request is None:
                _answer(future, 0)
                continue
            try:
                result = self._apply(request)
            except StoreError as error:
                _fail(future, error)
            else:
                _answer(future, result)

    async def _stall(self) -> None:
        """Takes as long as the slow disk does; healing it ends the wait at once, as recorded."""
        for lever in self.stalls:
            lever.fired += 1
        self._stalled = asyncio.get_running_loop().create_future()
        try:
            await within(self._clock, self._stalled, sum(self.stalls.values()))
        except TimeoutError:
            return
        finally:
            self._stalled = None

    def stall(self, lever: Lever, round_s: float) -> None:
        self.stalls[lever] = round_s

    def unstall(self, lever: Lever) -> None:
        del self.stalls[lever]
        if self._stalled is not None and not self._stalled.done():
            self._stalled.set_result(None)

    def fail_in_flight(self, error: Callable[[], StoreError], *, lost: bool) -> int:
        """Answers everything under way with an error; `lost` requests will not be applied either."""
        entries = self._in_flight + self._queue
        for _, future in entries:
            _fail(future, error())
        if lost:
            self._queue.clear()
            if not self._logged:
                self._in_flight = []
        return len(entries)

    def _break(self, error: StoreError) -> None:
        # What the disk has of this round is unknown, so applying anything after it could contradict the log.
        self._broken = error
        self.fail_in_flight(lambda: error, lost=True)

    async def close(self) -> None:
        """Finishes what is durable already and refuses the rest."""
        self._broken = StoreClosed()
        self.fail_in_flight(StoreClosed, lost=self._wal is None)
        task = self._task
        if task is not None:
            if self._wal is None or not self._connection.is_open or not self._members.healthy:
                task.cancel()
            await asyncio.wait((task,))


def _answer(future: asyncio.Future[Result], result: Result) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: asyncio.Future[Result], error: StoreError) -> None:
    if not future.done():
        future.set_exception(error)


def _retrieve(future: asyncio.Future[Result]) -> None:
    if not future.cancelled():
        future.exception()
