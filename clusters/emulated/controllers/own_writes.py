"""A controller that looks at caches older than its own writes repeats itself; this tells when they are.

writes.wrote("shop/db", pods, created)
writes.check("shop/db")         # raises StaleCacheError until the informer of Pods has come that far
"""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.errors import Conflict
from clusters.emulated.client.informers import SharedInformer

Object = dict[str, Any]


class StaleCacheError(Conflict):
    """The informers do not show this controller's own last writes yet. Try again in a moment."""

    def __init__(self, key: str, informer: SharedInformer) -> None:
        super().__init__(409, f"{key}: the cache of {informer.resource.plural} is behind our own writes")


class OwnWrites:
    """By key of the controller's own object."""

    def __init__(self) -> None:
        self._written: dict[str, dict[str, tuple[SharedInformer, int]]] = {}

    def wrote(self, key: str, informer: SharedInformer, stored: Object) -> None:
        version = int(stored["metadata"]["resourceVersion"])
        self._written.setdefault(key, {})[informer.resource.plural] = (informer, version)

    def check(self, key: str) -> None:
        for informer, version in self._written.get(key, {}).values():
            if informer.resource_version < version:
                raise StaleCacheError(key, informer)
        self._written.pop(key, None)
