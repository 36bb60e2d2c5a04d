"""VolumeAttachment: one volume on one node. Its spec never changes."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.fields import named, unchanged
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.rules import Object
from clusters.emulated.apiserver.validation.storage.classes import GROUP
from clusters.emulated.apiserver.validation.storage.csi import csi_driver_name_errors
from clusters.kube import names
from clusters.kube.field import FieldError, forbidden, invalid, required, too_long

_METADATA_BYTES_MAX = 256 * 1024
_MESSAGE_BYTES_MAX = 1024
_ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


class VolumeAttachmentRules(LifecycleRules):
    group, kind = GROUP, "VolumeAttachment"
    metadata_on_update = "whole"
    metadata_on_status = "whole"
    zero_status = (("attached", False),)
    status_keeps_metadata = True
    allow_unconditional_update = False

    def validate_create(self, obj: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        source = spec.get("source") or {}
        errors = csi_driver_name_errors(spec.get("attacher") or "", "spec.attacher")
        errors += _source_errors(source, "spec.source")
        errors += named("spec.nodeName", spec.get("nodeName") or "", names.dns_subdomain)
        errors += _status_errors(obj.get("status") or {})
        volume = source.get("persistentVolumeName")
        if volume is not None:
            errors += named("spec.source.persistentVolumeName", volume, names.dns_subdomain)
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        return self.validate_create(obj) + unchanged(
            obj.get("spec"), old.get("spec"), "spec", "storage.VolumeAttachmentSpec"
        )

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return self.validate_update(obj, old)


def _source_errors(source: Object, path: str) -> list[FieldError]:
    inline, volume = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    if inline is None and volume is None:
        return [required(path, _ONE_SOURCE)]
    if inline is not None and volume is not None:
        return [forbidden(path, _ONE_SOURCE)]
    if volume is not None and not volume:
        return [required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName")]
    return []


def _status_errors(status: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    metadata = status.get("attachmentMetadata") or {}
    if sum(len(name.encode()) + len(value.encode()) for name, value in metadata.items()) > _METADATA_BYTES_MAX:
        errors.append(too_long("status.attachmentMetadata", _METADATA_BYTES_MAX))
    for name in ("attachError", "detachError"):
        problem = status.get(name) or {}
        if len((problem.get("message") or "").encode()) > _MESSAGE_BYTES_MAX:
            # Kubernetes names the wrong limit here.
            errors.append(too_long(f"status.{name}.message", _METADATA_BYTES_MAX))
        code = problem.get("errorCode")
        if code is not None and code < 0:
            text = names.range_error(0, 2**31 - 1)
            errors.append(invalid(f"status.{name}.errorCode", code, text))
    return errors
