"""StorageObjectInUseProtection: a finalizer keeps volumes, claims and attribute classes while they are used."""

from __future__ import annotations

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes

_FINALIZERS = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection(AdmissionPlugin):
    name = "StorageObjectInUseProtection"
    operations = frozenset(("CREATE",))
    resources = frozenset(_FINALIZERS)

    async def admit(self, attributes: Attributes) -> None:
        if attributes.subresource or attributes.object is None:
            return
        finalizer = _FINALIZERS[attributes.group_resource]
        metadata = attributes.object.setdefault("metadata", {})
        finalizers = metadata.get("finalizers") or []
        if finalizer not in finalizers:
            metadata["finalizers"] = [*finalizers, finalizer]
