"""PersistentVolumeClaim specs: of claims themselves and of the templates in Pods and StatefulSets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.validation.metadata import validate_annotations
from clusters.emulated.apiserver.validation.pod.resources import amount, resource_value_errors
from clusters.kube import names
from clusters.kube.field import FieldError, child, forbidden, invalid, key, not_supported, required
from clusters.kube.gostring import Verbatim
from clusters.kube.selectors import validate_label_selector, validate_labels

Value = Mapping[str, Any]

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_TEMPLATE_METADATA = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip


def access_mode_errors(modes: Sequence[str], path: str) -> list[FieldError]:
    errors = [not_supported(path, mode, ACCESS_MODES) for mode in modes if mode not in ACCESS_MODES]
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES and mode != "ReadWriteOncePod" for mode in modes):
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def class_name_errors(name: str, path: str) -> list[FieldError]:
    return [invalid(path, name, text) for text in names.dns_subdomain(name)]


def claim_spec_errors(
    spec: Value, path: str, *, allow_invalid_selector: bool = False, allow_invalid_group: bool = False
) -> list[FieldError]:
    errors: list[FieldError] = []
    modes = spec.get("accessModes") or ()
    at = child(path, "accessModes")
    if not modes:
        errors.append(required(at, "at least 1 access mode is required"))
    errors += validate_label_selector(
        spec.get("selector"), child(path, "selector"), allow_invalid_values=allow_invalid_selector
    )
    errors += access_mode_errors(modes, at)
    storage = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    at = key(child(path, "resources"), "storage")
    if storage is None:
        errors.append(required(at))
    elif amount(storage).sign() <= 0:
        errors.append(invalid(at, str(amount(storage)), "must be greater than zero"))
    else:
        errors += resource_value_errors("storage", storage, at)
    if spec.get("storageClassName"):
        errors += class_name_errors(spec["storageClassName"], child(path, "storageClassName"))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported(child(path, "volumeMode"), mode, VOLUME_MODES))
    errors += _data_sources(spec, path, allow_invalid_group)
    if spec.get("volumeAttributesClassName"):
        errors += class_name_errors(spec["volumeAttributesClassName"], child(path, "volumeAttributesClassName"))
    return errors


def _data_source(source: Value, path: str, allow_invalid_group: bool) -> list[FieldError]:
    errors = [required(child(path, field)) for field in ("name", "kind") if not source.get(field)]
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, kind, text))
    if group and not allow_invalid_group:
        errors += [invalid(child(path, "apiGroup"), group, text) for text in names.dns_subdomain(group)]
    return errors


def _data_sources(spec: Value, path: str, allow_invalid_group: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        errors += _data_source(source, child(path, "dataSource"), allow_invalid_group)
    if reference is not None:
        at = child(path, "dataSourceRef")
        errors += _data_source(reference, at, allow_invalid_group)
        if reference.get("namespace"):
            namespace = reference["namespace"]
            errors += [invalid(child(at, "namespace"), namespace, text) for text in names.dns_label(namespace)]
    if source is None or reference is None:
        return errors
    # The value shown is the path object itself, which marshals to nothing.
    if reference.get("namespace"):
        text = "may not be specified when dataSourceRef.namespace is specified"
        errors.append(invalid(path, Verbatim("{}"), text))
    elif any((source.get(field) or None) != (reference.get(field) or None) for field in ("apiGroup", "kind", "name")):
        errors.append(invalid(path, Verbatim("{}"), "must match dataSourceRef"))
    return errors


def claim_template_errors(template: Value, path: str) -> list[FieldError]:
    """A template in a Pod's ephemeral volume: metadata may only have labels and annotations."""
    metadata, at = template.get("metadata") or {}, child(path, "metadata")
    errors = validate_annotations(metadata.get("annotations") or {}, child(at, "annotations"))
    errors += validate_labels(metadata.get("labels"), child(at, "labels"))
    errors += [forbidden(child(at, field), "cannot be set") for field in _TEMPLATE_METADATA if metadata.get(field)]
    return errors + claim_spec_errors(template.get("spec") or {}, child(path, "spec"))
