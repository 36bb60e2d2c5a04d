"""Informers that are shared: one per resource, namespace and selectors, whoever asks.

    factory = InformerFactory(api, clock)
    pods = factory.informer(PODS)
    await factory.start_all()
    await factory.wait_synced()

`scope()` gives a component its own view of a factory: the informers are the same, and `release()` takes away the
handlers that were added through the view, so that a component can stop while others go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from clusters.emulated.client.api import Api
from clusters.emulated.client.indexer import Indexer
from clusters.emulated.client.informer import Handler, Informer
from clusters.emulated.client.resources import Resource
from clusters.emulated.clock import Clock, Randomness

Object = dict[str, Any]
_Key = tuple[Resource, str, str, str]


class SharedInformer:
    """An informer as one of its users sees it."""

    def __init__(self, informer: Informer) -> None:
        self._informer = informer
        self._handlers: list[Handler] = []

    @property
    def resource(self) -> Resource:
        return self._informer.resource

    @property
    def store(self) -> Indexer:
        return self._informer.store

    @property
    def has_synced(self) -> bool:
        return self._informer.has_synced

    @property
    def resource_version(self) -> int:
        return self._informer.resource_version

    async def start(self) -> None:
        await self._informer.start()

    async def wait_synced(self) -> None:
        await self._informer.wait_synced()

    def add_handler(
        self,
        on_add: Callable[[Object], None] | None = None,
        on_update: Callable[[Object, Object], None] | None = None,
        on_delete: Callable[[Object, bool], None] | None = None,
    ) -> Handler:
        handler = self._informer.add_handler(on_add, on_update, on_delete)
        self._handlers.append(handler)
        return handler

    def remove_handler(self, handler: Handler) -> None:
        self._handlers.remove(handler)
        self._informer.remove_handler(handler)

    def release(self) -> None:
        for handler in [*self._handlers]:
            self.remove_handler(handler)


class InformerFactory:
    def __init__(self, api: Api, clock: Clock, randomness: Randomness | None = None) -> None:
        self._api = api
        self._clock = clock
        self._randomness = randomness or Randomness(0)
        self._informers: dict[_Key, Informer] = {}
        self._used: dict[_Key, SharedInformer] = {}

    def scope(self) -> InformerFactory:
        """A view of this factory: the same informers, handlers of its own."""
        view = InformerFactory(self._api, self._clock, self._randomness)
        view._informers = self._informers
        return view

    def informer(
        self, resource: Resource, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> SharedInformer:
        key = (resource, namespace, label_selector, field_selector)
        used = self._used.get(key)
        if used is None:
            informer = self._informers.get(key)
            if informer is None:
                informer = self._informers[key] = Informer(
                    self._api, *key, clock=self._clock, randomness=self._randomness
                )
            used = self._used[key] = SharedInformer(informer)
        return used

    async def start_all(self) -> None:
        """Starts what was asked for here and does not run yet."""
        for used in [*self._used.values()]:
            await used.start()

    async def wait_synced(self) -> None:
        for used in [*self._used.values()]:
            await used.wait_synced()

    def release(self) -> None:
        """Takes away the handlers that were added here. The informers go on for others."""
        for used in self._used.values():
            used.release()
        self._used.clear()

    async def stop(self) -> None:
        """Ends the informers, of every view."""
        self.release()
        await asyncio.gather(*(informer.stop() for informer in self._informers.values()))
        self._informers.clear()
