"""Who is told about a commit: synchronous subscriptions, found by the directory of the changed key."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from clusters.emulated.store.protocol import WatchBatch

ROUTES_MAX: Final = 8192  # directories remembered; more than that many namespaces in use start over


class StoreSubscription:
    """One follower. While it replays history it is not yet in the routes, so the order is kept."""

    __slots__ = ("_owner", "active", "callback", "prefix")

    def __init__(self, owner: Subscriptions, prefix: str, callback: Callable[[WatchBatch], None]) -> None:
        self._owner = owner
        self.prefix = prefix
        self.callback = callback
        self.active = True

    def progress(self) -> int:
        return self._owner.delivered_revision()

    def cancel(self) -> None:
        if self.active:
            self.active = False
            self._owner.remove(self)


class Subscriptions:
    """Prefix to followers. A key's directory decides who is told, and that answer is remembered."""

    def __init__(self, delivered_revision: Callable[[], int]) -> None:
        self.delivered_revision = delivered_revision
        self._all: list[StoreSubscription] = []
        self._routes: dict[str, tuple[StoreSubscription, ...]] = {}
        self._partial = False  # someone follows a prefix that does not end at a directory
        self.publishing = 0  # 1 while a batch is being handed out: not everyone has it yet

    def __len__(self) -> int:
        return len(self._all)

    def add(self, subscription: StoreSubscription) -> None:
        self._all.append(subscription)
        self._routes.clear()
        self._partial = self._partial or not subscription.prefix.endswith("/")

    def remove(self, subscription: StoreSubscription) -> None:
        if subscription in self._all:
            self._all.remove(subscription)
            self._routes.clear()
            self._partial = self._partial and any(not each.prefix.endswith("/") for each in self._all)

    def publish(self, batch: WatchBatch) -> None:
        """Hands a batch to its followers; one that touches several keys is narrowed for each."""
        if not self._all:
            return
        self.publishing = 1
        events = batch[1]
        if len(events) > 1 or self._partial:
            self._publish_narrowed(batch)
        else:
            for subscription in self._route(events[0][1][0]):
                try:
                    subscription.callback(batch)
                except Exception as error:  # noqa: BLE001  (whatever it is, the write has happened)
                    self._failed(subscription, error)
        self.publishing = 0

    def _route(self, key: str) -> tuple[StoreSubscription, ...]:
        directory = key[: key.rfind("/") + 1]
        route = self._routes.get(directory)
        if route is None:
            if len(self._routes) >= ROUTES_MAX:
                self._routes.clear()
            route = tuple([s for s in self._all if directory.startswith(s.prefix)])
            self._routes[directory] = route
        return route

    def _publish_narrowed(self, batch: WatchBatch) -> None:
        for subscription in tuple(self._all):
            narrowed = narrow(batch, subscription.prefix)
            if narrowed is not None and subscription.active:
                try:
                    subscription.callback(narrowed)
                except Exception as error:  # noqa: BLE001  (whatever it is, the write has happened)
                    self._failed(subscription, error)

    def _failed(self, subscription: StoreSubscription, error: Exception) -> None:
        """A follower's fault must not look like a failed write to the writer: the commit has happened.

        The follower is dropped, since it missed something, and the error goes to the loop's handler.
        """
        subscription.cancel()
        asyncio.get_running_loop().call_exception_handler(
            {"message": f"the follower of {subscription.prefix} failed and was dropped", "exception": error}
        )


def narrow(batch: WatchBatch, prefix: str) -> WatchBatch | None:
    """The part of a batch below a prefix, or None."""
    events = tuple([event for event in batch.events if event.kv.key.startswith(prefix)])
    if not events:
        return None
    return batch if len(events) == len(batch.events) else WatchBatch(batch.revision, events)
