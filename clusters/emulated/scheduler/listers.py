"""Where plugins look things up: the stores of the shared informers, or plain dicts in a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Object = dict[str, Any]


class Store(Protocol):
    """Keys are `namespace/name`, or `name` for what has no namespace."""

    def get(self, key: str) -> Object | None: ...

    def list(self, namespace: str = "") -> list[Object]: ...


class DictStore:
    """A store that is filled by hand."""

    def __init__(self, objects: Mapping[str, Object] | None = None) -> None:
        self._objects = dict(objects or {})

    def get(self, key: str) -> Object | None:
        return self._objects.get(key)

    def list(self, namespace: str = "") -> list[Object]:
        return [one for one in self._objects.values() if not namespace or one["metadata"]["namespace"] == namespace]


@dataclass
class Listers:
    pods: Store = field(default_factory=DictStore)
    nodes: Store = field(default_factory=DictStore)
    namespaces: Store = field(default_factory=DictStore)
    claims: Store = field(default_factory=DictStore)
    volumes: Store = field(default_factory=DictStore)
    storage_classes: Store = field(default_factory=DictStore)
    csi_nodes: Store = field(default_factory=DictStore)
    csi_drivers: Store = field(default_factory=DictStore)
    csi_storage_capacities: Store = field(default_factory=DictStore)
    volume_attachments: Store = field(default_factory=DictStore)
    services: Store = field(default_factory=DictStore)
    replication_controllers: Store = field(default_factory=DictStore)
    replica_sets: Store = field(default_factory=DictStore)
    stateful_sets: Store = field(default_factory=DictStore)
    pod_disruption_budgets: Store = field(default_factory=DictStore)
    resource_claims: Store = field(default_factory=DictStore)

    def services_of(self, namespace: str) -> list[Object]:
        return self.services.list(namespace)
