"""PersistentVolumes note when their phase last changed."""

from __future__ import annotations

from clusters.emulated.apiserver.registry.hooks.contract import Hooks, Object

_TIME = "lastPhaseTransitionTime"


class PersistentVolumeHooks(Hooks):
    def prepared(self, obj: Object, old: Object, endpoint: str, now: str) -> None:
        status, stored = obj.get("status") or {}, old.get("status") or {}
        if endpoint != "status" or status.get("phase") == stored.get("phase"):
            return
        if status.get(_TIME) in (None, stored.get(_TIME)):
            obj["status"] = {**status, _TIME: now}
