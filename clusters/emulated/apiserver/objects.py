"""What a hop may ask of the stored objects: the api-server's own informers, and live reads.

Resources are named as Kubernetes names a GroupResource: `pods`, `clusterroles.rbac.authorization.k8s.io`.
Objects come back in their storage version's shape and must not be changed by the reader (copy first).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Object = dict[str, Any]


class Objects(Protocol):
    def get(self, resource: str, namespace: str, name: str) -> Object | None:
        """From the watch cache, without waiting; None when it is not there (yet)."""

    def list(self, resource: str, namespace: str = "") -> Sequence[Object]:
        """From the watch cache; an empty namespace means all of them."""

    def revision_of(self, resource: str) -> int:
        """Grows whenever any object of the resource changes: a cheap key for caches of derived state."""

    async def get_live(self, resource: str, namespace: str, name: str) -> Object | None:
        """From the store, current."""

    async def modify(
        self, resource: str, namespace: str, name: str, change: Callable[[Object], Object | None]
    ) -> Object | None:
        """Read, change, compare-and-swap, again when somebody was faster; `change` gets a private copy
        and returns the object to store, or None to leave it. Skips admission and validation: for the
        api-server's own bookkeeping only (quota usage, last-used stamps)."""

    async def create(self, resource: str, namespace: str, obj: Object) -> Object:
        """Store a new object as the api-server itself (no admission); raises AlreadyExists."""
