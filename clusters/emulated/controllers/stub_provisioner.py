"""The provisioner `kaput.dev/stub`: any claim of a class that names it has a volume at once.

It does what an external provisioner does and nothing more: waits until the binder has handed it a claim (and, for
classes that wait for a consumer, until the scheduler has chosen a node), makes the PersistentVolume, and deletes
it when it is released and its policy says so. The volume is a directory of the node.
"""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import AlreadyExists, NotFound
from clusters.emulated.client.events import reference_to
from clusters.emulated.client.indexer import key_of
from clusters.emulated.client.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from clusters.emulated.controllers import volume_matching as matching

Object = dict[str, Any]

PROVISIONER = "kaput.dev/stub"
_CLAIM, _VOLUME = "claims/", "volumes/"
_HOST_NAME = "kubernetes.io/hostname"


class StubProvisioner(Controller):
    name = "stub-provisioner"
    service_account = "persistent-volume-binder"
    event_component = PROVISIONER

    def setup(self) -> None:
        self._claims = self.informer(PERSISTENT_VOLUME_CLAIMS)
        self._volumes = self.informer(PERSISTENT_VOLUMES)
        self._classes = self.informer(STORAGE_CLASSES)
        self._claims.add_handler(self._claim, lambda _, new: self._claim(new))
        self._volumes.add_handler(self._volume, lambda _, new: self._volume(new))

    def _claim(self, claim: Object) -> None:
        handed_to = matching.annotations_of(claim).get(matching.STORAGE_PROVISIONER)
        if handed_to == PROVISIONER and not claim["spec"].get("volumeName"):
            self.enqueue(_CLAIM + key_of(claim))

    def _volume(self, volume: Object) -> None:
        if is_to_delete(volume):
            self.enqueue(_VOLUME + key_of(volume))

    async def reconcile(self, key: str) -> None:
        if key.startswith(_VOLUME):
            volume = self._volumes.store.get(key.removeprefix(_VOLUME))
            if volume is not None and is_to_delete(volume):
                try:
                    await self.api.delete(PERSISTENT_VOLUMES, volume["metadata"]["name"])
                except NotFound:
                    return
            return
        claim = self._claims.store.get(key.removeprefix(_CLAIM))
        if claim is None or claim["spec"].get("volumeName") or claim["metadata"].get("deletionTimestamp"):
            return
        storage_class = self._classes.store.get(matching.class_of(claim))
        if storage_class is None or storage_class["provisioner"] != PROVISIONER:
            return
        await self._provision(claim, storage_class)

    async def _provision(self, claim: Object, storage_class: Object) -> None:
        node = matching.annotations_of(claim).get(matching.SELECTED_NODE)
        if storage_class.get("volumeBindingMode") == "WaitForFirstConsumer" and not node:
            return
        volume = volume_for(claim, storage_class, node)
        name = volume["metadata"]["name"]
        if self._volumes.store.get(name) is not None:
            return
        text = f'External provisioner is provisioning volume for claim "{key_of(claim)}"'
        self.recorder.event(claim, "Normal", "Provisioning", text)
        try:
            await self.api.create(PERSISTENT_VOLUMES, volume)
        except AlreadyExists:
            return  # Made before a restart.
        self.recorder.event(claim, "Normal", "ProvisioningSucceeded", f"Successfully provisioned volume {name}")


def is_to_delete(volume: Object) -> bool:
    return (
        matching.annotations_of(volume).get(matching.PROVISIONED_BY) == PROVISIONER
        and (volume.get("status") or {}).get("phase") in ("Released", "Failed")
        and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        and not volume["metadata"].get("deletionTimestamp")
    )


def volume_for(claim: Object, storage_class: Object, node: str | None) -> Object:
    """The volume that this claim asks for; with a node, one that only this node has."""
    name = f"pvc-{claim['metadata']['uid']}"
    claim_spec = claim["spec"]
    reference = reference_to({**claim, "kind": "PersistentVolumeClaim", "apiVersion": "v1"})
    spec: Object = {
        "capacity": {"storage": claim_spec["resources"]["requests"]["storage"]},
        "accessModes": claim_spec.get("accessModes") or [],
        "volumeMode": claim_spec.get("volumeMode") or "Filesystem",
        "storageClassName": matching.class_of(claim),
        "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
        "claimRef": reference,
        "hostPath": {"path": f"/var/lib/kaput/volumes/{name}", "type": "DirectoryOrCreate"},
    }
    if storage_class.get("mountOptions"):
        spec["mountOptions"] = storage_class["mountOptions"]
    if claim_spec.get("volumeAttributesClassName"):
        spec["volumeAttributesClassName"] = claim_spec["volumeAttributesClassName"]
    if node:
        expression = {"key": _HOST_NAME, "operator": "In", "values": [node]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    return {"metadata": {"name": name, "annotations": {matching.PROVISIONED_BY: PROVISIONER}}, "spec": spec}
