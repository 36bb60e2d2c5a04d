"""A store that measures: every operation's time and failures, by kind of object, as `etcd_*` metrics."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from clusters.emulated.apiserver.metrics.histogram import DURATIONS_S, Histogram
from clusters.emulated.clock import Clock
from clusters.emulated.store.errors import CompareFailed, KeyExists, StoreError
from clusters.emulated.store.protocol import KeyValue, RangeResult, Store

Key = tuple[str, str, str]
T = TypeVar("T")


class StoreMetrics:
    """By (operation, group, resource)."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.durations: dict[Key, Histogram] = {}
        self.errors: dict[Key, int] = {}

    def observe(self, key: Key, began_s: float) -> None:
        histogram = self.durations.get(key)
        if histogram is None:
            histogram = self.durations[key] = Histogram(DURATIONS_S)
        histogram.observe(self.clock.monotonic_s() - began_s)

    def failed(self, key: Key) -> None:
        self.errors[key] = self.errors.get(key, 0) + 1

    def of(self, store: Store, resource: str) -> Store:
        """`store`, measured as the one of this resource (`deployments.apps`)."""
        return cast("Store", MeasuredStore(store, self, resource))


class MeasuredStore:
    """The operations that a resource's storage uses; all others go to the store as they are."""

    def __init__(self, store: Store, metrics: StoreMetrics, resource: str) -> None:
        plural, _, group = resource.partition(".")
        self._store = store
        self._metrics = metrics
        self._now_s = metrics.clock.monotonic_s
        self._keys = {each: (each, group, plural) for each in ("get", "list", "create", "update", "delete")}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return getattr(self._store, name)

    async def _measured(self, operation: str, work: Awaitable[T]) -> T:
        key = self._keys[operation]
        began_s = self._now_s()
        try:
            return await work
        except (KeyExists, CompareFailed):
            raise  # The store has answered; the answer is no.
        except StoreError:
            self._metrics.failed(key)
            raise
        finally:
            self._metrics.observe(key, began_s)

    def get(self, key: str, *, serializable: bool = False) -> Awaitable[KeyValue | None]:
        return self._measured("get", self._store.get(key, serializable=serializable))

    def range(self, key: str, **options: Any) -> Awaitable[RangeResult]:
        return self._measured("list", self._store.range(key, **options))

    def create(self, key: str, value: bytes, lease: int = 0) -> Awaitable[int]:
        return self._measured("create", self._store.create(key, value, lease))

    def update(self, key: str, value: bytes, expected_mod_revision: int, lease: int = 0) -> Awaitable[int]:
        return self._measured("update", self._store.update(key, value, expected_mod_revision, lease))

    def delete(self, key: str, expected_mod_revision: int) -> Awaitable[int]:
        return self._measured("delete", self._store.delete(key, expected_mod_revision))
