"""The api-server's own view of what is stored (see `objects.Objects`), over its watch caches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from clusters.emulated.apiserver.registry.storage import ResourceStorage
from clusters.emulated.store import errors as store_errors
from clusters.kube import errors

Object = dict[str, Any]
_ATTEMPTS_MAX = 1000


class StoredObjects:
    def __init__(self, storages: dict[str, ResourceStorage]) -> None:
        self._storages = storages

    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        storage = self._storages.get(resource)
        if storage is None:
            return None
        found = storage.cache.get(storage.key(namespace, name))
        return None if found is None else found.object

    def list(self, resource: str, namespace: str = "") -> Sequence[Object]:
        storage = self._storages.get(resource)
        if storage is None:
            return ()
        prefix = storage.prefix + (f"{namespace}/" if namespace else "")
        return [each.object for each in storage.cache.list(prefix).items]

    def revision_of(self, resource: str) -> int:
        storage = self._storages.get(resource)
        return 0 if storage is None else storage.cache.changed_revision

    async def get_live(self, resource: str, namespace: str, name: str) -> Object | None:
        storage = self._storages.get(resource)
        if storage is None:
            return None
        found = await storage.current(storage.key(namespace, name))
        return None if found is None else found.object

    async def modify(
        self, resource: str, namespace: str, name: str, change: Callable[[Object], Object | None]
    ) -> Object | None:
        storage = self._storages[resource]
        key = storage.key(namespace, name)
        for _ in range(_ATTEMPTS_MAX):
            current = await storage.current(key)
            if current is None:
                return None
            changed = change(orjson.loads(orjson.dumps(current.object)))
            if changed is None or changed == current.object:
                return current.object
            try:
                return (await storage.update(key, changed, current.revision)).object
            except store_errors.CompareFailed:
                continue  # Somebody was faster; decide again from what is there now.
        raise errors.server_timeout(resource, "update")

    async def create(self, resource: str, namespace: str, obj: Object) -> Object:
        storage = self._storages[resource]
        name = obj["metadata"]["name"]
        try:
            return (await storage.create(storage.key(namespace, name), obj)).object
        except store_errors.KeyExists:
            raise errors.already_exists(resource, name) from None
