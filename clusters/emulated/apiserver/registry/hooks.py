"""What a few resources do besides being stored: allocate addresses, check escalation, refuse deletion.

The base class is the resource that does nothing special; override what is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusters.emulated.apiserver.options import DeleteOptions
    from clusters.emulated.apiserver.request import Request

Object = dict[str, Any]
#: Called with True when the write was stored, with False when it was given up.
Finish = Callable[[bool], None]


def finish_nothing(stored: bool) -> None:
    """Most writes leave nothing behind that would have to be undone."""


class Hooks:
    #: Objects of this resource live this long in the store (Events: one hour).
    ttl_s: int | None = None
    #: Deleting one that others depend on orphans them unless told otherwise (legacy ReplicationControllers).
    orphans_by_default = False
    #: Dependents are never waited for or orphaned (Events, the policy of kinds nothing can depend on).
    ignores_dependents = False

    async def begin_create(self, request: Request, obj: Object, dry_run: bool) -> Finish:
        """Before validation of a new object: allocate what it needs, check what only this resource checks."""
        return finish_nothing

    async def begin_update(self, request: Request, obj: Object, old: Object, dry_run: bool) -> Finish:
        return finish_nothing

    def check_delete(self, obj: Object) -> None:
        """May refuse to delete it (immortal namespaces)."""

    def grace_period_s(self, obj: Object, options: DeleteOptions) -> int | None:
        """How long the object lives on after DELETE; None for kinds that vanish at once."""
        return None

    def may_delete_during_update(self, obj: Object) -> bool:
        """Whether an update that removes the last finalizer of a deleted object removes the object."""
        return True

    def mark_deleting(self, obj: Object, now: str) -> bool:
        """Whether this kind has a deletion of its own way (Namespaces); it has then changed `obj`."""
        return False

    def after_delete(self, obj: Object) -> None:
        """The object is gone: release what it had."""


NO_HOOKS = Hooks()
