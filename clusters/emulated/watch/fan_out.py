"""From one event to its subscribers, without asking those whom it does not concern.

Subscriptions are kept by what they follow: everything, one directory (a namespace), or one exact key; an
event asks three dictionaries, however many namespaces and names are followed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from clusters.emulated.watch.events import CacheEvent, EndReason

T = TypeVar("T")

Deliver = Callable[[CacheEvent[T]], None]
OnEnd = Callable[[EndReason], None]


class CacheSubscription(Generic[T]):
    """One follower. It gets each event after `from_revision` once, in order, until it is cancelled or ended."""

    __slots__ = ("_owner", "active", "deliver", "from_revision", "on_end", "prefix")

    def __init__(self, owner: FanOut[T], prefix: str, from_revision: int, deliver: Deliver[T], on_end: OnEnd) -> None:
        self._owner = owner
        self.prefix = prefix
        self.from_revision = from_revision
        self.deliver = deliver
        self.on_end = on_end
        self.active = True

    def cancel(self) -> None:
        """Stops delivery at once; `on_end` is not called, since the subscriber knows."""
        if self.active:
            self.active = False
            self._owner.remove(self)

    def end(self, reason: EndReason) -> None:
        if self.active:
            self.cancel()
            self.on_end(reason)


class FanOut(Generic[T]):
    """The subscriptions of one cache. A prefix that ends with `/` follows what is below, another one key."""

    def __init__(self) -> None:
        # Dictionaries as ordered sets: delivery is in the order of subscribing, and removal is quick.
        self._by_prefix: dict[str, dict[CacheSubscription[T], None]] = {}

    def __len__(self) -> int:
        return sum(len(subscriptions) for subscriptions in self._by_prefix.values())

    def add(self, subscription: CacheSubscription[T]) -> None:
        self._by_prefix.setdefault(subscription.prefix, {})[subscription] = None

    def remove(self, subscription: CacheSubscription[T]) -> None:
        subscriptions = self._by_prefix.get(subscription.prefix)
        if subscriptions is not None:
            subscriptions.pop(subscription, None)
            if not subscriptions:
                del self._by_prefix[subscription.prefix]

    def end_all(self, reason: EndReason) -> None:
        for subscription in self._matching(tuple(self._by_prefix)):
            subscription.end(reason)

    def publish(self, event: CacheEvent[T]) -> None:
        by_prefix = self._by_prefix
        if not by_prefix:
            return
        key, revision = event[1], event[4]
        for subscription in self._matching(_prefixes_of(key)):
            # A subscription may have begun ahead of this replica, and may be cancelled by one before it.
            if revision > subscription.from_revision and subscription.active:
                self.hand_over(subscription, event)

    def hand_over(self, subscription: CacheSubscription[T], event: CacheEvent[T]) -> None:
        """Delivers; a subscriber that fails is ended, and harms neither the others nor the commit."""
        try:
            subscription.deliver(event)
        except Exception as error:  # noqa: BLE001  (a subscriber may raise anything)
            subscription.end(EndReason.DELIVERY_FAILED)
            asyncio.get_running_loop().call_exception_handler(
                {"message": f"a subscriber of {subscription.prefix} failed", "exception": error}
            )

    def _matching(self, prefixes: tuple[str, ...]) -> list[CacheSubscription[T]]:
        found: list[CacheSubscription[T]] = []
        for prefix in prefixes:
            subscriptions = self._by_prefix.get(prefix)
            if subscriptions is not None:
                found += subscriptions
        return found


def _prefixes_of(key: str) -> tuple[str, ...]:
    """The key and every directory above it: `/r/pods/a/x`, `/r/pods/a/`, `/r/pods/`, `/r/`, `/`."""
    found = [key]
    position = key.rfind("/", 0, len(key) - 1)
    while position >= 0:
        found.append(key[: position + 1])
        position = key.rfind("/", 0, position)
    return tuple(found)
