"""Rows of the storage group."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.tables.texts import NONE, UNSET, age, name_of

Object = dict[str, Any]
Cells = list[Any]

_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def storage_class(obj: Object, now_s: float) -> Cells:
    annotations = obj["metadata"].get("annotations") or {}
    is_default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return [
        name_of(obj) + (" (default)" if is_default else ""),
        obj.get("provisioner", ""),
        obj.get("reclaimPolicy", "Delete"),
        obj.get("volumeBindingMode", "Immediate"),
        obj.get("allowVolumeExpansion", False),
        age(obj, now_s),
    ]


def volume_attributes_class(obj: Object, now_s: float) -> Cells:
    return [name_of(obj), obj.get("driverName", ""), age(obj, now_s)]


def volume_attachment(obj: Object, now_s: float) -> Cells:
    spec = obj.get("spec") or {}
    return [
        name_of(obj),
        spec.get("attacher", ""),
        (spec.get("source") or {}).get("persistentVolumeName", ""),
        spec.get("nodeName", ""),
        (obj.get("status") or {}).get("attached", False),
        age(obj, now_s),
    ]


def csi_node(obj: Object, now_s: float) -> Cells:
    return [name_of(obj), len((obj.get("spec") or {}).get("drivers") or ()), age(obj, now_s)]


def csi_driver(obj: Object, now_s: float) -> Cells:
    spec = obj.get("spec") or {}
    requests = spec.get("tokenRequests")
    return [
        name_of(obj),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        UNSET if requests is None else ",".join(each.get("audience", "") for each in requests),
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age(obj, now_s),
    ]


CELLS = {
    ("storage.k8s.io", "StorageClass"): storage_class,
    ("storage.k8s.io", "VolumeAttributesClass"): volume_attributes_class,
    ("storage.k8s.io", "VolumeAttachment"): volume_attachment,
    ("storage.k8s.io", "CSINode"): csi_node,
    ("storage.k8s.io", "CSIDriver"): csi_driver,
}
