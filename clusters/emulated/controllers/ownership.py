"""Who controls what: controller references, and adopting and releasing by selector.

A controller claims the objects that its selector matches and that nobody controls, and lets go of those it
controls and that no longer match.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import ApiFailure, Conflict, Invalid, NotFound
from clusters.emulated.client.indexer import Indexer
from clusters.emulated.client.resources import Resource

Object = dict[str, Any]
Matches = Callable[[dict[str, str]], bool]

_ORPHANS: Final = "orphans"


def controller_of(obj: Object) -> Object | None:
    """The owner reference of its controller."""
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            found: Object = reference
            return found
    return None


def is_controlled_by(obj: Object, owner: Object) -> bool:
    reference = controller_of(obj)
    return reference is not None and reference["uid"] == owner["metadata"]["uid"]


def controller_reference(owner: Object, resource: Resource) -> Object:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def index_orphans(store: Indexer) -> None:
    """Prepares a store for `orphans_in`."""

    def namespace_of_an_orphan(obj: Object) -> list[str]:
        return [] if controller_of(obj) is not None else [obj["metadata"].get("namespace", "")]

    store.add_index(_ORPHANS, namespace_of_an_orphan)


def orphans_in(store: Indexer, namespace: str) -> list[Object]:
    """What nobody controls."""
    return store.by_index(_ORPHANS, namespace)


class CannotAdoptError(ApiFailure):
    """The owner was deleted meanwhile, or replaced; nothing may become its own any more."""

    def __init__(self, message: str) -> None:
        super().__init__(0, message)


@dataclass(frozen=True)
class Claims:
    """Claims for one owner; `resource` is the owner's, `dependents` that of what is claimed."""

    api: Api
    owner: Object
    resource: Resource
    dependents: Resource
    matches: Matches
    #: Added on adoption and removed on release.
    finalizer: str = ""

    async def claim(self, candidates: Iterable[Object]) -> list[Object]:
        """Those that are the owner's now. Raises the first failure after all were tried."""
        claimed: list[Object] = []
        failures: list[ApiFailure] = []
        checked: list[ApiFailure | None] = []
        uid = self.owner["metadata"]["uid"]
        leaving = "deletionTimestamp" in self.owner["metadata"]
        for each in candidates:
            reference = controller_of(each)
            matching = self.matches(each["metadata"].get("labels") or {})
            if reference is not None:
                if reference["uid"] != uid:
                    continue
                if matching:
                    claimed.append(each)
                elif not leaving:
                    await self._tried(self._release, each, failures)
            elif not leaving and matching and "deletionTimestamp" not in each["metadata"]:
                if not checked:
                    checked.append(await self._why_not())
                if checked[0] is not None:
                    failures.append(self._refused(each, checked[0]))
                elif await self._tried(self._adopt, each, failures):
                    claimed.append(each)
        if failures:
            raise failures[0]
        return claimed

    async def _tried(
        self, change: Callable[[Object], Awaitable[None]], obj: Object, failures: list[ApiFailure]
    ) -> bool:
        try:
            await change(obj)
        except NotFound:
            return False
        except ApiFailure as failure:
            failures.append(failure)
            return False
        return True

    async def _why_not(self) -> ApiFailure | None:
        """What forbids adoption; the owner is asked for anew, because the cache may not know of its deletion."""
        metadata = self.owner["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        try:
            fresh = await self.api.get(self.resource, name, namespace)
        except ApiFailure as failure:
            return failure
        if fresh["metadata"]["uid"] != metadata["uid"]:
            return Conflict(409, f"original {self.resource.kind} {namespace}/{name} is gone")
        if "deletionTimestamp" in fresh["metadata"]:
            return Conflict(409, f"{namespace}/{name} has just been deleted")
        return None

    def _refused(self, obj: Object, why: ApiFailure) -> ApiFailure:
        metadata = obj["metadata"]
        about = f"{self.dependents.kind} {metadata.get('namespace', '')}/{metadata['name']} ({metadata['uid']})"
        return CannotAdoptError(f"can't adopt {about}: {why.message}")

    async def _adopt(self, obj: Object) -> None:
        metadata: Object = {
            "ownerReferences": [controller_reference(self.owner, self.resource)],
            "uid": obj["metadata"]["uid"],
        }
        if self.finalizer:
            metadata["finalizers"] = [self.finalizer]
        await self._patch(obj, metadata)

    async def _release(self, obj: Object) -> None:
        metadata: Object = {
            "uid": obj["metadata"]["uid"],
            "ownerReferences": [{"$patch": "delete", "uid": self.owner["metadata"]["uid"]}],
        }
        if self.finalizer:
            metadata["$deleteFromPrimitiveList/finalizers"] = [self.finalizer]
        try:
            await self._patch(obj, metadata)
        except Invalid:
            return  # It has no such owner any more, or another object took its name.

    async def _patch(self, obj: Object, metadata: Object) -> None:
        name, namespace = obj["metadata"]["name"], obj["metadata"].get("namespace", "")
        await self.api.patch(self.dependents, name, {"metadata": metadata}, namespace, type="strategic")
