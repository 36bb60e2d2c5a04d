"""Makes the PersistentVolumeClaims of generic ephemeral volumes; they go with their Pod."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import ApiFailure
from clusters.emulated.client.indexer import key_of
from clusters.emulated.client.resources import PERSISTENT_VOLUME_CLAIMS, PODS
from clusters.emulated.controllers.pod_claims import belongs_to, claim_keys_of, ephemeral_claim_name

Object = dict[str, Any]


class NotOwnedError(Exception):
    """A claim of the right name belongs to somebody else."""


class EphemeralVolumeController(Controller):
    name = "ephemeral-volume-controller"
    event_component = "ephemeral_volume"

    def setup(self) -> None:
        self._pods = self.informer(PODS)
        self._claims = self.informer(PERSISTENT_VOLUME_CLAIMS)
        self._pods.store.add_index("claim", claim_keys_of)
        self._pods.add_handler(self._pod)
        self._claims.add_handler(on_delete=lambda claim, _: self._claim_gone(claim))

    def _pod(self, pod: Object) -> None:
        has_any = any(volume.get("ephemeral") for volume in pod["spec"].get("volumes") or ())
        if has_any and not pod["metadata"].get("deletionTimestamp"):
            self.enqueue(pod)

    def _claim_gone(self, claim: Object) -> None:
        for pod in self._pods.store.by_index("claim", key_of(claim)):
            self._pod(pod)

    async def reconcile(self, key: str) -> None:
        pod = self._pods.store.get(key)
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            return
        for volume in pod["spec"].get("volumes") or ():
            if volume.get("ephemeral"):
                await self._ensure(pod, volume)

    async def _ensure(self, pod: Object, volume: Object) -> None:
        name = ephemeral_claim_name(pod, volume)
        try:
            claim = self._claims.store.get(f"{pod['metadata']['namespace']}/{name}")
            if claim is None:
                try:
                    await self.api.create(PERSISTENT_VOLUME_CLAIMS, claim_for(pod, volume))
                except ApiFailure as failure:
                    failure.message = f"create PVC {name}: {failure.message}"
                    raise
            elif not belongs_to(claim, pod):
                where = f"PVC {key_of(claim)} was not created for pod {key_of(pod)}"
                raise NotOwnedError(f"{where} (pod is not owner)")
        except (ApiFailure, NotOwnedError) as failure:
            text = failure.message if isinstance(failure, ApiFailure) else str(failure)
            self.recorder.event(pod, "Warning", "FailedBinding", f"ephemeral volume {volume['name']}: {text}")
            raise


def claim_for(pod: Object, volume: Object) -> Object:
    template = volume["ephemeral"]["volumeClaimTemplate"]
    metadata, owner = template.get("metadata") or {}, pod["metadata"]
    reference = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": owner["name"],
        "uid": owner["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    wanted: Object = {
        "name": ephemeral_claim_name(pod, volume),
        "namespace": owner["namespace"],
        "ownerReferences": [reference],
    }
    for field in ("annotations", "labels"):
        if metadata.get(field):
            wanted[field] = metadata[field]
    return {"metadata": wanted, "spec": template["spec"]}
