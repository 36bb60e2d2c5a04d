"""Stored objects for tests: what a hop sees of a cluster, without a store behind it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

Object = dict[str, Any]


class MemoryObjects:
    """`put` and `remove` move the resource's revision on, as a write to the store would."""

    def __init__(self) -> None:
        self._objects: dict[str, dict[tuple[str, str], Object]] = {}
        self._revisions: dict[str, int] = {}
        #: Objects that only a live read sees, as if the watch cache were behind.
        self.only_live: dict[tuple[str, str, str], Object] = {}

    def put(self, resource: str, obj: Object) -> Object:
        metadata = obj["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        self._objects.setdefault(resource, {})[key] = obj
        self._revisions[resource] = self.revision_of(resource) + 1
        return obj

    def remove(self, resource: str, namespace: str, name: str) -> None:
        del self._objects[resource][namespace, name]
        self._revisions[resource] = self.revision_of(resource) + 1

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        return self._objects.get(resource, {}).get((namespace, name))

    def list(self, resource: str, namespace: str = "") -> Sequence[Object]:
        stored = self._objects.get(resource, {})
        return [stored[key] for key in sorted(stored) if not namespace or key[0] == namespace]

    def revision_of(self, resource: str) -> int:
        return self._revisions.get(resource, 0)

    async def get_live(self, resource: str, namespace: str, name: str) -> Object | None:
        return self.only_live.get((resource, namespace, name)) or self.get(resource, namespace, name)

    async def modify(
        self, resource: str, namespace: str, name: str, change: Callable[[Object], Object | None]
    ) -> Object | None:
        found = self.get(resource, namespace, name)
        changed = None if found is None else change(copy.deepcopy(found))
        return None if changed is None else self.put(resource, changed)

    async def create(self, resource: str, namespace: str, obj: Object) -> Object:
        return self.put(resource, obj)
