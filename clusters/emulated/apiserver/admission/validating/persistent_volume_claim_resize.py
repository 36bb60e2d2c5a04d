"""PersistentVolumeClaimResize: only bound claims of classes that allow it may grow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.denial import forbidden
from clusters.emulated.apiserver.admission.mutating.default_storage_class import CLASS_ANNOTATION
from clusters.emulated.apiserver.objects import Objects
from clusters.kube import quantity
from clusters.kube.quantity import Quantity


class PersistentVolumeClaimResize(AdmissionPlugin):
    name = "PersistentVolumeClaimResize"
    operations = frozenset(("UPDATE",))
    resources = frozenset(("persistentvolumeclaims",))

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def validate(self, attributes: Attributes) -> None:
        new, old = attributes.object, attributes.old_object
        if attributes.subresource or new is None or old is None or _size(new) <= _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise forbidden(attributes, "Only bound persistent volume claims can be expanded")
        class_name = _class_of(new)
        found = None
        if class_name and class_name == _class_of(old):
            found = self._objects.get("storageclasses.storage.k8s.io", "", class_name)
        if found is None or not found.get("allowVolumeExpansion"):
            why = (
                "only dynamically provisioned pvc can be resized and "
                "the storageclass that provisions the pvc must support resize"
            )
            raise forbidden(attributes, why)


def _size(claim: Mapping[str, Any]) -> Quantity:
    resources = (claim.get("spec") or {}).get("resources") or {}
    return quantity.parse(str((resources.get("requests") or {}).get("storage", "0")))


def _class_of(claim: Mapping[str, Any]) -> str:
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    name: str = annotations.get(CLASS_ANNOTATION) or (claim.get("spec") or {}).get("storageClassName") or ""
    return name
