"""What a lever is: something pulled by entering a `with` block and healed by leaving it."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self


class Lever:
    """A fault in force between enter and exit. `fired` counts what it has hit: 0 means it hit nothing.

    Works in `with` and in `async with`; leaving heals, also when the block ends in an error.
    """

    def __init__(self, name: str, pull: Callable[[Lever], None], release: Callable[[Lever], None]) -> None:
        self.name = name
        self.fired = 0
        self._pull = pull
        self._release = release
        self._pulled = False

    def __enter__(self) -> Self:
        assert not self._pulled, f"the lever {self.name} is pulled already"
        self._pulled = True
        self._pull(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pulled:
            self._pulled = False
            self._release(self)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)
