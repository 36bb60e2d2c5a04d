"""Faults in force on a part of a node: which one answers for what is asked.

    faults = Faults()
    with faults.pull("fail_pull", lambda image: "nginx" in image, error) as lever: …
    fault = faults.match("fail_pull", image)    # counts in `lever.fired`

The parts ask by name and never know who pulled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.emulated.store.levers import Lever


class Faults:
    def __init__(self) -> None:
        self._pulled: dict[str, list[tuple[Lever, Callable[[Any], bool], Any]]] = {}

    def pull(
        self,
        name: str,
        value: Any = True,
        matches: Callable[[Any], bool] | None = None,
        *,
        changed: Callable[[], None] | None = None,
    ) -> Lever:
        """A lever, not pulled yet. `changed` is told when it is pulled and when it is released."""
        entry: list[tuple[Lever, Callable[[Any], bool], Any]] = []

        def pulled(lever: Lever) -> None:
            entry.append((lever, matches or _anything, value))
            self._pulled.setdefault(name, []).append(entry[0])
            if changed is not None:
                changed()

        def released(_: Lever) -> None:
            self._pulled[name].remove(entry.pop())
            if changed is not None:
                changed()

        return Lever(name, pulled, released)

    def match(self, name: str, what: Any = None) -> Any:
        """The value of the fault that hits this, the last pulled first; None where there is none."""
        pulled = self._pulled.get(name)
        if not pulled:
            return None
        for lever, matches, value in reversed(pulled):
            if matches(what):
                lever.fired += 1
                return value
        return None


def _anything(_: object) -> bool:
    return True
