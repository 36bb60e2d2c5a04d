"""From what the parts of a cluster offer (`store.levers.Lever`, plain context managers of the loop's thread) to levers
for the test's thread."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Protocol, TypeVar

from clusters.base import Lever
from clusters.emulated.store import levers as parts

T = TypeVar("T")


class Run(Protocol):
    """Carries out a coroutine in the cluster's loop, where everything of the cluster lives, and waits for it."""

    def __call__(self, work: Coroutine[Any, Any, T]) -> T: ...


class Count:
    """A lever that says itself what it has hit."""

    def __init__(self, fired: int = 0) -> None:
        self.fired = fired


class Counted:
    """A lever whose hits somebody else counts: what has been added since it was pulled."""

    def __init__(self, total: Callable[[], int]) -> None:
        self._total = total
        self._before = total()

    @property
    def fired(self) -> int:
        return self._total() - self._before


class Together:
    """Levers of several parts pulled as one; together they have hit what any of them has."""

    def __init__(self, levers: list[Lever]) -> None:
        self._levers = levers

    @property
    def fired(self) -> int:
        return sum(lever.fired for lever in self._levers)


async def _call(work: Callable[[], T]) -> T:
    return work()


def in_loop(run: Run, work: Callable[[], T]) -> T:
    """Calls something in the loop's thread."""
    return run(_call(work))


@contextmanager
def pulled(run: Run, *levers: parts.Lever) -> Iterator[Lever]:
    """Pulls levers in the loop's thread; whatever happens, those that were pulled are released."""
    with ExitStack() as releases:
        for lever in levers:
            run(lever.__aenter__())
            releases.callback(lambda lever=lever: run(lever.__aexit__(None, None, None)))  # type: ignore[misc]
        yield levers[0] if len(levers) == 1 else Together([*levers])


@contextmanager
def entered(run: Run, *blocks: AbstractContextManager[object]) -> Iterator[None]:
    """Enters blocks that belong to the loop's thread, and leaves them there."""
    with ExitStack() as ends:
        for block in blocks:
            in_loop(run, block.__enter__)
            ends.callback(lambda block=block: in_loop(run, lambda: block.__exit__(None, None, None)))  # type: ignore[misc]
        yield
