"""The contract between components and an api-server, emulated in this process or real over HTTPS.

Controllers, scheduler and kubelets hold an `Api` and nothing else; which one is decided where they are wired.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from clusters.emulated.client.resources import Resource

Object = dict[str, Any]
PatchType = Literal["json", "merge", "strategic", "apply"]


@dataclass(frozen=True, slots=True)
class ObjectList:
    items: list[Object]
    resource_version: str
    continue_token: str = ""


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK. ERROR events are raised as typed failures instead."""

    type: str
    object: Object


class Api(Protocol):
    """All methods raise `client.errors.ApiFailure` subclasses. Objects are the caller's own: change them freely."""

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object: ...

    async def list(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> ObjectList: ...

    def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timeout_s: int | None = None,
        bookmarks: bool = True,
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent]]:
        """`async with api.watch(PODS, resource_version="7") as events: async for event in events: …`"""
        ...

    async def create(
        self, resource: Resource, obj: Object, namespace: str = "", *, name: str = "", subresource: str = ""
    ) -> Object:
        """POST. With `name` and `subresource`: to that subresource (binding, eviction, token)."""
        ...

    async def update(self, resource: Resource, obj: Object, *, subresource: str = "") -> Object:
        """PUT of an object that was read; its resourceVersion must still be current."""
        ...

    async def patch(
        self,
        resource: Resource,
        name: str,
        change: object,
        namespace: str = "",
        *,
        type: PatchType = "merge",
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
    ) -> Object: ...

    async def delete(
        self, resource: Resource, name: str, namespace: str = "", options: Object | None = None
    ) -> Object: ...

    async def delete_collection(self, resource: Resource, namespace: str = "", options: Object | None = None) -> None:
        """DELETE of everything in the collection."""
        ...

    async def document(self, path: str) -> Object:
        """GET of something that is no resource, e.g. a discovery document."""
        ...
