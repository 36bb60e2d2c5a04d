"""What a few resources do besides being stored: allocate addresses, check escalation, die slowly.

The base class is the resource that does nothing special; override what is needed. The order in a create:

    mutating admission → check_write → begin_create → prepare, validate → validating admission → store → finish
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusters.emulated.apiserver.options import DeleteOptions
    from clusters.emulated.apiserver.request import Request

Object = dict[str, Any]
#: Called with True when the write was stored, with False when it was given up.
Finish = Callable[[bool], Awaitable[None]]


async def finish_nothing(stored: bool) -> None:
    """Most writes leave nothing behind that would have to be undone."""


class Hooks:
    #: Objects of this resource live this long in the store (Events: one hour).
    ttl_s: int | None = None
    #: Deleting one that others depend on orphans them unless told otherwise (legacy ReplicationControllers).
    orphans_by_default = False
    #: Dependents are never waited for or orphaned (Events, the policy of kinds nothing can depend on).
    ignores_dependents = False
    #: Said to whoever deletes without choosing what becomes of the dependents.
    default_deletion_warning = ""

    async def check_write(self, request: Request, obj: Object, old: Object | None) -> None:
        """May this user write this? Asked before anything else of the object is looked at; `old` is None on create."""

    async def begin_create(self, request: Request, obj: Object, dry_run: bool) -> Finish:
        """Before validation of a new object: allocate what it needs."""
        return finish_nothing

    async def begin_update(self, request: Request, obj: Object, old: Object, dry_run: bool) -> Finish:
        """The same for an update through the main endpoint."""
        return finish_nothing

    def prepared(self, obj: Object, old: Object, endpoint: str, now: str) -> None:
        """After the kind's rules prepared an update through `endpoint`: fill in what needs the time."""

    def check_delete(self, obj: Object, options: DeleteOptions) -> None:
        """May refuse to delete it, before the preconditions are looked at."""

    def grace_period_s(self, obj: Object, options: DeleteOptions) -> int | None:
        """How long the object lives on after DELETE; None for kinds that vanish at once."""
        return None

    def may_delete_during_update(self, obj: Object) -> bool:
        """Whether an update that removes the last finalizer of a deleted object removes the object."""
        return True

    def mark_deleting(self, obj: Object, options: DeleteOptions, now: str) -> bool | None:
        """For kinds that are deleted in a way of their own (Namespaces): True after changing `obj` accordingly,
        False when that has happened before and nothing changes; None for the ordinary way."""
        return None

    async def after_delete(self, obj: Object) -> None:
        """The object is gone: release what it had."""


NO_HOOKS = Hooks()
