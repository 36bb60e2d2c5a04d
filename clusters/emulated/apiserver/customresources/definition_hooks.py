"""Deleting a CustomResourceDefinition: it stays, marked, until its instances are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusters.emulated.apiserver.registry.hooks.contract import Hooks

if TYPE_CHECKING:
    from clusters.emulated.apiserver.options import DeleteOptions

Object = dict[str, Any]
_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_PENDING = {
    "type": "Terminating",
    "status": "True",
    "reason": "InstanceDeletionPending",
    "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
}


class DefinitionHooks(Hooks):
    def mark_deleting(self, obj: Object, options: DeleteOptions, now: str) -> bool | None:
        metadata = obj["metadata"]
        if metadata.get("deletionTimestamp"):
            return None
        metadata["deletionTimestamp"] = now
        finalizers = metadata.setdefault("finalizers", [])
        if _CLEANUP not in finalizers:
            finalizers.append(_CLEANUP)
        from clusters.emulated.apiserver.customresources.conditions import with_condition  # Rarely needed.

        obj["status"] = with_condition(obj, _PENDING, now)["status"]
        return True
