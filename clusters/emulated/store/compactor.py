"""Forgets old revisions, as kube-apiserver has etcd do: every five minutes, those older than five minutes."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from clusters.emulated.clock import Clock
from clusters.emulated.store.errors import Compacted, StoreError
from clusters.emulated.store.protocol import Store

INTERVAL_S: Final = 300.0

log = logging.getLogger(__name__)


class Compactor:
    """Runs from `start()` to `stop()`. What it forgets at minute 10 is what was old news at minute 5:

    minute 0   revision 100
    minute 5   revision 250    nothing is older than five minutes of watching
    minute 10  revision 400    compacted to 250
    """

    def __init__(self, store: Store, clock: Clock, interval_s: float = INTERVAL_S) -> None:
        self._store = store
        self._clock = clock
        self._interval_s = interval_s
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="compactor")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        previous = 0
        while True:
            await self._clock.sleep(self._interval_s)
            try:
                current = await self._store.current_revision()
                if previous:
                    await self._store.compact(previous)
            except Compacted:
                log.debug("revision %d was compacted by somebody else", previous)
            except StoreError as error:
                # A store that is away is compacted when it is back; nothing is lost by being late.
                log.warning("could not compact to revision %d: %s", previous, error)
                continue
            previous = current
