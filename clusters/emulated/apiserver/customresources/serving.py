"""Serving what the definitions say: resources and their storages come, change and go with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusters.emulated.apiserver.customresources.conversion import RenamingConversion, WebhookConversion
from clusters.emulated.apiserver.customresources.custom_resource import CustomResource, is_true
from clusters.emulated.apiserver.customresources.stored import reader
from clusters.emulated.apiserver.registry.hooks.contract import Hooks
from clusters.emulated.apiserver.registry.storage import ResourceStorage
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request
from clusters.emulated.watch.cache import WatchCache
from clusters.kube import errors

if TYPE_CHECKING:
    from clusters.emulated.apiserver.server import ApiServer

Object = dict[str, Any]


@dataclass(slots=True)
class _Served:
    """What is served for one definition, and what it was built from."""

    uid: str
    spec: Object
    names: Object
    versions: list[CustomResource]
    terminating: bool


class TerminatingHooks(Hooks):
    """Nothing new comes into being while the definition is going away."""

    async def check_write(self, request: Request, obj: Object, old: Object | None) -> None:
        if old is None:
            why = "create not allowed while custom resource definition is terminating"
            raise errors.forbidden(request.info.group_resource, obj["metadata"].get("name", ""), why)


class Serving:
    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._served: dict[str, _Served] = {}

    def storage(self, crd: Object) -> ResourceStorage | None:
        return self._server.storages.get(crd["metadata"]["name"])

    async def serve(self, crd: Object) -> None:
        """Brings what is served in line with the definition."""
        name = crd["metadata"]["name"]
        if not (is_true(crd, "Established") or is_true(crd, "NamesAccepted")):
            self.stop(name)
            return
        known = self._served.get(name)
        spec, names = crd["spec"], crd["status"]["acceptedNames"]
        terminating = is_true(crd, "Terminating")
        uid = crd["metadata"]["uid"]
        if known is not None and (known.uid, known.spec, known.names) == (uid, spec, names):
            if known.terminating != terminating:
                known.terminating = terminating
                self._replace(crd, known)
            return
        await self._begin(crd, known)

    def stop(self, name: str) -> None:
        known = self._served.pop(name, None)
        if known is None:
            return
        self._remove(known)
        storage = self._server.storages.pop(name, None)
        if storage is not None:
            storage.cache.stop()
        self._server.services.hooks.pop(name, None)

    async def _begin(self, crd: Object, known: _Served | None) -> None:
        """A new storage: watches of the old one end, as in Kubernetes, and their clients come back."""
        name = crd["metadata"]["name"]
        versions = self._versions(crd)
        by_api_version = {each.api_version: each for each in versions}
        server = self._server
        cache: WatchCache[Stored] = WatchCache(
            server.store, versions[0].storage_prefix, reader(by_api_version), server.clock
        )
        await cache.start()
        old = server.storages.get(name)
        measured = server.metrics.store.of(server.store, name)
        server.storages[name] = ResourceStorage(measured, cache, versions[0].storage_prefix)
        if old is not None:
            old.cache.stop()
        made = _Served(
            crd["metadata"]["uid"], crd["spec"], crd["status"]["acceptedNames"], versions, is_true(crd, "Terminating")
        )
        if known is not None:
            self._remove(known)
        self._served[name] = made
        self._add(crd, made)

    def _replace(self, crd: Object, known: _Served) -> None:
        self._remove(known)
        known.versions = self._versions(crd)
        self._add(crd, known)

    def _add(self, crd: Object, made: _Served) -> None:
        served = {each["name"] for each in crd["spec"]["versions"] if each.get("served")}
        for version in made.versions:
            if version.resource.version in served:
                self._server.registry.add(version)
        hooks, name = self._server.services.hooks, crd["metadata"]["name"]
        if made.terminating:
            hooks[name] = TerminatingHooks()
        else:
            hooks.pop(name, None)

    def _remove(self, known: _Served) -> None:
        for version in known.versions:
            resource = version.resource
            self._server.registry.remove(resource.group, resource.version, resource.plural)

    def _versions(self, crd: Object) -> list[CustomResource]:
        """One per version, served or not: what is stored may be in any of them."""
        object_meta = self._server.catalogue.struct("meta/v1.ObjectMeta")
        spec = crd["spec"]
        made = [CustomResource(crd, version, object_meta) for version in spec["versions"]]
        if len(made) < 2:
            return made
        stored = next(each for each in made if each.version.get("storage"))
        webhook = None
        if (spec.get("conversion") or {}).get("strategy") == "Webhook":
            from clusters.emulated.apiserver.customresources.conversion_webhook import ConversionWebhook

            server = self._server
            webhook = ConversionWebhook(crd, server.admission.outbound, server.routes.resolve, server.randomness)
        for each in made:
            if webhook is None:
                each.conversion = RenamingConversion(stored, each)
            else:
                each.conversion = WebhookConversion(stored, each, webhook)
        return made
