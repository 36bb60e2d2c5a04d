"""Creating and updating objects: the way from a decoded object to a committed one.

A create:   system fields → managedFields → mutating admission → prepare → validate → validating admission
            → store
An update:  read the current object → make the new one from it (PUT body or patch, managedFields, mutating
            admission) → prepare → validate → validating admission → compare-and-swap, again if it lost
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from clusters.emulated.apiserver.admission.attributes import Attributes, Operation
from clusters.emulated.apiserver.options import WriteOptions
from clusters.emulated.apiserver.registry.hooks import NO_HOOKS, Finish, finish_nothing
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.registry.storage import ResourceStorage
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.validation.metadata import (
    create_errors,
    endpoint_errors,
    status_errors,
    update_errors,
)
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.store import errors as store_errors
from clusters.kube import errors
from clusters.kube.apply import managed_fields
from clusters.kube.field import invalid
from clusters.kube.gostring import quote

Object = dict[str, Any]
Make = Callable[[Object | None], Awaitable[Object]]

GENERATE_NAME_ATTEMPTS = 8
#: A GenerateName is cut here so that the five random letters still fit into 63 characters.
GENERATE_NAME_BASE_MAX = 58
UPDATE_ATTEMPTS_MAX = 1000
# Endpoints whose rules have a name of more than one word.
_RULES_NAMES = {"ephemeralcontainers": "ephemeral_containers"}

_DUPLICATE_OWNERS = (
    ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references in 1.20+, "
    "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}"
)


def copy_json(obj: Object) -> Object:
    """A private deep copy; quicker than copy.deepcopy by an order of magnitude."""
    copied: Object = orjson.loads(orjson.dumps(obj))
    return copied


def manager_of(request: Request, options: WriteOptions) -> str:
    agent = request.http.headers.get("user-agent") or ""
    return managed_fields.manager_name(options.field_manager, agent)


def expected_namespace(request: Request, served: Served) -> str:
    return "" if served.storage_resource == "namespaces" else request.info.namespace


def match_namespace(metadata: Object, namespace: str) -> None:
    given = metadata.get("namespace", "")
    if given == namespace:
        return
    if not given:
        metadata["namespace"] = namespace
    elif not namespace:
        del metadata["namespace"]
    else:
        raise errors.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def dedup_owners(request: Request, obj: Object, *, after_admission: bool) -> None:
    owners = obj["metadata"].get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    kept: list[Object] = []
    duplicates: list[str] = []
    for owner in owners:
        if owner in kept:
            duplicates.append(owner.get("uid", ""))
        else:
            kept.append(owner)
    if duplicates:
        when = " after mutating admission happens" if after_admission else ""
        request.warn(_DUPLICATE_OWNERS.format(when, ", ".join(duplicates)))
        obj["metadata"]["ownerReferences"] = kept


class Writer:
    """Creates and updates objects of any served resource."""

    def __init__(self, services: Services) -> None:
        self.services = services

    # Create

    async def create(self, request: Request, served: Served, obj: Object, options: WriteOptions) -> Stored:
        metadata = obj["metadata"]
        for name in ("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
            metadata.pop(name, None)
        match_namespace(metadata, expected_namespace(request, served))
        dedup_owners(request, obj, after_admission=False)
        obj = self.own_fields(request, served, None, obj, options)
        attributes = self.attributes(request, served, "CREATE", obj, None, options)
        await self.services.admission.admit(attributes)
        assert attributes.object is not None
        obj = attributes.object
        dedup_owners(request, obj, after_admission=True)
        if obj["metadata"].get("name") or not obj["metadata"].get("generateName"):
            return await self._create_once(request, served, obj, options)
        for attempt in range(1, GENERATE_NAME_ATTEMPTS + 1):
            try:
                return await self._create_once(request, served, copy_json(obj), options)
            except errors.StatusError as error:
                if error.reason != "AlreadyExists" or attempt == GENERATE_NAME_ATTEMPTS:
                    raise
        raise AssertionError("the loop above returns or raises")

    async def _create_once(self, request: Request, served: Served, obj: Object, options: WriteOptions) -> Stored:
        metadata = obj["metadata"]
        services = self.services
        metadata["creationTimestamp"] = rfc3339(services.clock.now_s())
        metadata["uid"] = services.randomness.uid()
        generated = not metadata.get("name") and metadata.get("generateName")
        if generated:
            metadata["name"] = metadata["generateName"][:GENERATE_NAME_BASE_MAX] + services.randomness.suffix()
        hooks = services.hooks_of(served)
        if hooks is NO_HOOKS:
            return await self._validate_and_create(request, served, obj, options, bool(generated))
        await hooks.check_write(request, obj, None)
        finish = await hooks.begin_create(request, obj, options.dry_run)
        stored_it = False
        try:
            stored = await self._validate_and_create(request, served, obj, options, bool(generated))
            stored_it = not options.dry_run
            return stored
        finally:
            await finish(stored_it)

    async def _validate_and_create(
        self, request: Request, served: Served, obj: Object, options: WriteOptions, generated: bool
    ) -> Stored:
        obj = self.ready_to_create(request, served, obj)
        attributes = self.attributes(request, served, "CREATE", obj, None, options)
        await self.services.admission.validate(attributes)
        storage = self.services.storage(served)
        metadata = obj["metadata"]
        name = metadata["name"]
        key = storage.key(metadata.get("namespace", ""), name)
        if metadata.get("resourceVersion") and not options.dry_run:
            raise errors.unknown("resourceVersion should not be set on objects to be created")
        try:
            if options.dry_run:
                if await storage.current(key) is not None:
                    raise store_errors.KeyExists(key, None)
                return Stored.of(obj, 0)
            conversion = served.conversion
            if conversion is None:
                return await storage.create(key, obj, await self._lease(served))
            return await conversion.load(await storage.create(key, await conversion.save(obj)))
        except store_errors.KeyExists:
            raise await self._exists(request, storage, key, name, generated) from None
        except store_errors.StoreError as error:
            raise store_failure(error) from error

    def ready_to_create(self, request: Request, served: Served, obj: Object) -> Object:
        """Prepared and validated, in storage form."""
        metadata = obj["metadata"]
        rules = served.rules
        match_namespace(metadata, expected_namespace(request, served) if served.resource.namespaced else "")
        rules.prepare_create(obj)
        problems = create_errors(rules, obj, served.resource.namespaced)
        if problems:
            raise errors.invalid(_group_kind(served, obj), metadata.get("name", ""), problems)
        for warning in rules.warnings_create(obj):
            request.warn(warning)
        rules.canonicalize(obj)
        return served.finish(obj)

    async def _exists(
        self, request: Request, storage: ResourceStorage, key: str, name: str, generated: bool
    ) -> errors.StatusError:
        resource = request.info.group_resource
        error = errors.generate_name_conflict(resource, name) if generated else errors.already_exists(resource, name)
        current = await storage.current(key)
        if current is not None and current.object["metadata"].get("deletionTimestamp"):
            error.message = f"object is being deleted: {error.message}"
        return error

    async def _lease(self, served: Served) -> int:
        ttl_s = self.services.hooks_of(served).ttl_s
        return await self.services.storage(served).store.lease_grant(ttl_s) if ttl_s else 0

    # Update

    async def update(
        self,
        request: Request,
        served: Served,
        name: str,
        make: Make,
        options: WriteOptions,
        *,
        may_create: bool = False,
        precondition_uid: str = "",
    ) -> tuple[Stored, bool]:
        """(the object now, whether it was created). `make` gets the current object, or None."""
        storage = self.services.storage(served)
        key = storage.key(request.info.namespace if served.resource.namespaced else "", name)
        resource = request.info.group_resource
        # An apply through a subresource never creates; kinds that create on update do so through every door.
        # As the layer that looks has it: only the one below a dry run puts the prefix before it.
        shown_key = key.removeprefix("/registry") if options.dry_run else key
        may_create = (may_create and not request.info.subresource) or served.rules.allow_create_on_update
        for _ in range(UPDATE_ATTEMPTS_MAX):
            try:
                current = await storage.current(key)
                if current is None:
                    if not may_create:
                        raise errors.not_found(resource, name)
                    if precondition_uid:
                        raise _failed_precondition(resource, name, shown_key, precondition_uid, "")
                    return await self._create_on_update(request, served, name, make, options), True
                self._check_uid(resource, name, shown_key, precondition_uid, current.object)
                return await self._update_once(request, served, storage, key, current, make, options), False
            except store_errors.CompareFailed:
                continue  # Somebody was faster: look again, and decide again from what is there now.
            except store_errors.StoreError as error:
                raise store_failure(error) from error
        raise errors.server_timeout(resource, "update")

    def _check_uid(self, resource: str, name: str, key: str, uid: str, obj: Object) -> None:
        if uid and uid != obj["metadata"].get("uid"):
            raise _failed_precondition(resource, name, key, uid, obj["metadata"].get("uid", ""))

    async def _create_on_update(
        self, request: Request, served: Served, name: str, make: Make, options: WriteOptions
    ) -> Stored:
        obj = await make(None)
        await self.services.authorize(request.user, request, "create", served, name)
        return await self._create_once(request, served, obj, options)

    async def _update_once(
        self,
        request: Request,
        served: Served,
        storage: ResourceStorage,
        key: str,
        current: Stored,
        make: Make,
        options: WriteOptions,
    ) -> Stored:
        conversion = served.conversion
        if conversion is not None:
            current = await conversion.load(current)
        old = current.object
        obj = await make(old)
        hooks = self.services.hooks_of(served)
        await hooks.check_write(request, obj, old)
        metadata = obj["metadata"]
        self._check_version(request, served, metadata, current)
        metadata["resourceVersion"] = str(current.revision)
        finish: Finish = finish_nothing
        if not request.info.subresource:
            finish = await hooks.begin_update(request, obj, old, options.dry_run)
        stored_it = False
        try:
            obj = self.ready_to_update(request, served, obj, old)
            obj = managed_fields.keep_times(old, obj)
            attributes = self.attributes(request, served, "UPDATE", obj, old, options)
            await self.services.admission.validate(attributes)
            if _ends_deletion(obj, old) and hooks.may_delete_during_update(obj):
                if not options.dry_run:
                    await storage.delete(key, current)
                    await hooks.after_delete(obj)
                return Stored.of(obj, current.revision)
            if obj == old:
                return current  # Nothing changes: no write, no event, the same resourceVersion.
            if options.dry_run:
                return Stored.of(obj, current.revision)
            saved = obj if conversion is None else await conversion.save(obj)
            stored = await storage.update(key, saved, current.revision, await self._lease(served))
            stored_it = True
            return stored if conversion is None else await conversion.load(stored)
        finally:
            await finish(stored_it)

    def _check_version(self, request: Request, served: Served, metadata: Object, current: Stored) -> None:
        """Optimistic locking: the resourceVersion sent must be the current one, if one must be sent."""
        given = metadata.get("resourceVersion") or "0"
        if not (given.isascii() and given.isdigit()):
            raise errors.unknown(f"strconv.ParseUint: parsing {quote(given)}: invalid syntax")
        resource, name = request.info.group_resource, metadata.get("name", "")
        if int(given) == 0:
            if not served.rules.allow_unconditional_update:
                problem = invalid("metadata.resourceVersion", 0, "must be specified for an update")
                raise errors.invalid(resource, name, [problem])
        elif int(given) != current.revision:
            raise errors.modified(resource, name)

    def ready_to_update(self, request: Request, served: Served, obj: Object, old: Object) -> Object:
        """Prepared and validated for the endpoint that is written through, in storage form."""
        rules, metadata, before = served.rules, obj["metadata"], old["metadata"]
        match_namespace(metadata, expected_namespace(request, served) if served.resource.namespaced else "")
        _keep(metadata, before, "generation")
        endpoint = request.info.subresource
        prepare, validate = _endpoint_rules(rules, endpoint)
        prepare(obj, old)
        self.services.hooks_of(served).prepared(obj, old, endpoint, rfc3339(self.services.clock.now_s()))
        metadata = obj["metadata"]
        if not metadata.get("uid"):
            metadata["uid"] = before.get("uid", "")
        if before.get("creationTimestamp"):
            metadata["creationTimestamp"] = before["creationTimestamp"]
        if before.get("deletionTimestamp"):
            metadata["deletionTimestamp"] = before["deletionTimestamp"]
        if before.get("deletionGracePeriodSeconds") is not None:
            metadata.setdefault("deletionGracePeriodSeconds", before["deletionGracePeriodSeconds"])
        problems = validate(rules, obj, old, served.resource.namespaced)
        for warning in rules.tolerated():
            request.warn(warning)
        if problems:
            raise errors.invalid(_group_kind(served, obj), metadata.get("name", ""), problems)
        if not endpoint or endpoint == "scale":
            for warning in rules.warnings_update(obj, old):
                request.warn(warning)
        rules.canonicalize(obj)
        return served.finish(obj)

    # Both

    def own_fields(
        self, request: Request, served: Served, live: Object | None, obj: Object, options: WriteOptions
    ) -> Object:
        """With metadata.managedFields brought up to date for a write that is no apply."""
        endpoint = request.info.subresource
        before, after = live, obj
        if served.is_converted:  # Fields are owned in the version they were written in.
            before = None if live is None else served.to_version(live)
            after = served.to_version({**obj, "metadata": dict(obj["metadata"])})
        owned = managed_fields.update(
            before,
            after,
            manager_of(request, options),
            schema=served.apply_type,
            api_version=served.resource.group_version,
            subresource=endpoint,
            now=rfc3339(self.services.clock.now_s()),
            reset_fields=served.reset_filter(endpoint),
            convert=self.services.converter(served),
        )
        metadata = owned["metadata"]
        if not served.is_converted:
            # Plugins and rules change metadata in place: it must not be the dict of the stored object.
            return {**owned, "metadata": dict(metadata)}
        if "managedFields" in metadata:
            obj["metadata"]["managedFields"] = metadata["managedFields"]
        else:
            obj["metadata"].pop("managedFields", None)
        return obj

    def attributes(
        self,
        request: Request,
        served: Served,
        operation: Operation,
        obj: Object | None,
        old: Object | None,
        options: WriteOptions,
    ) -> Attributes:
        info, resource = request.info, served.resource
        name = info.name or ((obj or {}).get("metadata") or {}).get("name", "")
        namespace = info.namespace
        if served.storage_resource == "namespaces" and not namespace:
            namespace = name
        return Attributes(
            operation=operation,
            group=resource.group,
            version=resource.version,
            kind=resource.kind,
            resource=resource.plural,
            subresource=info.subresource,
            namespace=namespace,
            name=name,
            object=obj,
            old_object=old,
            options=options.as_object("CreateOptions" if operation == "CREATE" else "UpdateOptions"),
            dry_run=options.dry_run,
            user=request.user,
            request=request,
            namespaced=resource.namespaced,
        )

    async def admit_update(
        self, request: Request, served: Served, obj: Object, old: Object | None, options: WriteOptions
    ) -> Object:
        """Mutating admission of an updated object, which may turn out to be a creation."""
        operation: Operation = "UPDATE" if old is not None else "CREATE"
        attributes = self.attributes(request, served, operation, obj, old, options)
        await self.services.admission.admit(attributes)
        assert attributes.object is not None
        dedup_owners(request, attributes.object, after_admission=True)
        return attributes.object


def _endpoint_rules(rules: Any, endpoint: str) -> tuple[Any, Any]:
    """(prepare, validate) for the main endpoint or a subresource that writes the same object."""
    if not endpoint or endpoint == "scale":
        return rules.prepare_update, update_errors
    if endpoint == "status":
        return rules.prepare_status, status_errors
    name = _RULES_NAMES.get(endpoint, endpoint)
    return getattr(rules, f"prepare_{name}"), endpoint_errors(getattr(rules, f"validate_{name}"))


def _group_kind(served: Served, obj: Object) -> str:
    """A custom resource is refused under the name it gives itself, a converted one under that of its storage."""
    resource = served.resource
    if not resource.custom:
        group = served.storage_resource.partition(".")[2]
        return f"{resource.kind}.{group}" if group else resource.kind
    return f"{obj.get('kind', '')}.{obj.get('apiVersion', '').partition('/')[0]}"


def _keep(metadata: Object, before: Object, name: str) -> None:
    if name in before:
        metadata[name] = before[name]
    else:
        metadata.pop(name, None)


def _ends_deletion(obj: Object, old: Object) -> bool:
    """The last finalizer of an object that is being deleted goes away with this update."""
    before = old["metadata"]
    if obj["metadata"].get("finalizers") or not before.get("deletionTimestamp"):
        return False
    return not before.get("deletionGracePeriodSeconds")


def _failed_precondition(resource: str, name: str, key: str, wanted: str, found: str) -> errors.StatusError:
    detail = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    return errors.conflict(
        resource,
        name,
        f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {detail}",
    )


def store_failure(error: store_errors.StoreError) -> errors.StatusError:
    """A failure of the store that has no API meaning of its own: 500 with the store's words, no reason."""
    return errors.unknown(str(error))
