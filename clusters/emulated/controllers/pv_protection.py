"""A PersistentVolume that is deleted stays as long as it is bound."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import NotFound
from clusters.emulated.client.resources import PERSISTENT_VOLUMES
from clusters.emulated.controllers.pvc_protection import may_lose_finalizer, toggled, wants_finalizer

Object = dict[str, Any]

FINALIZER = "kubernetes.io/pv-protection"


class PvProtectionController(Controller):
    name = "persistentvolume-protection-controller"
    service_account = "pv-protection-controller"

    def setup(self) -> None:
        self._volumes = self.informer(PERSISTENT_VOLUMES)
        self._volumes.add_handler(self._volume, lambda _, new: self._volume(new))

    def _volume(self, volume: Object) -> None:
        if wants_finalizer(volume, FINALIZER) or may_lose_finalizer(volume, FINALIZER):
            self.enqueue(volume)

    async def reconcile(self, key: str) -> None:
        volume = self._volumes.store.get(key)
        if volume is None:
            return
        is_bound = (volume.get("status") or {}).get("phase") == "Bound"
        if wants_finalizer(volume, FINALIZER) or (may_lose_finalizer(volume, FINALIZER) and not is_bound):
            try:
                await self.api.update(PERSISTENT_VOLUMES, toggled(volume, FINALIZER))
            except NotFound:
                return
