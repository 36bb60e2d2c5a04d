"""The PersistentVolume kind."""

from __future__ import annotations

import posixpath
from functools import partial
from typing import Any

from clusters.emulated.apiserver.validation import volume_sources as sources
from clusters.emulated.apiserver.validation.claims import VOLUME_MODES, access_mode_errors, class_name_errors
from clusters.emulated.apiserver.validation.lifecycle import keep_field
from clusters.emulated.apiserver.validation.metadata import validate_metadata
from clusters.emulated.apiserver.validation.pod.affinity import node_selector_errors
from clusters.emulated.apiserver.validation.pod.defaults import default_resource_list, default_volume_source
from clusters.emulated.apiserver.validation.pod.resources import amount
from clusters.emulated.apiserver.validation.pod.warnings import node_selector_term_warnings
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.emulated.apiserver.validation.semantic import diff, equal
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, invalid, key, not_supported, required
from clusters.kube.internal import printed

_RECLAIM = ("Delete", "Recycle", "Retain")
_MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
_CLASS = "volume.beta.kubernetes.io/storage-class"
# Field, its name in "more than one", its name in the source's own errors, in the order they are looked at.
_SOURCES: tuple[tuple[str, str, str, sources.Check], ...] = (
    ("hostPath", "hostPath", "hostPath", sources.host_path),
    ("gcePersistentDisk", "gcePersistentDisk", "persistentDisk", sources.partitioned_disk("pdName")),
    ("awsElasticBlockStore", "awsElasticBlockStore", "awsElasticBlockStore", sources.partitioned_disk("volumeID")),
    ("glusterfs", "glusterfs", "glusterfs", sources.glusterfs_persistent),
    ("flocker", "flocker", "flocker", sources.flocker),
    ("nfs", "nfs", "nfs", sources.nfs),
    ("rbd", "rbd", "rbd", sources.simple("monitors", "image")),
    ("quobyte", "quobyte", "quobyte", sources.quobyte),
    ("cephfs", "cephFS", "cephfs", sources.simple("monitors")),
    ("iscsi", "iscsi", "iscsi", sources.iscsi),
    ("cinder", "cinder", "cinder", sources.with_secret_ref("volumeID", "name", "namespace")),
    ("fc", "fc", "fc", sources.fibre_channel),
    ("flexVolume", "", "flexVolume", sources.flex_volume),
    ("azureFile", "azureFile", "azureFile", sources.azure_file_persistent),
    ("vsphereVolume", "vsphereVolume", "vsphereVolume", sources.simple("volumePath")),
    ("photonPersistentDisk", "photonPersistentDisk", "photonPersistentDisk", sources.simple("pdID")),
    ("portworxVolume", "portworxVolume", "portworxVolume", sources.simple("volumeID")),
    ("azureDisk", "azureDisk", "azureDisk", sources.azure_disk),
    ("scaleIO", "scaleIO", "scaleIO", sources.simple("gateway", "system", "volumeName")),
    ("local", "local", "local", sources.local),
    ("storageos", "storageos", "storageos", sources.storage_os("name", "namespace")),
    ("csi", "csi", "csi", sources.csi_persistent),
)
_WITH_MOUNT_OPTIONS = (
    "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder", "cephfs",
    "azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk",
)  # fmt: skip
_DEPRECATED = (
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
)
_BETA_TO_GA = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def persistent_volume_spec_errors(
    spec: Object, name: str, path: str, *, inline: bool = False, allow_invalid_values: bool = False
) -> list[FieldError]:
    """`inline` for the spec inside a VolumeAttachment."""
    errors: list[FieldError] = []
    text = "may not be specified in the context of inline volumes"
    if inline:
        if spec.get("claimRef") is not None:
            errors.append(forbidden(f"{path}.claimRef", text))
        if spec.get("capacity"):
            errors.append(forbidden(f"{path}.capacity", text))
        if spec.get("csi") is None:
            errors.append(required(f"{path}.csi", "has to be specified in the context of inline volumes"))
    modes = spec.get("accessModes") or ()
    if not modes:
        errors.append(required(f"{path}.accessModes"))
    errors += access_mode_errors(modes, f"{path}.accessModes")
    if not inline:
        errors += _capacity(spec.get("capacity") or {}, f"{path}.capacity")
    policy, at = spec.get("persistentVolumeReclaimPolicy", ""), f"{path}.persistentVolumeReclaimPolicy"
    if inline and policy not in ("", "Retain"):
        errors.append(forbidden(at, "may only be Retain in the context of inline volumes"))
    elif not inline and policy and policy not in _RECLAIM:
        errors.append(not_supported(at, policy, _RECLAIM))
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        if inline:
            errors.append(forbidden(f"{path}.nodeAffinity", text))
        elif affinity.get("required") is None:
            at = f"{path}.nodeAffinity.required"
            errors.append(required(at, "must specify required node constraints"))
        else:
            at = f"{path}.nodeAffinity.required"
            errors += node_selector_errors(affinity["required"], at, allow_invalid_values=allow_invalid_values)
    errors += _source(spec, name, path, affinity is not None and not inline)
    return errors + _after_source(spec, path, inline)


def _capacity(capacity: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not capacity:
        errors.append(required(path))
    if "storage" not in capacity or len(capacity) > 1:
        errors.append(not_supported(path, capacity or None, ("storage",)))
    for name, text in capacity.items():
        value, at = amount(text), key(path, name)
        if value.value() < 0:
            errors.append(invalid(at, value.value(), "must be a valid resource quantity"))
        if value.sign() <= 0:
            errors.append(invalid(at, str(value), "must be greater than zero"))
    return errors


def _source(spec: Object, name: str, path: str, has_affinity: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    used = False
    for field, also_named, own_name, check in _SOURCES:
        source = spec.get(field)
        if source is None:
            continue
        if used and also_named:
            errors.append(forbidden(f"{path}.{also_named}", sources.MORE_THAN_ONE))
            continue
        used = True
        if field == "iscsi":
            check = partial(sources.iscsi, persistent_volume=name)
        errors += check(source, f"{path}.{own_name}")
        if field == "local" and not has_affinity:
            errors.append(required(f"{path}.nodeAffinity", "Local volume requires node affinity"))
    if not used:
        errors.append(required(path, "must specify a volume type"))
    return errors


def _after_source(spec: Object, path: str, inline: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    host_path = (spec.get("hostPath") or {}).get("path")
    recycled = spec.get("persistentVolumeReclaimPolicy") == "Recycle"
    if host_path and recycled and posixpath.normpath(host_path).replace("//", "/") == "/":
        at = f"{path}.persistentVolumeReclaimPolicy"
        errors.append(forbidden(at, "may not be 'recycle' for a hostPath mount of '/'"))
    class_name = spec.get("storageClassName")
    if class_name and inline:
        text = "may not be specified in the context of inline volumes"
        errors.append(forbidden(f"{path}.storageClassName", text))
    elif class_name:
        errors += class_name_errors(class_name, f"{path}.storageClassName")
    mode = spec.get("volumeMode")
    if mode is not None and inline and mode != "Filesystem":
        text = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        errors.append(forbidden(f"{path}.volumeMode", text))
    elif mode is not None and not inline and mode not in VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    attributes = spec.get("volumeAttributesClassName")
    if attributes is not None:
        at = f"{path}.volumeAttributesClassName"
        if not attributes:
            errors.append(required(at, "an empty string is disallowed"))
        else:
            errors += class_name_errors(attributes, at)
        if spec.get("csi") is None:
            text = "has to be specified when using volumeAttributesClassName"
            errors.append(required(f"{path}.csi", text))
    return errors


class PersistentVolumeRules(KindRules):
    kind = "PersistentVolume"
    validates_metadata = True

    def default(self, obj: Object) -> None:
        spec, status = obj.setdefault("spec", {}), obj.setdefault("status", {})
        if not status.get("phase"):
            status["phase"] = "Pending"
        if not spec.get("persistentVolumeReclaimPolicy"):
            spec["persistentVolumeReclaimPolicy"] = "Retain"
        if spec.get("volumeMode") is None:
            spec["volumeMode"] = "Filesystem"
        default_resource_list(spec.get("capacity"))
        default_volume_source(spec)

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {"phase": "Pending"}
        created = (obj.get("metadata") or {}).get("creationTimestamp")
        if created:
            obj["status"]["lastPhaseTransitionTime"] = created

    def validate_create(self, obj: Object) -> list[FieldError]:
        return self._whole(obj, False) + _mount_options(obj)

    def _whole(self, obj: Object, allow_invalid_values: bool) -> list[FieldError]:
        name = (obj.get("metadata") or {}).get("name") or ""
        errors = validate_metadata(obj, False, self.validate_name)
        spec = obj.get("spec") or {}
        return errors + persistent_volume_spec_errors(spec, name, "spec", allow_invalid_values=allow_invalid_values)

    def prepare_update(self, obj: Object, old: Object) -> None:
        keep_field(obj, old, "status")

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        spec, stored = obj.get("spec") or {}, old.get("spec") or {}
        whole = self._whole(obj, _has_invalid_values(stored))
        errors = whole + _mount_options(obj) + whole
        if not equal("core.PersistentVolumeSource", _without_new_expand_secret(spec, stored), stored):
            shown = diff("core.PersistentVolumeSource", stored, _without_new_expand_secret(spec, stored))
            text = f"spec.persistentvolumesource is immutable after creation\n{shown}"
            errors.append(forbidden("spec.persistentvolumesource", text))
        if spec.get("volumeMode") != stored.get("volumeMode"):
            errors.append(invalid("volumeMode", spec.get("volumeMode"), "field is immutable"))
        affinity, before = spec.get("nodeAffinity"), stored.get("nodeAffinity")
        if before is not None and not _same_affinity(affinity, before):
            text = "field is immutable, except for updating from beta label to GA"
            errors.append(invalid("nodeAffinity", printed("*core.VolumeNodeAffinity", affinity), text))
        attributes = "volumeAttributesClassName"
        if stored.get(attributes) is not None and spec.get(attributes) is None:
            text = "update from non-nil value to nil is forbidden"
            errors.append(forbidden(f"spec.{attributes}", text))
        return errors

    def prepare_status(self, obj: Object, old: Object) -> None:
        super().prepare_status(obj, old)
        status, stored = obj.setdefault("status", {}), old.get("status") or {}
        if status.get("lastPhaseTransitionTime") is None and status.get("phase") == stored.get("phase"):
            keep_field(status, stored, "lastPhaseTransitionTime")

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return [] if (obj.get("metadata") or {}).get("resourceVersion") else [required("resourceVersion")]

    def warnings_create(self, obj: Object) -> list[str]:
        spec, warnings = obj.get("spec") or {}, []
        annotations = (obj.get("metadata") or {}).get("annotations") or {}
        if _CLASS in annotations:
            text = 'deprecated since v1.8; use "storageClassName" attribute instead'
            warnings.append(f"metadata.annotations[{_CLASS}]: {text}")
        if _MOUNT_OPTIONS in annotations:
            text = 'deprecated since v1.31; use "mountOptions" attribute instead'
            warnings.append(f"metadata.annotations[{_MOUNT_OPTIONS}]: {text}")
        if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
            text = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use"
            warnings.append(f"spec.persistentVolumeReclaimPolicy: {text} dynamic provisioning.")
        terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
        for position, term in enumerate(terms):
            at = f"spec.nodeAffinity.required.nodeSelectorTerms[{position}]"
            warnings += node_selector_term_warnings(term, at, check_values=False)
        return warnings + [f"spec.{shown}: {text}" for field, shown, text in _DEPRECATED if spec.get(field) is not None]

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return self.warnings_create(obj)


def _mount_options(obj: Object) -> list[FieldError]:
    annotations, spec = (obj.get("metadata") or {}).get("annotations") or {}, obj.get("spec") or {}
    if _MOUNT_OPTIONS not in annotations or any(spec.get(field) is not None for field in _WITH_MOUNT_OPTIONS):
        return []
    text = "may not specify mount options for this volume type"
    return [forbidden(f"metadata.annotations.{_MOUNT_OPTIONS}", text)]


def _has_invalid_values(spec: Object) -> bool:
    required_terms: Any = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    return any(
        names.label_value(value)
        for term in required_terms
        for expression in term.get("matchExpressions") or ()
        for value in expression.get("values") or ()
    )


def _without_new_expand_secret(spec: Object, stored: Object) -> Object:
    """The secret for expansion may be added later."""
    csi, before = spec.get("csi"), stored.get("csi")
    if csi is None or before is None or before.get("controllerExpandSecretRef") is not None:
        return spec
    return {**spec, "csi": {name: value for name, value in csi.items() if name != "controllerExpandSecretRef"}}


def _same_affinity(new: Object | None, old: Object) -> bool:
    if equal("*core.VolumeNodeAffinity", new, old):
        return True
    return new is not None and equal("core.VolumeNodeAffinity", new, _with_ga_labels(old, new))


def _with_ga_labels(old: Object, new: Object) -> Object:
    new_terms = (new.get("required") or {}).get("nodeSelectorTerms") or ()
    terms = []
    for position, term in enumerate((old.get("required") or {}).get("nodeSelectorTerms") or ()):
        counterpart = new_terms[position] if position < len(new_terms) else {}
        expressions = []
        for number, expression in enumerate(term.get("matchExpressions") or ()):
            others = counterpart.get("matchExpressions") or ()
            other = others[number] if number < len(others) else {}
            renamed = _BETA_TO_GA.get(expression.get("key", "")) == other.get("key")
            expressions.append({**expression, "key": other.get("key", "")} if renamed and other else expression)
        terms.append({**term, "matchExpressions": expressions})
    return {**old, "required": {"nodeSelectorTerms": terms}}
