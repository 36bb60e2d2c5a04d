"""The life of a CustomResourceDefinition: names granted, established, served; deleted after its last instance.

What Kubernetes has six controllers for is one walk over the definition here. Each step writes at most one status,
through the api-server itself, and the change that makes brings the definition back for the next step.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from clusters.emulated.apiserver.aggregation.autoregistration import Autoregistration
from clusters.emulated.apiserver.customresources import conditions
from clusters.emulated.apiserver.customresources.custom_resource import is_true
from clusters.emulated.apiserver.customresources.serving import Serving
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.store.errors import StoreError
from clusters.emulated.watch.events import DELETED, CacheEvent
from clusters.emulated.watch.fan_out import CacheSubscription
from clusters.kube import errors

if TYPE_CHECKING:
    from clusters.emulated.apiserver.server import ApiServer

Object = dict[str, Any]

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
RETRY_S = 1.0
#: How often it is looked whether the last instance is gone, and when that is given up for a while.
CLEANUP_POLL_S = 5.0
CLEANUP_TIMEOUT_S = 60.0

log = logging.getLogger(__name__)


class DefinitionLifecycle:
    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._serving = Serving(server)
        self._registration = Autoregistration(server)
        self._queue: deque[str] = deque()
        self._worker: asyncio.Task[None] | None = None
        #: When the instances of a definition were deleted, for those that have not all gone yet.
        self._cleanups: dict[str, float] = {}
        self._waiting: dict[str, CacheSubscription[Stored]] = {}
        self._groups: dict[str, str] = {}

    def enqueue(self, name: str) -> None:
        if name not in self._queue:
            self._queue.append(name)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.get_running_loop().create_task(self._work(), name="definition lifecycle")

    def stop(self) -> None:
        if self._worker is not None:
            self._worker.cancel()

    async def settle(self) -> None:
        """Until there is nothing to do right now."""
        if self._worker is not None and not self._worker.done():
            await asyncio.wait((self._worker,))

    async def _work(self) -> None:
        while self._queue:
            name = self._queue.popleft()
            try:
                await self._sync(name)
            except (errors.StatusError, StoreError) as error:
                log.info("definition %s: %s; tried again in %g s", name, error, RETRY_S)
                self._later(name, RETRY_S)
            except Exception:
                log.exception("definition %s cannot be served", name)

    def _later(self, name: str, delay_s: float) -> None:
        self._server.clock.call_later(delay_s, lambda: self.enqueue(name))

    def _definition(self, name: str) -> Object | None:
        return self._server.objects.get(DEFINITIONS, "", name)

    async def _sync(self, name: str) -> None:
        crd = self._definition(name)
        if crd is None:
            await self._gone(name)
            return
        self._groups[name] = crd["spec"]["group"]
        for step in (self._check_approval, self._name, self._check_schema, self._establish):
            if await step(crd):
                return  # Its own change brings it back here.
        await self._serving.serve(crd)
        await self._registration.sync(crd["spec"]["group"])
        if crd["metadata"].get("deletionTimestamp") and CLEANUP in (crd["metadata"].get("finalizers") or ()):
            await self._clean_up(crd)

    async def _gone(self, name: str) -> None:
        self._stop_waiting(name)
        self._serving.stop(name)
        self._cleanups.pop(name, None)
        group = self._groups.get(name, "")
        if group:
            await self._registration.sync(group)
            del self._groups[name]
            self._requeue_group(group, name)

    def revisit(self, group: str) -> None:
        """Looks at the definitions of a group again: something of what stands for them has gone."""
        for name, each in self._groups.items():
            if each == group:
                self.enqueue(name)

    def _requeue_group(self, group: str, but: str) -> None:
        """A name may have become free: whoever waits for one is looked at again."""
        for other in self._server.objects.list(DEFINITIONS):
            name = other["metadata"]["name"]
            if other["spec"]["group"] == group and name != but and not is_true(other, "NamesAccepted"):
                self.enqueue(name)

    # Steps: each says whether it changed something

    async def _name(self, crd: Object) -> bool:
        if crd["spec"]["names"] == (crd.get("status") or {}).get("acceptedNames"):
            return False

        def change(now: Object) -> Object:
            names, naming, established = conditions.decide_names(now, self._server.objects.list(DEFINITIONS))
            status = now.get("status") or {}
            known = conditions.find(now, "NamesAccepted")
            if status.get("acceptedNames") == names and conditions.same(naming, known):
                return now
            changed = {**now, "status": {**status, "acceptedNames": names}}
            at = self._now()
            return conditions.with_condition(conditions.with_condition(changed, naming, at), established, at)

        if not await self._write(crd, change):
            return False
        self._requeue_group(crd["spec"]["group"], crd["metadata"]["name"])
        return True

    async def _establish(self, crd: Object) -> bool:
        await self._serving.serve(crd)  # Before anybody is told that it is.

        def change(now: Object) -> Object:
            wanted = conditions.decide_established(now)
            if wanted is None or conditions.same(wanted, conditions.find(now, "Established")):
                return now
            return conditions.with_condition(now, wanted, self._now())

        return conditions.decide_established(crd) is not None and await self._write(crd, change)

    async def _check_schema(self, crd: Object) -> bool:
        return await self._keep(crd, "NonStructuralSchema", conditions.decide_non_structural)

    async def _check_approval(self, crd: Object) -> bool:
        kind = "KubernetesAPIApprovalPolicyConformant"
        return conditions.decide_approval(crd) is not None and await self._keep(crd, kind, conditions.decide_approval)

    async def _keep(self, crd: Object, kind: str, decide: Callable[[Object], Object | None]) -> bool:
        wanted = decide(crd)
        if conditions.same(wanted, conditions.find(crd, kind)):
            return False

        def change(now: Object) -> Object:
            decided = decide(now)
            if conditions.same(decided, conditions.find(now, kind)):
                return now
            if decided is None:
                return conditions.without_condition(now, kind)
            return conditions.with_condition(now, decided, self._now())

        return await self._write(crd, change)

    # Deletion

    async def _clean_up(self, crd: Object) -> None:
        name = crd["metadata"]["name"]
        now_s = self._server.clock.monotonic_s()
        if not is_true(crd, "Established"):
            await self._finalize(crd, "NeverEstablished", "resource was never established")
            return
        started_s = self._cleanups.get(name)
        if started_s is None:
            await self._terminating(crd, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
            self._cleanups[name] = now_s
            await self._delete_instances(name)
        left = self._instances(name)
        if not left:
            self._cleanups.pop(name, None)
            await self._finalize(crd, "InstanceDeletionCompleted", "removed all instances")
            return
        if started_s is not None and now_s - started_s >= CLEANUP_TIMEOUT_S:
            del self._cleanups[name]
            text = "could not confirm zero CustomResources remaining: context deadline exceeded"
            await self._terminating(crd, "True", "InstanceDeletionCheck", text)
        self._look_again(name)

    def _look_again(self, name: str) -> None:
        """With the next instance that goes, or after a while."""
        storage = self._server.storages.get(name)
        if storage is not None and name not in self._waiting and storage.cache.ready:
            cache = storage.cache

            def changed(event: CacheEvent[Stored]) -> None:
                if event.kind == DELETED:
                    self.enqueue(name)

            self._waiting[name] = cache.subscribe(
                cache.prefix, cache.revision, changed, lambda _: self._stop_waiting(name)
            )
        self._later(name, CLEANUP_POLL_S)

    def _stop_waiting(self, name: str) -> None:
        subscription = self._waiting.pop(name, None)
        if subscription is not None:
            subscription.cancel()

    def _instances(self, name: str) -> list[tuple[str, str]]:
        found = [each["metadata"] for each in self._server.objects.list(name)]
        return [(metadata.get("namespace", ""), metadata["name"]) for metadata in found]

    async def _delete_instances(self, name: str) -> None:
        for namespace, instance in self._instances(name):
            try:
                await self._server.registry_wiring.loopback.delete(name, namespace, instance, admission=False)
            except errors.StatusError as error:
                if error.code != 404:
                    raise

    async def _terminating(self, crd: Object, status: str, reason: str, message: str) -> None:
        wanted = conditions.condition("Terminating", status, reason, message)
        await self._write(crd, lambda now: conditions.with_condition(now, wanted, self._now()))

    async def _finalize(self, crd: Object, reason: str, message: str) -> None:
        wanted = conditions.condition("Terminating", "False", reason, message)

        def change(now: Object) -> Object:
            metadata = dict(now["metadata"])
            metadata["finalizers"] = [each for each in metadata.get("finalizers") or () if each != CLEANUP]
            return conditions.with_condition({**now, "metadata": metadata}, wanted, self._now())

        await self._write(crd, change)

    # Writing

    async def _write(self, crd: Object, change: Callable[[Object], Object]) -> bool:
        """Whether the definition is another one now."""
        name, before = crd["metadata"]["name"], crd["metadata"]["resourceVersion"]
        try:
            stored = await self._server.registry_wiring.loopback.update(DEFINITIONS, "", name, change, "status")
        except errors.StatusError as error:
            if error.code == 404:
                return True  # Gone: that brings it back here too.
            raise
        return bool(stored.object["metadata"]["resourceVersion"] != before)

    def _now(self) -> str:
        return rfc3339(self._server.clock.now_s())
