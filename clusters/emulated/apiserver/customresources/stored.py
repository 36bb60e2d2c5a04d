"""A stored custom resource, seen with the schema of its version as it is now: newer defaults, fewer fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusters.emulated.apiserver.customresources.custom_resource import CustomResource
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.store.protocol import KeyValue

Object = dict[str, Any]


class StoredCustomResource(Stored):
    __slots__ = ("_seen", "_versions")

    def __init__(self, value: bytes, revision: int, versions: Mapping[str, CustomResource]) -> None:
        super().__init__(value, revision)
        self._versions = versions
        self._seen = False

    @property
    def object(self) -> Object:
        obj = super().object
        if not self._seen:
            self._seen = True
            version = self._versions.get(obj.get("apiVersion", ""))
            if version is not None:
                obj = self._object = version.from_store(obj)
        return obj


def reader(versions: Mapping[str, CustomResource]) -> Callable[[KeyValue], Stored]:
    """How the cache of a custom resource decodes; `versions` are by apiVersion."""
    return lambda kv: StoredCustomResource(kv.value, kv.mod_revision, versions)
