"""A local copy of the objects of one resource, kept by list and watch, that tells handlers what changed.

Handlers are called one after the other, in the order of the changes, after the store has changed:

    added       on_add(obj)
    changed     on_update(old, new)      also a name that was deleted and created anew while nobody watched:
                                         the uids differ
    deleted     on_delete(obj, False)    with its last state
    gone        on_delete(obj, True)     a deletion that was missed; obj is the last state that was seen

A watch that ends is opened again where it ended. Only when the api-server no longer has that history (410), or
refuses in a way that nothing explains, everything is listed again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from clusters.emulated.client.api import Api, WatchEvent
from clusters.emulated.client.errors import ApiFailure, Expired, ServerTimeout, TooManyRequests, Unreachable
from clusters.emulated.client.indexer import Indexer, key_of
from clusters.emulated.client.resources import Resource
from clusters.emulated.clock import Clock, Randomness

log = logging.getLogger(__name__)

Object = dict[str, Any]

# As client-go's reflector: waits grow from the first to the last, each lengthened by up to its own length,
# and start anew once there was peace for long enough.
_BACK_OFF_FIRST_S: Final = 0.8
_BACK_OFF_MAX_S: Final = 30.0
_BACK_OFF_RESET_S: Final = 120.0
_WATCH_S: Final = 300


@dataclass(frozen=True, eq=False)
class Handler:
    """What to call; also the name by which `remove_handler` knows it."""

    on_add: Callable[[Object], None] | None = None
    on_update: Callable[[Object, Object], None] | None = None
    on_delete: Callable[[Object, bool], None] | None = None


class Informer:
    """`await start()`, and `store` follows the api-server until `await stop()`."""

    def __init__(
        self,
        api: Api,
        resource: Resource,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        *,
        clock: Clock,
        resync_s: float = 0,
        randomness: Randomness | None = None,
    ) -> None:
        self.resource = resource
        self.store = Indexer()
        self.relists = 0
        self._api = api
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._clock = clock
        self._resync_s = resync_s
        self._randomness = randomness or Randomness(0)
        self._handlers: list[Handler] = []
        self._resource_version = ""
        self._synced = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._resync_timer: asyncio.TimerHandle | None = None
        self._back_off_s = 0.0
        self._failed_at_s = 0.0

    # Life

    async def start(self) -> None:
        """Begins to follow; returns at once. Starting it twice is starting it once."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name=f"informer {self.resource.plural}")
            self._plan_resync()

    async def stop(self) -> None:
        """Stops to follow; the store stays as it is."""
        task, self._task = self._task, None
        if self._resync_timer is not None:
            self._resync_timer.cancel()
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    @property
    def has_synced(self) -> bool:
        """Whether the store has been filled, and the handlers told, once."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    @property
    def resource_version(self) -> int:
        """Up to which version of the api-server's state the store has followed."""
        return int(self._resource_version or 0)

    # Handlers

    def add_handler(
        self,
        on_add: Callable[[Object], None] | None = None,
        on_update: Callable[[Object, Object], None] | None = None,
        on_delete: Callable[[Object, bool], None] | None = None,
    ) -> Handler:
        """Who comes late is told of everything that is there already, as if it were added now."""
        handler = Handler(on_add, on_update, on_delete)
        self._handlers.append(handler)
        if on_add is not None:
            for obj in self.store.list():
                self._call(on_add, obj)
        return handler

    def remove_handler(self, handler: Handler) -> None:
        self._handlers.remove(handler)

    def _call(self, callback: Callable[..., None], *args: object) -> None:
        try:
            callback(*args)
        except Exception:
            # One broken handler must not keep the others, and the store, from what follows.
            log.exception("a handler of %s failed", self.resource.plural)

    def _added(self, obj: Object) -> None:
        for handler in [*self._handlers]:
            if handler.on_add is not None:
                self._call(handler.on_add, obj)

    def _updated(self, old: Object, new: Object) -> None:
        for handler in [*self._handlers]:
            if handler.on_update is not None:
                self._call(handler.on_update, old, new)

    def _deleted(self, obj: Object, final_state_unknown: bool) -> None:
        for handler in [*self._handlers]:
            if handler.on_delete is not None:
                self._call(handler.on_delete, obj, final_state_unknown)

    # Following

    async def _run(self) -> None:
        from_version = "0"
        while True:
            try:
                await self._list(from_version)
                await self._follow()
            except Expired as expired:
                log.debug("%s: listing anew: %s", self.resource.plural, expired)
                from_version = ""
            except ApiFailure as failed:
                log.warning("failed to list or watch %s: %s", self.resource.plural, failed.message)
                from_version = self._resource_version or "0"
            await self._back_off()

    async def _list(self, from_version: str) -> None:
        """Lists from a version on; `0` is whatever the api-server has at hand, an empty one is the current state."""
        try:
            found = await self._api.list(
                self.resource,
                self._namespace,
                label_selector=self._label_selector,
                field_selector=self._field_selector,
                resource_version=from_version,
            )
        except Expired:
            if not from_version:
                raise
            await self._list("")
            return
        self.relists += 1
        self._resource_version = found.resource_version
        self._replace(found.items)
        self._synced.set()

    def _replace(self, items: list[Object]) -> None:
        listed = {key_of(item): item for item in items}
        for key, obj in listed.items():
            old = self.store.put(key, obj)
            if old is None:
                self._added(obj)
            elif old["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
                self._updated(old, obj)
        for key in [key for key in self.store if key not in listed]:
            gone = self.store.pop(key)
            assert gone is not None, "only this informer changes its store"
            self._deleted(gone, True)

    async def _follow(self) -> None:
        """Watches, again and again, until the history that we need is gone or nothing explains the failure."""
        while True:
            began_s = self._clock.monotonic_s()
            seen = False
            try:
                async with self._api.watch(
                    self.resource,
                    self._namespace,
                    resource_version=self._resource_version,
                    label_selector=self._label_selector,
                    field_selector=self._field_selector,
                    timeout_s=int(_WATCH_S * (1 + self._randomness.fraction())),
                ) as events:
                    async for event in events:
                        seen = True
                        self._apply(event)
            except (Unreachable, TooManyRequests, ServerTimeout) as failed:
                # Nobody listens, or the stream was cut: what we have is still good.
                log.debug("watch of %s: %s", self.resource.plural, failed.message)
                await self._back_off()
            else:
                if not seen and self._clock.monotonic_s() - began_s < 1.0:
                    await self._back_off()

    def _apply(self, event: WatchEvent) -> None:
        obj = event.object
        self._resource_version = obj["metadata"]["resourceVersion"]
        if event.type == "BOOKMARK":
            return
        key = key_of(obj)
        if event.type == "DELETED":
            self.store.pop(key)
            self._deleted(obj, False)
            return
        old = self.store.put(key, obj)
        if old is None:
            self._added(obj)
        else:
            self._updated(old, obj)

    async def _back_off(self) -> None:
        now_s = self._clock.monotonic_s()
        if now_s - self._failed_at_s > _BACK_OFF_RESET_S:
            self._back_off_s = 0.0
        self._failed_at_s = now_s
        self._back_off_s = min(max(self._back_off_s * 2, _BACK_OFF_FIRST_S), _BACK_OFF_MAX_S)
        await self._clock.sleep(self._back_off_s * (1 + self._randomness.fraction()))

    # Resync

    def _plan_resync(self) -> None:
        if self._resync_s:
            self._resync_timer = self._clock.call_later(self._resync_s, self._resync)

    def _resync(self) -> None:
        for obj in self.store.list():
            self._updated(obj, obj)
        self._plan_resync()
