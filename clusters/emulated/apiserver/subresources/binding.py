"""Binding a Pod to a node: what the scheduler posts to `pods/…/binding`, or to the old `bindings` resource."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver import respond
from clusters.emulated.apiserver.http import HttpResponse
from clusters.emulated.apiserver.media.negotiation import PLAIN, MediaType
from clusters.emulated.apiserver.registry.resources import Resource
from clusters.emulated.apiserver.registry.served import Served
from clusters.emulated.apiserver.request import Request
from clusters.emulated.apiserver.services import Services
from clusters.emulated.apiserver.subresources.pod_conditions import set_condition
from clusters.emulated.apiserver.subresources.posted import Posting, posted_kind
from clusters.emulated.apiserver.validation.core.binding import BindingRules
from clusters.emulated.apiserver.verbs.write import UPDATE_ATTEMPTS_MAX, copy_json, store_failure
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.store import errors as store_errors
from clusters.kube import errors
from clusters.kube.field import aggregate
from clusters.kube.gostring import quote

Object = dict[str, Any]
SUCCESS: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def success(request: Request, media: MediaType) -> HttpResponse:
    return respond.obj(request, 201, SUCCESS, PLAIN if media.as_kind else media)


class BindingSubresource:
    def __init__(self, services: Services, pods: Served) -> None:
        self._services = services
        self._pods = pods
        self._kind = posted_kind(services.catalogue, "", "v1", "Binding")
        self._rules = BindingRules()

    async def handle(self, request: Request, served: Served, media: MediaType) -> HttpResponse:
        return await self._bind(request, media)

    async def handle_legacy(self, request: Request, resource: Resource, media: MediaType) -> HttpResponse:
        return await self._bind(request, media)

    async def _bind(self, request: Request, media: MediaType) -> HttpResponse:
        posting = Posting(request, self._kind, self._services)
        binding = await posting.admitted(keep_system_fields=bool(request.info.subresource))
        name = binding["metadata"].get("name", "")
        if request.info.name and request.info.name != name:
            raise errors.bad_request("name in URL does not match name in Binding object")
        problems = self._rules.validate_create(binding)
        if problems:
            raise errors.unknown(aggregate(problems))
        await posting.validate(binding)
        await self._assign(request.info.namespace, name, binding, posting.options.dry_run)
        return success(request, media)

    async def _assign(self, namespace: str, name: str, binding: Object, dry_run: bool) -> None:
        storage = self._services.storages["pods"]
        key = storage.key(namespace, name)
        for _ in range(UPDATE_ATTEMPTS_MAX):
            try:
                current = await storage.current(key)
                if current is None:
                    raise errors.not_found("pods", name)
                _check_preconditions(current.object, binding, key)
                pod = self._assigned(copy_json(current.object), binding)
                if not dry_run:
                    await storage.update(key, pod, current.revision)
                return
            except store_errors.CompareFailed:
                continue  # The Pod changed meanwhile: decide again from what it is now.
            except store_errors.StoreError as error:
                raise store_failure(error) from error
        raise errors.server_timeout("pods", "update")

    def _assigned(self, pod: Object, binding: Object) -> Object:
        metadata, spec, name = pod["metadata"], pod["spec"], pod["metadata"]["name"]
        if metadata.get("deletionTimestamp"):
            raise _refused(name, f"pod {name} is being deleted, cannot be assigned to a host")
        if spec.get("nodeName"):
            raise _refused(name, f"pod {name} is already assigned to node {quote(spec['nodeName'])}")
        if spec.get("schedulingGates"):
            raise _refused(name, f"pod {name} has non-empty .spec.schedulingGates")
        spec["nodeName"] = binding["target"]["name"]
        (pod.get("status") or {}).pop("nominatedNodeName", None)
        for field in ("annotations", "labels"):
            added = binding["metadata"].get(field)
            if added:
                metadata[field] = {**(metadata.get(field) or {}), **added}
        now = rfc3339(self._services.clock.now_s())
        set_condition(pod, {"type": "PodScheduled", "status": "True"}, now)
        return self._pods.finish(pod)


def _check_preconditions(pod: Object, binding: Object, key: str) -> None:
    for field, label in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        wanted, found = binding["metadata"].get(field), pod["metadata"].get(field)
        if wanted and wanted != found:
            detail = f"Precondition failed: {label} in precondition: {wanted}, {label} in object meta: {found}"
            raise errors.conflict(
                "pods",
                pod["metadata"]["name"],
                f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {detail}",
            )


def _refused(name: str, why: str) -> errors.StatusError:
    return errors.conflict("pods/binding", name, why)
