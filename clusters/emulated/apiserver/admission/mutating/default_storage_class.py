"""DefaultStorageClass: a claim that names no class gets the default one."""

from __future__ import annotations

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.mutating.default_classes import default_class
from clusters.emulated.apiserver.objects import Objects

CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_DEFAULT = "storageclass.kubernetes.io/is-default-class"
_BETA_DEFAULT = "storageclass.beta.kubernetes.io/is-default-class"


class DefaultStorageClass(AdmissionPlugin):
    name = "DefaultStorageClass"
    operations = frozenset(("CREATE",))
    resources = frozenset(("persistentvolumeclaims",))

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def admit(self, attributes: Attributes) -> None:
        claim = attributes.object
        if attributes.subresource or claim is None:
            return
        spec = claim.setdefault("spec", {})
        annotations = (claim.get("metadata") or {}).get("annotations") or {}
        if CLASS_ANNOTATION in annotations or spec.get("storageClassName") is not None:
            return
        found = default_class(self._objects, "storageclasses.storage.k8s.io", _DEFAULT, _BETA_DEFAULT)
        if found is not None:
            spec["storageClassName"] = found["metadata"]["name"]
