"""DELETE: at once, gracefully, or when the last finalizer is gone.

no grace, no finalizers    gone, the answer is a Status (or the object, for kinds that say so)
grace period (Pods)        deletionTimestamp = now + grace; gone when somebody deletes it with grace 0
finalizers                 deletionTimestamp = now; gone with the update that removes the last one
"""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.admission.attributes import Attributes
from clusters.emulated.apiserver.options import DeleteOptions, ListOptions, delete_options, list_options
from clusters.emulated.apiserver.registry.hooks import Hooks
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.registry.storage import ResourceStorage
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.selection import Selection
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.verbs.write import UPDATE_ATTEMPTS_MAX, copy_json, store_failure
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.store import errors as store_errors
from clusters.kube import errors
from clusters.kube.timestamps import unix_s

Object = dict[str, Any]

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"


class Deletion:
    """What a DELETE came to: the object's last state, and whether it is gone."""

    __slots__ = ("gone", "stored")

    def __init__(self, stored: Stored, gone: bool) -> None:
        self.stored = stored
        self.gone = gone


class Deleter:
    def __init__(self, services: Services) -> None:
        self.services = services

    async def delete(self, request: Request, served: Served) -> tuple[Deletion, DeleteOptions]:
        options = delete_options(request, self.services.catalogue)
        self._warn(request, served, options)
        return await self.delete_named(request, served, request.info.name, options), options

    def _warn(self, request: Request, served: Served, options: DeleteOptions) -> None:
        if options.propagation_policy is None and options.orphan_dependents is None:
            request.warn(self.services.hooks_of(served).default_deletion_warning)

    async def delete_named(
        self, request: Request, served: Served, name: str, options: DeleteOptions, *, admission: bool = True
    ) -> Deletion:
        """`admission` is False where the request was admitted as something else (an eviction)."""
        storage = self.services.storage(served)
        key = storage.key(request.info.namespace if served.resource.namespaced else "", name)
        for _ in range(UPDATE_ATTEMPTS_MAX):
            try:
                current = await storage.current(key)
                if current is None:
                    raise errors.not_found(request.info.group_resource, name)
                return await self._delete_once(request, served, storage, key, current, options, admission)
            except store_errors.CompareFailed:
                continue  # It changed meanwhile: decide again from what is there now.
            except store_errors.StoreError as error:
                raise store_failure(error) from error
        raise errors.server_timeout(request.info.group_resource, "delete")

    async def _delete_once(
        self,
        request: Request,
        served: Served,
        storage: ResourceStorage,
        key: str,
        current: Stored,
        options: DeleteOptions,
        admission: bool,
    ) -> Deletion:
        hooks = self.services.hooks_of(served)
        if served.conversion is not None:
            current = await served.conversion.load(current)
        hooks.check_delete(current.object, options)
        _check_preconditions(served, current.object, options)
        now_s = self.services.clock.now_s()
        obj = copy_json(current.object)
        marked = hooks.mark_deleting(obj, options, rfc3339(now_s))
        if marked is False:
            return Deletion(current, gone=False)
        graceful = False
        if marked is None:
            graceful, pending = _grace(hooks, obj, options, now_s)
            if pending:
                return Deletion(current, gone=False)
        if admission:
            await self._admit(request, served, current.object, options)
        if marked:
            return await self._mark(served, storage, key, current, served.finish(obj), options)
        metadata = obj["metadata"]
        finalizers = _finalizers(hooks, metadata.get("finalizers") or [], options)
        if finalizers:
            metadata["finalizers"] = finalizers
        else:
            metadata.pop("finalizers", None)
        if not graceful and finalizers:
            _mark_as_deleting(metadata, now_s)
        if (graceful and metadata.get("deletionGracePeriodSeconds")) or finalizers:
            return await self._mark(served, storage, key, current, served.finish(obj), options)
        return await self._remove(hooks, storage, key, current, served.finish(obj) if graceful else None, options)

    async def _remove(
        self,
        hooks: Hooks,
        storage: ResourceStorage,
        key: str,
        current: Stored,
        marked: Object | None,
        options: DeleteOptions,
    ) -> Deletion:
        """Takes it out of the store. Graceful kinds are written once more before (`marked`), as in Kubernetes, so
        that watchers see when and how it was deleted."""
        if options.dry_run:
            return Deletion(current if marked is None else Stored.of(marked, current.revision), gone=True)
        last = current if marked is None else await storage.update(key, marked, current.revision)
        revision = await storage.delete(key, last)
        await hooks.after_delete(last.object)
        return Deletion(_at(last, revision), gone=True)

    async def _mark(
        self,
        served: Served,
        storage: ResourceStorage,
        key: str,
        current: Stored,
        obj: Object,
        options: DeleteOptions,
    ) -> Deletion:
        if obj == current.object:
            return Deletion(current, gone=False)
        if options.dry_run:
            return Deletion(Stored.of(obj, current.revision), gone=False)
        conversion = served.conversion
        if conversion is None:
            return Deletion(await storage.update(key, obj, current.revision), gone=False)
        stored = await storage.update(key, await conversion.save(obj), current.revision)
        return Deletion(await conversion.load(stored), gone=False)

    async def _admit(self, request: Request, served: Served, old: Object, options: DeleteOptions) -> None:
        info, resource = request.info, served.resource
        namespace = info.namespace
        attributes = Attributes(
            operation="DELETE",
            group=resource.group,
            version=resource.version,
            kind=resource.kind,
            resource=resource.plural,
            subresource=info.subresource,
            namespace=namespace,
            name=info.name,
            object=None,
            old_object=old,
            options=options.as_object(),
            dry_run=options.dry_run,
            user=request.user,
            request=request,
            namespaced=resource.namespaced,
        )
        await self.services.admission.admit(attributes)
        await self.services.admission.validate(attributes)

    async def delete_collection(self, request: Request, served: Served) -> tuple[list[Stored], int]:
        """Deletes everything the selectors match; the objects as they were, and the list's revision."""
        selected: ListOptions = list_options(request.query)
        selection = Selection.of(served, selected)
        options = delete_options(request, self.services.catalogue)
        self._warn(request, served, options)
        storage = self.services.storage(served)
        prefix = storage.prefix + (f"{request.info.namespace}/" if request.info.namespace else "")
        try:
            page = await storage.list(prefix, selected, selection.matches)
        except store_errors.StoreError as error:
            raise store_failure(error) from error
        for each in page.items:
            try:
                await self.delete_named(request, served, each.object["metadata"]["name"], options)
            except errors.StatusError as error:
                if error.code != 404:
                    raise
        items = page.items if served.conversion is None else await served.conversion.for_reading(page.items)
        return items, page.revision


def _at(stored: Stored, revision: int) -> Stored:
    """What is deleted is shown with the revision of its deletion."""
    obj = stored.object
    shown = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}
    return Stored.of(shown, revision)


def _check_preconditions(served: Served, obj: Object, options: DeleteOptions) -> None:
    metadata = obj["metadata"]
    resource = f"{served.resource.kind}.{served.resource.group}" if served.resource.group else served.resource.kind
    uid, version = options.precondition_uid, options.precondition_resource_version
    if uid is not None and uid != metadata.get("uid"):
        why = (
            f"the UID in the precondition ({uid}) does not match the UID in record ({metadata.get('uid')}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(resource, metadata["name"], why)
    if version is not None and version != metadata.get("resourceVersion"):
        why = (
            f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record "
            f"({metadata.get('resourceVersion')}). The object might have been modified"
        )
        raise errors.conflict(resource, metadata["name"], why)


def _grace(hooks: Hooks, obj: Object, options: DeleteOptions, now_s: float) -> tuple[bool, bool]:
    """(the object lives on for a while, that is so already and nothing changes). Changes `obj` for the first."""
    metadata = obj["metadata"]
    if options.grace_period_s is not None and options.grace_period_s < 0:
        options.grace_period_s = 1
    wanted = hooks.grace_period_s(obj, options)
    if wanted is None:
        return False, False
    if metadata.get("deletionTimestamp"):
        running = metadata.get("deletionGracePeriodSeconds") or 0
        if not running:
            return False, False
        if options.grace_period_s is None or options.grace_period_s >= running:
            return False, True
        period = options.grace_period_s
        at_s = unix_s(metadata["deletionTimestamp"]) - running + period
        if at_s < now_s:
            at_s = now_s
            period = 1 if period else 0
        metadata["deletionTimestamp"] = rfc3339(at_s)
        metadata["deletionGracePeriodSeconds"] = period
        return True, False
    metadata["deletionTimestamp"] = rfc3339(now_s + wanted)
    metadata["deletionGracePeriodSeconds"] = wanted
    if metadata.get("generation"):
        metadata["generation"] += 1
    return True, False


def _mark_as_deleting(metadata: Object, now_s: float) -> None:
    if not metadata.get("deletionTimestamp") and metadata.get("generation"):
        metadata["generation"] += 1
    if not metadata.get("deletionTimestamp") or unix_s(metadata["deletionTimestamp"]) > now_s:
        metadata["deletionTimestamp"] = rfc3339(now_s)
    metadata["deletionGracePeriodSeconds"] = 0


def _finalizers(hooks: Hooks, present: list[str], options: DeleteOptions) -> list[str]:
    """The finalizers after the propagation policy has added or removed the garbage collector's two."""
    if hooks.ignores_dependents:
        return present
    orphan = _orphans(hooks, present, options)
    foreground = _waits_for_dependents(present, options)
    kept = [name for name in present if name not in (ORPHAN, FOREGROUND)]
    wanted = kept + [ORPHAN] * orphan + [FOREGROUND] * foreground
    return present if set(wanted) == set(present) else wanted


def _orphans(hooks: Hooks, present: list[str], options: DeleteOptions) -> bool:
    if options.orphan_dependents is not None:
        return options.orphan_dependents
    if options.propagation_policy is not None:
        return options.propagation_policy == "Orphan"
    for name in present:
        if name in (ORPHAN, FOREGROUND):
            return name == ORPHAN
    return hooks.orphans_by_default


def _waits_for_dependents(present: list[str], options: DeleteOptions) -> bool:
    if options.orphan_dependents is not None:
        return False
    if options.propagation_policy is not None:
        return options.propagation_policy == "Foreground"
    for name in present:
        if name in (ORPHAN, FOREGROUND):
            return name == FOREGROUND
    return False
