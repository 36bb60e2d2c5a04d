"""`…/scale`: the replicas of a workload as a Scale, whatever the workload is.

A write through it is an update of the parent: the parent becomes a Scale, the request changes the Scale (PUT or any
PATCH, with managed fields and mutating admission of its own), and the new replicas go back into the parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from clusters.emulated.apiserver.admission.attributes import Attributes, Operation
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.negotiation import MediaType
from clusters.emulated.apiserver.options import WriteOptions, first
from clusters.emulated.apiserver.registry.served import BuiltIn, Served
from clusters.emulated.apiserver.registry.stored import Stored
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.subresources.posted import posted_kind
from clusters.emulated.apiserver.verbs import read
from clusters.emulated.apiserver.verbs.patch import patch
from clusters.emulated.apiserver.verbs.update import update
from clusters.emulated.apiserver.verbs.write import Make, Writer, copy_json, store_failure
from clusters.emulated.store import errors as store_errors
from clusters.kube import errors, selectors
from clusters.kube.apply.fieldset import Path
from clusters.kube.apply.scale import entries_of_parent, entries_of_scale
from clusters.kube.field import invalid
from clusters.kube.names import NEGATIVE

Object = dict[str, Any]
_SPEC_REPLICAS: Path = ("f:spec", "f:replicas")


class Scalable(Protocol):
    """How a kind is scaled. A served resource that has one of its own (custom resources) holds it as `scalable`."""

    #: By apiVersion of the parent, where server-side apply finds its replicas.
    paths: Mapping[str, Path]

    def replicas(self, obj: Object) -> int: ...

    def observed(self, obj: Object) -> tuple[int, str]:
        """(replicas that there are, the selector of their Pods)."""

    def set_replicas(self, obj: Object, replicas: int) -> None:
        """Changes `obj`, a private copy."""

    def check_readable(self, obj: Object) -> None:
        """Refuses to show the scale of something that has none."""


class WorkloadScale:
    """The built-in workloads: all have their replicas in spec and status."""

    def __init__(self, *api_versions: str) -> None:
        self.paths: Mapping[str, Path] = dict.fromkeys(api_versions, _SPEC_REPLICAS)

    def replicas(self, obj: Object) -> int:
        found: int = (obj.get("spec") or {}).get("replicas") or 0
        return found

    def observed(self, obj: Object) -> tuple[int, str]:
        selector = (obj.get("spec") or {}).get("selector") or {}
        is_map = obj.get("kind") == "ReplicationController"
        text = str(selectors.from_map(selector) if is_map else selectors.from_label_selector(selector))
        return (obj.get("status") or {}).get("replicas") or 0, text

    def set_replicas(self, obj: Object, replicas: int) -> None:
        obj["spec"]["replicas"] = replicas

    def check_readable(self, obj: Object) -> None:
        """Workloads always have replicas."""


_APPS = WorkloadScale("apps/v1beta1", "apps/v1beta2", "apps/v1", "extensions/v1beta1")
WORKLOADS: Mapping[str, WorkloadScale] = {
    "deployments.apps": _APPS,
    "replicasets.apps": _APPS,
    "statefulsets.apps": _APPS,
    "replicationcontrollers": WorkloadScale("v1"),
}


class ScaleSubresource:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._kind = posted_kind(services.catalogue, "autoscaling", "v1", "Scale")

    async def handle(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        scalable: Scalable | None = getattr(served, "scalable", None) or WORKLOADS.get(served.storage_resource)
        if scalable is None:
            raise errors.generic(404)
        if request.info.verb == "get":
            stored = await self._get(request, served, scalable)
        else:
            writer = _ScaleWriter(self._services, served, scalable, self._kind)
            write = update if request.info.verb == "update" else patch
            stored, _ = await write(request, self._kind, writer)
        return read.one(request, self._kind, self._services, stored, 200, media)

    async def _get(self, request: Request, served: Served, scalable: Scalable) -> Stored:
        storage, info = self._services.storage(served), request.info
        try:
            key = storage.key(info.namespace if served.resource.namespaced else "", info.name)
            found = await storage.get(key, first(request.query, "resourceVersion"))
        except store_errors.StoreError as error:
            raise store_failure(error) from error
        if found is None:
            raise errors.not_found(info.group_resource, info.name)
        if served.conversion is not None:
            found = await served.conversion.load(found)
        scalable.check_readable(found.object)
        return Stored.of(self._kind.finish(scale_of(found.object, scalable)), found.revision)


def scale_of(obj: Object, scalable: Scalable) -> Object:
    metadata = obj["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    observed, selector = scalable.observed(obj)
    replicas = scalable.replicas(obj)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": observed, "selector": selector} if selector else {"replicas": observed},
    }


class _ScaleWriter(Writer):
    """What PUT and PATCH write a Scale with: outwards it knows Scales only, inwards it updates the parent."""

    def __init__(self, services: Services, parent: Served, scalable: Scalable, kind: BuiltIn) -> None:
        super().__init__(services)
        self._parent = parent
        self._scalable = scalable
        self._kind = kind

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
        async def scaled(old: Object | None) -> Object:
            assert old is not None, "a scale never creates its parent"
            return await self._scaled(request, old, make)

        stored, _ = await super().update(
            request, self._parent, name, scaled, options, precondition_uid=precondition_uid
        )
        return Stored.of(self._kind.finish(scale_of(stored.object, self._scalable)), stored.revision), False

    async def _scaled(self, request: Request, old: Object, make: Make) -> Object:
        parent = copy_json(old)
        before = scale_of(old, self._scalable)
        entries = parent["metadata"].get("managedFields")
        before["metadata"]["managedFields"] = entries_of_scale(entries, self._scalable.paths)
        scale = await make(self._kind.finish(before))
        metadata, name = scale["metadata"], old["metadata"]["name"]
        replicas = (scale.get("spec") or {}).get("replicas") or 0
        if replicas < 0 and self._parent.struct is not None:  # Custom resources are asked as a whole.
            raise errors.invalid("Scale.autoscaling", name, [invalid("spec.replicas", replicas, NEGATIVE)])
        uid, found = metadata.get("uid"), old["metadata"].get("uid")
        if uid and uid != found:
            plural, group = errors.split_resource(request.info.group_resource)
            resource = f"{plural}/scale.{group}" if group else f"{plural}/scale"
            text = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {found}"
            raise errors.conflict(resource, name, text)
        self._scalable.set_replicas(parent, replicas)
        if metadata.get("resourceVersion"):
            parent["metadata"]["resourceVersion"] = metadata["resourceVersion"]
        else:
            parent["metadata"].pop("resourceVersion", None)
        parent["metadata"]["managedFields"] = entries_of_parent(
            entries, metadata.get("managedFields"), self._parent.resource.group_version, self._scalable.paths
        )
        return parent

    def attributes(
        self,
        request: Request,
        served: Served,
        operation: Operation,
        obj: Object | None,
        old: Object | None,
        options: WriteOptions,
    ) -> Attributes:
        """Admission is shown Scales, at the parent's resource and the subresource `scale`."""
        if served is self._parent:
            obj = None if obj is None else self._kind.finish(scale_of(obj, self._scalable))
            old = None if old is None else self._kind.finish(scale_of(old, self._scalable))
        attributes = super().attributes(request, self._parent, operation, obj, old, options)
        attributes.kind = "Scale"
        return attributes
