"""The seven toxics. Each is a small class: its fields are its attributes, `pass_on` says what becomes of a chunk.

Attributes have Toxiproxy's names and units: milliseconds, except `delay` of the slicer (microseconds), `rate`
(kilobytes per second) and `bytes`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from random import Random
from typing import Any, ClassVar

_MS = 1000.0


class CloseConnection(Exception):
    """This end of the connection is closed now; with `reset`, by a RST."""

    def __init__(self, reset: bool = False) -> None:
        super().__init__("reset" if reset else "closed")
        self.reset = reset


class BadToxicError(ValueError):
    """No such toxic, or not with these attributes."""


@dataclass
class Waiting:
    """How toxics wait: in whose time, and that it is on purpose, so that nobody takes it for work on its way."""

    sleep: Callable[[float], Awaitable[None]]
    now_s: Callable[[], float]
    on_purpose: Callable[[], AbstractContextManager[Any]] = nullcontext
    random: Random = field(default_factory=Random)

    async def wait(self, seconds: float) -> None:
        if seconds > 0:
            with self.on_purpose():
                await self.sleep(seconds)


@dataclass
class Passing:
    """One direction of one connection, as a toxic sees it."""

    waiting: Waiting
    received_s: float = 0.0
    passed_bytes: int = 0
    still_in_force: Callable[[Toxic], bool] = lambda _: True


@dataclass
class Toxic:
    """The contract: an async iterator of what goes on, for each chunk; `at_end` before the end goes on."""

    type: ClassVar[str]

    async def pass_on(self, chunk: bytes, passing: Passing) -> AsyncIterator[bytes]:
        yield chunk

    async def at_end(self, passing: Passing) -> None:
        return


@dataclass
class Latency(Toxic):
    """Every chunk arrives `latency` later, give or take up to `jitter`."""

    type = "latency"
    latency: int = 0
    jitter: int = 0

    async def pass_on(self, chunk: bytes, passing: Passing) -> AsyncIterator[bytes]:
        waiting = passing.waiting
        delay_s = (self.latency + waiting.random.uniform(-self.jitter, self.jitter)) / _MS
        await waiting.wait(passing.received_s + delay_s - waiting.now_s())
        yield chunk


@dataclass
class Bandwidth(Toxic):
    type = "bandwidth"
    rate: int = 0

    async def pass_on(self, chunk: bytes, passing: Passing) -> AsyncIterator[bytes]:
        per_tenth = max(1, self.rate * 100)
        for start in range(0, len(chunk), per_tenth):
            part = chunk[start : start + per_tenth]
            await passing.waiting.wait(len(part) / (self.rate * 1000.0) if self.rate else 3600.0)
            yield part


@dataclass
class SlowClose(Toxic):
    """The end of the connection is passed on late."""

    type = "slow_close"
    delay: int = 0

    async def at_end(self, passing: Passing) -> None:
        await passing.waiting.wait(self.delay / _MS)


@dataclass
class Timeout(Toxic):
    """Nothing goes on, and after `timeout` the connection is closed; 0 is: when the toxic is taken away."""

    type = "timeout"
    timeout: int = 0

    async def pass_on(self, chunk: bytes, passing: Passing) -> AsyncIterator[bytes]:
        if self.timeout:
            await passing.waiting.wait(self.timeout / _MS)
        else:
            while passing.still_in_force(self):
                await passing.waiting.wait(1.0)
        raise CloseConnection
        yield b""


@dataclass
class ResetPeer(Toxic):
    """The connection is reset after `timeout`, or at once."""

    type = "reset_peer"
    timeout: int = 0

    async def pass_on(self, chunk: bytes, passing: Passing) -> AsyncIterator[bytes]:
        await passing.waiting.wait(self.timeout / _MS)
        raise CloseConnection(reset=True)
        yield b""


@dataclass
class Slicer(Toxic):
    """Chunks are cut into small ones, with a pause after each."""

    type = "slicer"
    average_size: int = 0
    size_variation: int = 0
    delay: int = 0

    async def pass_on(self, chunk: bytes, passing: Passing) -> AsyncIterator[bytes]:
        waiting = passing.waiting
        while chunk:
            varied = waiting.random.randint(-self.size_variation, self.size_variation)
            size = max(1, self.average_size + varied)
            part, chunk = chunk[:size], chunk[size:]
            yield part
            await waiting.wait(self.delay / 1_000_000.0)


@dataclass
class LimitData(Toxic):
    """The connection is closed when so many bytes have gone by."""

    type = "limit_data"
    bytes: int = 0

    async def pass_on(self, chunk: Any, passing: Passing) -> AsyncIterator[Any]:
        left = self.bytes - passing.passed_bytes
        if left > 0:
            yield chunk[:left]
        if len(chunk) >= left:
            raise CloseConnection


TOXICS: dict[str, type[Toxic]] = {
    each.type: each for each in (Latency, Bandwidth, SlowClose, Timeout, ResetPeer, Slicer, LimitData)
}


def make(type: str, attributes: dict[str, Any]) -> Toxic:
    """A toxic by its type; attributes that it does not have are an error."""
    kind = TOXICS.get(type)
    if kind is None:
        raise BadToxicError("invalid toxic type")
    known = {each.name for each in fields(kind)}
    if not set(attributes) <= known or not all(isinstance(value, int | float) for value in attributes.values()):
        raise BadToxicError(f"bad request body: {type} has the attributes {', '.join(sorted(known))}")
    return kind(**{name: int(value) for name, value in attributes.items()})
