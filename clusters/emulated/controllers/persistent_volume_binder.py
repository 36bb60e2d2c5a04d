"""Binds PersistentVolumeClaims to PersistentVolumes, and gives back what a deleted claim leaves.

    claim, a volume fits          both point at each other, both are Bound
    claim, nothing fits, a class  annotated for its provisioner, which makes a volume with a claimRef
    … that waits for a consumer   nothing, until the scheduler has chosen a node
    claim deleted                 volume Released, then kept (Retain) or deleted (Delete)

As in Kubernetes nobody tells a claim about a new volume: every claim is looked at again every 15 seconds.
"""

from __future__ import annotations

import re
from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.errors import ApiFailure, NotFound
from clusters.emulated.client.events import reference_to
from clusters.emulated.client.indexer import Indexer, key_of
from clusters.emulated.client.resources import (
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
    Resource,
)
from clusters.emulated.controllers import volume_matching as matching
from clusters.emulated.controllers.pod_claims import claim_keys_of
from clusters.emulated.controllers.pod_conditions import is_finished

Object = dict[str, Any]

RESYNC_EVERY_S = 15.0
_CLAIM, _VOLUME = "claims/", "volumes/"
_NO_CLASS = "no persistent volumes available for this claim and no storage class is set"
_EXTERNAL = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by the system "
    "administrator. If volume creation is delayed, please verify that the provisioner is running and correctly "
    "registered."
)
_IN_TREE = "kubernetes.io/"
# In-tree names whose work CSI drivers have taken over.
_MIGRATED = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
_RECYCLABLE = ("hostPath", "nfs")
_deletable_path = re.compile(r"/tmp/.+").match


class InvalidBindingError(Exception):
    """A claim names a volume that another one has; to be tried again, in case that one lets go."""


class PersistentVolumeBinder(Controller):
    name = "persistentvolume-binder-controller"
    service_account = "persistent-volume-binder"
    event_component = "persistentvolume-controller"

    def setup(self) -> None:
        self._claims = self.informer(PERSISTENT_VOLUME_CLAIMS)
        self._volumes = self.informer(PERSISTENT_VOLUMES)
        self._classes = self.informer(STORAGE_CLASSES)
        self._pods = self.informer(PODS)
        self._pods.store.add_index("claim", claim_keys_of)
        #: What was written here and the informers may not show yet.
        self._written: dict[str, Object] = {}
        self._claims.add_handler(self._claim, lambda _, new: self._claim(new), self._claim_gone)
        self._volumes.add_handler(self._volume, lambda _, new: self._volume(new), self._volume_gone)
        self.periodic(RESYNC_EVERY_S, self._resync)

    def _claim(self, claim: Object) -> None:
        self.enqueue(_CLAIM + key_of(claim))

    def _claim_gone(self, claim: Object, _: bool) -> None:
        self._written.pop(claim["metadata"]["uid"], None)
        if claim["spec"].get("volumeName"):
            self.enqueue(_VOLUME + claim["spec"]["volumeName"])

    def _volume(self, volume: Object) -> None:
        self.enqueue(_VOLUME + key_of(volume))

    def _volume_gone(self, volume: Object, _: bool) -> None:
        self._written.pop(volume["metadata"]["uid"], None)
        reference = volume["spec"].get("claimRef")
        if reference:
            self.enqueue(f"{_CLAIM}{reference.get('namespace', '')}/{reference.get('name', '')}")

    async def _resync(self) -> None:
        for volume in self._volumes.store.list():
            self._volume(volume)
        for claim in self._claims.store.list():
            self._claim(claim)

    async def reconcile(self, key: str) -> None:
        if key.startswith(_VOLUME):
            volume = self._known(self._volumes.store, key.removeprefix(_VOLUME))
            if volume is not None:
                await self._sync_volume(volume)
            return
        claim = self._known(self._claims.store, key.removeprefix(_CLAIM))
        if claim is None:
            return
        if matching.BIND_COMPLETED in matching.annotations_of(claim):
            await self._sync_bound(claim)
        else:
            await self._sync_unbound(claim)

    # What is known, own writes included

    def _known(self, store: Indexer, key: str) -> Object | None:
        seen = store.get(key)
        if seen is None:
            return None
        written = self._written.get(seen["metadata"]["uid"])
        if written is None:
            return seen
        if int(written["metadata"]["resourceVersion"]) > int(seen["metadata"]["resourceVersion"]):
            return written
        del self._written[seen["metadata"]["uid"]]
        return seen

    async def _write(self, resource: Resource, obj: Object, subresource: str = "") -> Object:
        stored = await self.api.update(resource, obj, subresource=subresource)
        self._written[stored["metadata"]["uid"]] = stored
        return stored

    # Claims

    async def _sync_unbound(self, claim: Object) -> None:
        name = claim["spec"].get("volumeName")
        if not name:
            await self._find_volume(claim)
            return
        volume = self._known(self._volumes.store, name)
        if volume is None:
            await self._set_claim_phase(claim, "Pending", None)
        elif volume["spec"].get("claimRef") is None:
            problem = matching.mismatch(volume, claim)
            if not problem:
                await self._bind(volume, claim)
                return
            text = f'Cannot bind to requested volume "{name}": {problem}'
            self.recorder.event(claim, "Warning", "VolumeMismatch", text)
            await self._set_claim_phase(claim, "Pending", None)
        elif matching.is_bound_to(volume, claim):
            await self._bind(volume, claim)
        else:
            text = f'volume "{name}" already bound to a different claim.'
            self.recorder.event(claim, "Warning", "FailedBinding", text)
            if matching.BOUND_BY_CONTROLLER in matching.annotations_of(claim):
                raise InvalidBindingError(f"{key_of(claim)}: {text}")
            await self._set_claim_phase(claim, "Pending", None)

    async def _find_volume(self, claim: Object) -> None:
        name = matching.class_of(claim)
        storage_class = self._classes.store.get(name) if name else None
        delayed = storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"
        volumes = [
            volume for key in self._volumes.store if (volume := self._known(self._volumes.store, key)) is not None
        ]
        volume = matching.best_match(claim, volumes, delayed=delayed)
        if volume is not None:
            await self._bind(volume, claim)
            return
        if await self._give_default_class(claim):
            return
        if delayed and matching.SELECTED_NODE not in matching.annotations_of(claim):
            self._say_who_is_waited_for(claim)
        elif name:
            await self._provision(claim, name, storage_class)
            return
        else:
            self.recorder.event(claim, "Normal", "FailedBinding", _NO_CLASS)
        await self._set_claim_phase(claim, "Pending", None)

    async def _give_default_class(self, claim: Object) -> bool:
        """A claim from before there was a default class."""
        if matching.has_class(claim):
            return False
        default = matching.default_class(self._classes.store.list())
        if default is None:
            return False
        spec = {**claim["spec"], "storageClassName": default["metadata"]["name"]}
        await self._write(PERSISTENT_VOLUME_CLAIMS, {**claim, "spec": spec})
        return True

    def _say_who_is_waited_for(self, claim: Object) -> None:
        waiting = [
            pod["metadata"]["name"]
            for pod in self._pods.store.by_index("claim", key_of(claim))
            if not is_finished(pod) and not pod["spec"].get("nodeName")
        ]
        reason, text = "WaitForFirstConsumer", "waiting for first consumer to be created before binding"
        if waiting:
            kind = "pods" if len(waiting) > 1 else "pod"
            reason, text = "WaitForPodScheduled", f"waiting for {kind} {','.join(waiting)} to be scheduled"
        self.recorder.event(claim, "Normal", reason, text)

    async def _provision(self, claim: Object, name: str, storage_class: Object | None) -> None:
        if storage_class is None:
            text = f'storageclass.storage.k8s.io "{name}" not found'
            self.recorder.event(claim, "Warning", "ProvisioningFailed", text)
            return
        named: str = storage_class["provisioner"]
        provisioner = _MIGRATED.get(named, named)
        if provisioner.startswith(_IN_TREE):
            text = f"no volume plugin matched name: {provisioner}"
            self.recorder.event(claim, "Warning", "ProvisioningFailed", text)
            return
        annotations = matching.annotations_of(claim)
        wanted = {matching.BETA_STORAGE_PROVISIONER: provisioner, matching.STORAGE_PROVISIONER: provisioner}
        if not annotations.items() >= wanted.items():
            metadata = {**claim["metadata"], "annotations": {**annotations, **wanted}}
            try:
                claim = await self._write(PERSISTENT_VOLUME_CLAIMS, {**claim, "metadata": metadata})
            except ApiFailure as failure:
                text = f"Error saving claim: {failure.message}"
                self.recorder.event(claim, "Warning", "ProvisioningFailed", text)
                raise
        self.recorder.event(claim, "Normal", "ExternalProvisioning", _EXTERNAL.format(provisioner))

    async def _sync_bound(self, claim: Object) -> None:
        name = claim["spec"].get("volumeName")
        if not name:
            text = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
            await self._lose(claim, "ClaimLost", text)
            return
        volume = self._known(self._volumes.store, name)
        if volume is None:
            text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            await self._lose(claim, "ClaimLost", text)
        elif (volume["spec"].get("claimRef") or claim["metadata"]).get("uid") == claim["metadata"]["uid"]:
            await self._bind(volume, claim)
        else:
            text = "Two claims are bound to the same volume, this one is bound incorrectly"
            await self._lose(claim, "ClaimMisbound", text)

    async def _lose(self, claim: Object, reason: str, text: str) -> None:
        if (claim.get("status") or {}).get("phase") != "Lost":
            claim = await self._set_claim_phase(claim, "Lost", None)
            self.recorder.event(claim, "Warning", reason, text)

    async def _set_claim_phase(self, claim: Object, phase: str, volume: Object | None) -> Object:
        before = claim.get("status") or {}
        status = {**before, "phase": phase}
        if volume is None:
            for field in ("accessModes", "capacity", "currentVolumeAttributesClassName"):
                status.pop(field, None)
        else:
            status["accessModes"] = volume["spec"].get("accessModes")
            if before.get("phase") != phase:
                status["capacity"] = volume["spec"]["capacity"]
            attributes_class = volume["spec"].get("volumeAttributesClassName")
            if before.get("phase") == "Pending" and phase == "Bound" and attributes_class:
                status["currentVolumeAttributesClassName"] = attributes_class
        if status == before:
            return claim
        return await self._write(PERSISTENT_VOLUME_CLAIMS, {**claim, "status": status}, "status")

    # Binding: four writes, each of which can be the last for now; the next round goes on from there

    async def _bind(self, volume: Object, claim: Object) -> None:
        volume = await self._set_phase(await self._point_at_claim(volume, claim), "Bound")
        await self._set_claim_phase(await self._point_at_volume(claim, volume), "Bound", volume)

    async def _point_at_claim(self, volume: Object, claim: Object) -> Object:
        reference = volume["spec"].get("claimRef") or {}
        annotations = matching.annotations_of(volume)
        changed = dict(volume)
        if reference.get("uid") != claim["metadata"]["uid"] or not matching.is_bound_to(volume, claim):
            reference = reference_to({**claim, "kind": "PersistentVolumeClaim", "apiVersion": "v1"})
            changed["spec"] = {**volume["spec"], "claimRef": reference}
        if not matching.is_bound_to(volume, claim) and matching.BOUND_BY_CONTROLLER not in annotations:
            annotations = {**annotations, matching.BOUND_BY_CONTROLLER: "yes"}
            changed["metadata"] = {**volume["metadata"], "annotations": annotations}
        return volume if changed == volume else await self._write(PERSISTENT_VOLUMES, changed)

    async def _point_at_volume(self, claim: Object, volume: Object) -> Object:
        annotations, name = dict(matching.annotations_of(claim)), volume["metadata"]["name"]
        changed = dict(claim)
        if claim["spec"].get("volumeName") != name:
            changed["spec"] = {**claim["spec"], "volumeName": name}
            annotations.setdefault(matching.BOUND_BY_CONTROLLER, "yes")
        annotations.setdefault(matching.BIND_COMPLETED, "yes")
        if annotations != matching.annotations_of(claim):
            changed["metadata"] = {**claim["metadata"], "annotations": annotations}
        return claim if changed == claim else await self._write(PERSISTENT_VOLUME_CLAIMS, changed)

    # Volumes

    async def _sync_volume(self, volume: Object) -> None:
        reference = volume["spec"].get("claimRef")
        if not reference or not reference.get("uid"):
            await self._set_phase(volume, "Available")
            return
        claim = await self._claim_of(volume, reference)
        name = None if claim is None else claim["spec"].get("volumeName")
        if claim is None:
            await self._release(volume)
        elif not name:
            if matching.modes_differ(volume, claim):
                self._say_modes_differ(volume, claim)
            else:
                self._claim(claim)
        elif name == volume["metadata"]["name"]:
            await self._set_phase(volume, "Bound")
        elif (
            matching.PROVISIONED_BY in matching.annotations_of(volume)
            and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        ):
            await self._release(volume)  # Made for a claim that meanwhile found another one.
        else:
            await self._unbind(volume)

    async def _claim_of(self, volume: Object, reference: Object) -> Object | None:
        claim = self._known(self._claims.store, f"{reference.get('namespace', '')}/{reference.get('name', '')}")
        phase = (volume.get("status") or {}).get("phase")
        if claim is None and phase in ("Released", "Failed"):
            return None
        if claim is None or claim["metadata"]["uid"] != reference["uid"]:
            try:
                name, namespace = reference.get("name", ""), reference.get("namespace", "")
                claim = await self.api.get(PERSISTENT_VOLUME_CLAIMS, name, namespace)
            except NotFound:
                return None
        return claim if claim["metadata"]["uid"] == reference["uid"] else None

    def _say_modes_differ(self, volume: Object, claim: Object) -> None:
        volume_name, claim_name = volume["metadata"]["name"], claim["metadata"]["name"]
        text = f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{claim_name}" due to incompatible'
        self.recorder.event(volume, "Warning", "VolumeMismatch", f"{text} volumeMode.")
        text = f'Cannot bind PersistentVolume "{volume_name}" to requested PersistentVolumeClaim due to incompatible'
        self.recorder.event(claim, "Warning", "VolumeMismatch", f"{text} volumeMode.")

    async def _set_phase(self, volume: Object, phase: str, message: str = "") -> Object:
        status = volume.get("status") or {}
        if status.get("phase") == phase:
            return volume
        changed = {**status, "phase": phase, "message": message}
        if not message:
            del changed["message"]
        return await self._write(PERSISTENT_VOLUMES, {**volume, "status": changed}, "status")

    async def _unbind(self, volume: Object) -> None:
        annotations, spec = dict(matching.annotations_of(volume)), dict(volume["spec"])
        if annotations.pop(matching.BOUND_BY_CONTROLLER, None) is not None:
            del spec["claimRef"]
        else:
            spec["claimRef"] = {name: value for name, value in spec["claimRef"].items() if name != "uid"}
        metadata = {**volume["metadata"], "annotations": annotations}
        stored = await self._write(PERSISTENT_VOLUMES, {**volume, "metadata": metadata, "spec": spec})
        await self._set_phase(stored, "Available")

    # What a deleted claim leaves

    async def _release(self, volume: Object) -> None:
        if (volume.get("status") or {}).get("phase") not in ("Released", "Failed"):
            volume = await self._set_phase(volume, "Released")
        policy = volume["spec"].get("persistentVolumeReclaimPolicy")
        if policy == "Recycle":
            await self._recycle(volume)
        elif policy == "Delete":
            await self._delete(volume)

    async def _recycle(self, volume: Object) -> None:
        if not any(source in volume["spec"] for source in _RECYCLABLE):
            await self._fail(volume, "VolumeFailedRecycle", "No recycler plugin found for the volume!")
            return
        self.recorder.event(volume, "Normal", "VolumeRecycled", "Volume recycled")
        await self._unbind(volume)

    async def _delete(self, volume: Object) -> None:
        name, spec = volume["metadata"]["name"], volume["spec"]
        provisioner = matching.annotations_of(volume).get(matching.PROVISIONED_BY, "")
        if provisioner.startswith(_IN_TREE) and provisioner not in _MIGRATED:
            await self._fail(volume, "VolumeFailedDelete", f"no volume plugin matched name: {provisioner}")
        elif provisioner or "csi" in spec:
            return  # Whoever made it deletes it.
        elif "hostPath" not in spec:
            text = f'error getting deleter volume plugin for volume "{name}": no deletable volume plugin matched'
            await self._fail(volume, "VolumeFailedDelete", text)
        elif not _deletable_path(spec["hostPath"]["path"]):
            text = f"host_path deleter only supports /tmp/.+ but received provided {spec['hostPath']['path']}"
            await self._fail(volume, "VolumeFailedDelete", text)
        else:
            try:
                await self.api.delete(PERSISTENT_VOLUMES, name)
            except NotFound:
                return

    async def _fail(self, volume: Object, reason: str, text: str) -> None:
        if (volume.get("status") or {}).get("phase") != "Failed":
            volume = await self._set_phase(volume, "Failed", text)
            self.recorder.event(volume, "Warning", reason, text)
