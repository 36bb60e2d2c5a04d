"""Kinds from before garbage collection: they orphan their dependents unless told otherwise, and take their labels
from their Pods. Events cannot have dependents at all."""

from __future__ import annotations

from clusters.emulated.apiserver.registry.hooks.contract import Hooks, Object

EVENT_TTL_S = 3600


class ReplicationControllerHooks(Hooks):
    orphans_by_default = True

    def prepared(self, obj: Object, old: Object, endpoint: str, now: str) -> None:
        """A PUT of the status alone drops the labels; reading it back, Kubernetes defaults them again."""
        template = (obj.get("spec") or {}).get("template") or {}
        labels = (template.get("metadata") or {}).get("labels")
        if endpoint and labels and not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)


class JobHooks(ReplicationControllerHooks):
    default_deletion_warning = (
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
        "them or set propagationPolicy=Orphan to suppress this warning"
    )


class EventHooks(Hooks):
    ttl_s = EVENT_TTL_S
    ignores_dependents = True
