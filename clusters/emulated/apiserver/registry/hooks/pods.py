"""Pods die gracefully: whoever runs them gets time to end them, and then deletes them for good."""

from __future__ import annotations

from clusters.emulated.apiserver.options import DeleteOptions
from clusters.emulated.apiserver.registry.hooks.contract import Hooks, Object


class PodHooks(Hooks):
    def grace_period_s(self, obj: Object, options: DeleteOptions) -> int | None:
        """A Pod that is on no node, or has ended, has nobody who would have to end it."""
        spec = obj.get("spec") or {}
        if not spec.get("nodeName") or (obj.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            return 0
        asked = options.grace_period_s
        period: int = (spec.get("terminationGracePeriodSeconds") or 0) if asked is None else asked
        return 1 if period < 0 else period
