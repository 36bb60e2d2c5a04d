"""What becomes of dependents when nobody says: old kinds orphan them, Events cannot have any."""

from __future__ import annotations

from clusters.emulated.apiserver.registry.hooks.contract import Hooks

EVENT_TTL_S = 3600


class ReplicationControllerHooks(Hooks):
    orphans_by_default = True


class JobHooks(Hooks):
    orphans_by_default = True
    default_deletion_warning = (
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
        "them or set propagationPolicy=Orphan to suppress this warning"
    )


class EventHooks(Hooks):
    ttl_s = EVENT_TTL_S
    ignores_dependents = True
