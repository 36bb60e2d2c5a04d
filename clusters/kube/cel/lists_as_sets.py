"""Lists of x-kubernetes-list-type set and map: order does not matter to ``==``, and ``+`` merges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from clusters.kube.cel.values import equal


class SetList(list[Any]):
    """A list whose elements are a set of scalars."""

    def cel_equal(self, other: Any) -> bool:
        if not isinstance(other, list) or len(self) != len(other):
            return False
        return all(any(equal(mine, theirs) for mine in self) for theirs in other)

    def cel_add(self, other: list[Any]) -> SetList:
        out = SetList(self)
        for item in other:
            if not any(equal(item, mine) for mine in out):
                out.append(item)
        return out


class MapList(list[Any]):
    """A list whose elements are objects that ``keys`` tell apart."""

    def __init__(self, items: Iterable[Any], keys: Sequence[str]) -> None:
        super().__init__(items)
        self.keys = tuple(keys)

    def _key(self, item: Any) -> tuple[Any, ...]:
        if not isinstance(item, dict):
            return (id(item),)
        return tuple(item.get(key) for key in self.keys)

    def cel_equal(self, other: Any) -> bool:
        if not isinstance(other, list) or len(self) != len(other):
            return False
        mine = {self._key(item): item for item in self}
        return all(self._key(item) in mine and equal(mine[self._key(item)], item) for item in other)

    def cel_add(self, other: list[Any]) -> MapList:
        out = list(self)
        places = {self._key(item): index for index, item in enumerate(out)}
        for item in other:
            place = places.get(self._key(item))
            if place is None:
                out.append(item)
            else:
                out[place] = item
        return MapList(out, self.keys)
