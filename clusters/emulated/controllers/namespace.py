"""Ending a namespace: everything in it is deleted, then its finalizer is removed, and it is gone.

While something keeps it, the conditions in its status say what: discovery that fails, content that cannot be
deleted, content that remains, finalizers that nobody removes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.discovery import discover
from clusters.emulated.client.errors import ApiFailure, Conflict, NotFound
from clusters.emulated.client.resources import NAMESPACES, Resource
from clusters.emulated.clock.clock import rfc3339

Object = dict[str, Any]

FINALIZER = "kubernetes"
# How long Pods usually take to end; other content is looked at again after half of it.
_ESTIMATE_S = 15.0


@dataclass(slots=True)
class Remains:
    """What one round of deleting found."""

    discovery_failure: str = ""
    deletion_failures: list[str] = field(default_factory=list)
    resources: Counter[str] = field(default_factory=Counter)
    finalizers: Counter[str] = field(default_factory=Counter)

    @property
    def empty(self) -> bool:
        return not (self.discovery_failure or self.deletion_failures or self.resources)


class NamespaceController(Controller):
    name = "namespace-controller"

    def setup(self) -> None:
        self._namespaces = self.informer(NAMESPACES)
        self._namespaces.add_handler(self._changed, lambda _, new: self._changed(new))

    def _changed(self, namespace: Object) -> None:
        if namespace["metadata"].get("deletionTimestamp"):
            self.enqueue(namespace)

    async def reconcile(self, key: str) -> None:
        try:
            namespace = await self.api.get(NAMESPACES, key)
        except NotFound:
            return
        if not namespace["metadata"].get("deletionTimestamp"):
            return
        if FINALIZER not in (namespace["spec"].get("finalizers") or ()):
            return  # Done here; others may still hold it.
        remains = await self._delete_content(key)
        namespace = await self._report(namespace, remains)
        if not remains.empty:
            self.enqueue_after(key, _ESTIMATE_S / 2 + 1 if "pods." in remains.resources else 1.0)
            return
        spec = namespace["spec"]
        rest = [name for name in spec["finalizers"] if name != FINALIZER]
        await self.api.update(NAMESPACES, {**namespace, "spec": {**spec, "finalizers": rest}}, subresource="finalize")

    async def _delete_content(self, namespace: str) -> Remains:
        remains = Remains()
        found = await discover(self.api)
        if found.failed:
            groups = ", ".join(f"{name}: {text}" for name, text in sorted(found.failed.items()))
            remains.discovery_failure = (
                f"Discovery failed for some groups, {len(found.failed)} failing: unable to retrieve the complete "
                f"list of server APIs: {groups}"
            )
        for resource, verbs in found.resources.items():
            if resource.namespaced and "delete" in verbs:
                await self._delete_resource(resource, verbs, namespace, remains)
        return remains

    async def _delete_resource(
        self, resource: Resource, verbs: frozenset[str], namespace: str, remains: Remains
    ) -> None:
        try:
            present = (await self.api.list(resource, namespace)).items if "list" in verbs else []
            if not present:
                return
            options = {"propagationPolicy": "Background"}
            if "deletecollection" in verbs:
                await self.api.delete_collection(resource, namespace, options)
            else:
                for each in present:
                    await self.api.delete(resource, each["metadata"]["name"], namespace, options)
            left = (await self.api.list(resource, namespace)).items
        except NotFound:
            return  # The resource itself went away.
        except ApiFailure as failure:
            remains.deletion_failures.append(failure.message)
            return
        if left:
            # As Kubernetes prints a GroupResource here: the core group leaves its dot behind.
            remains.resources[f"{resource.plural}.{resource.group}"] += len(left)
            for each in left:
                remains.finalizers.update(each["metadata"].get("finalizers") or ())

    async def _report(self, namespace: Object, remains: Remains) -> Object:
        """Brings the conditions up to date; the namespace as it then is."""
        status = namespace.get("status") or {}
        before = {each["type"]: each for each in status.get("conditions") or ()}
        if remains.empty and not before:
            return namespace
        now = rfc3339(self.clock.now_s())
        conditions = [_kept_or_new(before.get(each["type"]), each, now) for each in conditions_of(remains)]
        if conditions == (status.get("conditions") or []):
            return namespace
        changed = {**namespace, "status": {**status, "conditions": conditions}}
        try:
            return await self.api.update(NAMESPACES, changed, subresource="status")
        except Conflict:
            return await self.api.get(NAMESPACES, namespace["metadata"]["name"])


def _kept_or_new(before: Object | None, condition: Object, now: str) -> Object:
    if before is not None and {**before, "lastTransitionTime": ""} == {**condition, "lastTransitionTime": ""}:
        return before
    if before is not None and before["status"] == condition["status"]:
        return {**condition, "lastTransitionTime": before.get("lastTransitionTime", now)}
    return {**condition, "lastTransitionTime": now}


def conditions_of(remains: Remains) -> list[Object]:
    """The five conditions, in Kubernetes' order and words."""
    return [
        _condition(
            "NamespaceDeletionDiscoveryFailure", remains.discovery_failure, "DiscoveryFailed", "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        _condition(
            "NamespaceDeletionGroupVersionParsingFailure", "", "GroupVersionParsingFailed", "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        _condition(
            "NamespaceDeletionContentFailure", _deletion_failure(remains), "ContentDeletionFailed", "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        _condition(
            "NamespaceContentRemaining", _remaining(remains), "SomeResourcesRemain", "ContentRemoved",
            "All content successfully removed",
        ),
        _condition(
            "NamespaceFinalizersRemaining", _finalizers(remains), "SomeFinalizersRemain", "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    ]  # fmt: skip


def _condition(kind: str, problem: str, bad_reason: str, good_reason: str, good_message: str) -> Object:
    return {
        "type": kind,
        "status": "True" if problem else "False",
        "lastTransitionTime": "",
        "reason": bad_reason if problem else good_reason,
        "message": problem or good_message,
    }


def _deletion_failure(remains: Remains) -> str:
    if not remains.deletion_failures:
        return ""
    texts = list(dict.fromkeys(remains.deletion_failures))
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return f"Failed to delete all resource types, {len(remains.deletion_failures)} remaining: {joined}"


def _remaining(remains: Remains) -> str:
    parts = [f"{name} has {count} resource instances" for name, count in sorted(remains.resources.items())]
    return f"Some resources are remaining: {', '.join(parts)}" if parts else ""


def _finalizers(remains: Remains) -> str:
    parts = [f"{name} in {count} resource instances" for name, count in sorted(remains.finalizers.items())]
    return f"Some content in the namespace has finalizers remaining: {', '.join(parts)}" if parts else ""
