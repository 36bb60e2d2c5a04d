"""The way to the server: it can be frozen (SIGSTOP) or killed, and requests then hang rather than fail.

Recorded on a real control plane: a request to a frozen or killed etcd waits for its channel, and only the
api-server's own deadline ends it. Writes that had been sent over the connection before the client noticed
end, just before that deadline, with the error of the keepalive ping.
"""

from __future__ import annotations

import asyncio
from typing import Final

from clusters.emulated.clock import Clock
from clusters.emulated.store.errors import Unavailable
from clusters.emulated.store.levers import Lever
from clusters.emulated.store.waiting import Gate

KEEPALIVE_NOTICES_S: Final = 30.0  # until then, requests still go out on the dead connection
# The client retries such a write until the api-server's deadline (34 s) and reports the ping's error then.
WRITE_GIVES_UP_S: Final = 33.99
KEEPALIVE_FAILED: Final = "keepalive ping failed to receive ACK within timeout"
CONNECTION_LOST: Final = "error reading from server: EOF"

RECONNECT_BASE_S: Final = 1.0  # gRPC's connection backoff
RECONNECT_FACTOR: Final = 1.6
RECONNECT_MAX_S: Final = 120.0


class Connection:
    """Between the api-server's client and the server. Open unless a lever holds it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._gate = Gate()
        self._lever: Lever | None = None
        self._frozen_since_s: float | None = None
        self._down_since_s = 0.0

    @property
    def is_open(self) -> bool:
        return self._gate.is_open

    def freeze(self, lever: Lever) -> None:
        self._lever = lever
        self._frozen_since_s = self._clock.monotonic_s()
        self._gate.close()

    def thaw(self) -> None:
        self._frozen_since_s = None
        self._gate.open()

    def go_down(self, lever: Lever) -> None:
        self._lever = lever
        self._down_since_s = self._clock.monotonic_s()
        self._gate.close()

    def come_back(self) -> float:
        """The server is up again; the client is at its next attempt, after the returned seconds."""
        wait_s = next_attempt_s(self._clock.monotonic_s() - self._down_since_s)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._gate.open()  # No loop runs, so no request waits: nothing to time.
            return 0.0
        self._clock.call_later(wait_s, self._gate.open)
        return wait_s

    async def usable(self, *, write: bool) -> None:
        """Returns when a request can pass."""
        if self._gate.is_open:
            return
        if self._lever is not None:
            self._lever.fired += 1
        since_s = self._frozen_since_s
        if write and since_s is not None and self._clock.monotonic_s() - since_s < KEEPALIVE_NOTICES_S:
            try:
                await self._gate.wait(self._clock, WRITE_GIVES_UP_S)
            except TimeoutError:
                raise Unavailable(KEEPALIVE_FAILED) from None
        else:
            await self._gate.wait()


def next_attempt_s(down_s: float) -> float:
    """How long after an outage of `down_s` the client's next attempt to connect comes.

    Attempts are at 0, 1, 2.6, 5.2, 9.3, 15.8, 26.3, 43, … s, so 30 s down cost 13 s more.
    """
    at_s, pause_s = 0.0, RECONNECT_BASE_S
    while at_s < down_s:
        at_s += pause_s
        pause_s = min(pause_s * RECONNECT_FACTOR, RECONNECT_MAX_S)
    return at_s - down_s
