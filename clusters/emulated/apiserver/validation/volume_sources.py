"""Where volumes come from: the sources that Pods and PersistentVolumes share, and those of one of them only.

Each check takes the source and its path. `simple` sources need nothing but a few non-empty fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.validation.paths import (
    local_descending_path,
    local_non_reserved_path,
    no_backsteps,
)
from clusters.kube import names
from clusters.kube.field import FieldError, child, index, invalid, not_supported, required, too_long

Value = Mapping[str, Any]
Check = Callable[[Value, str], list[FieldError]]

FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
MORE_THAN_ONE = "may not specify more than 1 volume type"
_HOST_PATH_TYPES = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip
_has_iqn = re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)\Z", re.ASCII).search
_is_eui = re.compile(r"eui.[a-zA-Z0-9]{16}").fullmatch
_is_naa = re.compile(r"naa.[a-zA-Z0-9]{32}").fullmatch
_ISCSI_TOO_LONG = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
    "if iscsi.initiatorName is specified."
)
_REGISTRY = "must be a host:port pair or multiple pairs separated by commas"
_DRIVER_MAX = 63


def simple(*fields: str) -> Check:
    """Nothing but these fields, which must not be empty."""

    def check(source: Value, path: str) -> list[FieldError]:
        return [required(child(path, field)) for field in fields if not source.get(field)]

    return check


def mode_errors(source: Value, field: str, path: str) -> list[FieldError]:
    mode = source.get(field)
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid(child(path, field), mode, FILE_MODE)]


def host_path(source: Value, path: str) -> list[FieldError]:
    where = source.get("path")
    if not where:
        return [required(child(path, "path"))]
    errors = no_backsteps(where, child(path, "path"))
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        errors.append(not_supported(child(path, "type"), kind, _HOST_PATH_TYPES))
    return errors


def git_repo(source: Value, path: str) -> list[FieldError]:
    errors = [] if source.get("repository") else [required(child(path, "repository"))]
    return errors + local_descending_path(source.get("directory", ""), child(path, "directory"))


def partitioned_disk(field: str) -> Check:
    def check(source: Value, path: str) -> list[FieldError]:
        errors = [] if source.get(field) else [required(child(path, field))]
        partition = source.get("partition", 0)
        if not 0 <= partition <= 255:
            errors.append(invalid(child(path, "partition"), partition, names.range_error(1, 255)))
        return errors

    return check


def key_to_path_errors(items: Sequence[Value] | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, item in enumerate(items or ()):
        errors += one_key_to_path(item, index(path, position))
    return errors


def one_key_to_path(item: Value, path: str) -> list[FieldError]:
    errors = [required(child(path, field)) for field in ("key", "path") if not item.get(field)]
    errors += local_non_reserved_path(item.get("path", ""), child(path, "path"))
    return errors + mode_errors(item, "mode", path)


def secret(source: Value, path: str) -> list[FieldError]:
    errors = [] if source.get("secretName") else [required(child(path, "secretName"))]
    errors += mode_errors(source, "defaultMode", path)
    return errors + key_to_path_errors(source.get("items"), child(path, "items"))


def config_map(source: Value, path: str) -> list[FieldError]:
    errors = [] if source.get("name") else [required(child(path, "name"))]
    errors += mode_errors(source, "defaultMode", path)
    return errors + key_to_path_errors(source.get("items"), child(path, "items"))


def nfs(source: Value, path: str) -> list[FieldError]:
    errors = [required(child(path, field)) for field in ("server", "path") if not source.get(field)]
    if not source.get("path", "").startswith("/"):
        errors.append(invalid(child(path, "path"), source.get("path", ""), "must be an absolute path"))
    return errors


def _iscsi_name(name: str, path: str, unknown: str) -> list[FieldError]:
    if name.startswith("iqn"):
        valid = _has_iqn(name)
    elif name.startswith("eui"):
        valid = _is_eui(name)
    elif name.startswith("naa"):
        valid = _is_naa(name)
    else:
        return [invalid(path, name, unknown)]
    return [] if valid else [invalid(path, name, "must be valid format")]


def iscsi(source: Value, path: str, *, persistent_volume: str | None = None) -> list[FieldError]:
    portal, iqn, initiator = source.get("targetPortal", ""), source.get("iqn"), source.get("initiatorName")
    errors = [] if portal else [required(child(path, "targetPortal"))]
    if persistent_volume is not None and initiator is not None and len(f"{persistent_volume}:{portal}") > 64:
        errors.append(invalid(child(path, "targetportal"), portal, _ISCSI_TOO_LONG))
    unknown = "must be valid format"
    if persistent_volume is None:
        unknown = "must be valid format starting with iqn, eui, or naa"
    if not iqn:
        errors.append(required(child(path, "iqn")))
    else:
        errors += _iscsi_name(iqn, child(path, "iqn"), unknown)
    lun = source.get("lun", 0)
    if not 0 <= lun <= 255:
        errors.append(invalid(child(path, "lun"), lun, names.range_error(0, 255)))
    reference = source.get("secretRef")
    if reference is None and (source.get("chapAuthDiscovery") or source.get("chapAuthSession")):
        errors.append(required(child(path, "secretRef")))
    if persistent_volume is not None and reference is not None and not reference.get("name"):
        errors.append(required(child(path, "secretRef", "name")))
    if initiator is not None:
        errors += _iscsi_name(initiator, child(path, "initiatorname"), unknown)
    return errors


def iscsi_name_too_long(source: Value, volume: str) -> bool:
    return source.get("initiatorName") is not None and len(f"{volume}:{source.get('targetPortal', '')}") > 64


ISCSI_TOO_LONG = _ISCSI_TOO_LONG


def quobyte(source: Value, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    registry = source.get("registry", "")
    if not registry:
        errors.append(required(child(path, "registry"), _REGISTRY))
    elif names.size(source.get("tenant", "")) >= 65:
        text = "must be a UUID and may not exceed a length of 64 characters"
        errors.append(required(child(path, "tenant"), text))
    else:
        errors += [
            invalid(child(path, "registry"), registry, _REGISTRY)
            for pair in registry.split(",")
            if pair.count(":") != 1 and not pair.startswith("[")
        ]
    return errors if source.get("volume") else [*errors, required(child(path, "volume"))]


def glusterfs_persistent(source: Value, path: str) -> list[FieldError]:
    errors = simple("endpoints", "path")(source, path)
    namespace = source.get("endpointsNamespace")
    if namespace is not None:
        at = child(path, "endpointsNamespace")
        if not namespace:
            text = "if the endpointnamespace is set, it must be a valid namespace name"
            errors.append(invalid(at, namespace, text))
        else:
            errors += [invalid(at, namespace, text) for text in names.dns_label(namespace)]
    return errors


def flocker(source: Value, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID", "")
    if not name and not uuid:
        errors.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        text = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(invalid(path, "resource", text))
    if "/" in name:
        errors.append(invalid(child(path, "datasetName"), name, "must not contain '/'"))
    return errors


def with_secret_ref(required_field: str, *reference_fields: str) -> Check:
    def check(source: Value, path: str) -> list[FieldError]:
        errors = [] if source.get(required_field) else [required(child(path, required_field))]
        reference = source.get("secretRef")
        if reference is not None:
            errors += [
                required(child(path, "secretRef", field)) for field in reference_fields if not reference.get(field)
            ]
        return errors

    return check


def fibre_channel(source: Value, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    targets, wwids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    at = child(path, "targetWWNs")
    if not targets and not wwids:
        errors.append(required(at, "must specify either targetWWNs or wwids, but not both"))
    if targets and wwids:
        errors.append(invalid(at, targets, "targetWWNs and wwids can not be specified simultaneously"))
    if targets:
        if lun is None:
            errors.append(required(child(path, "lun"), "lun is required if targetWWNs is specified"))
        elif not 0 <= lun <= 255:
            errors.append(invalid(child(path, "lun"), lun, names.range_error(0, 255)))
    return errors


def flex_volume(source: Value, path: str) -> list[FieldError]:
    errors = [] if source.get("driver") else [required(child(path, "driver"))]
    for option in source.get("options") or {}:
        domain = "." + option.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid(f"{path}.options[{option}]", option, text))
    return errors


def azure_file_persistent(source: Value, path: str) -> list[FieldError]:
    errors = simple("secretName", "shareName")(source, path)
    if source.get("secretNamespace") == "":
        errors.append(required(child(path, "secretNamespace")))
    return errors


def azure_disk(source: Value, path: str) -> list[FieldError]:
    errors = simple("diskName", "diskURI")(source, path)
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI", "")
    if caching is not None and caching not in ("None", "ReadOnly", "ReadWrite"):
        errors.append(not_supported(child(path, "cachingMode"), caching, ("None", "ReadOnly", "ReadWrite")))
    if kind is not None and kind not in ("Dedicated", "Managed", "Shared"):
        errors.append(not_supported(child(path, "kind"), kind, ("Dedicated", "Managed", "Shared")))
    managed = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
    blob = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        errors.append(not_supported(child(path, "diskURI"), uri, (managed,)))
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        errors.append(not_supported(child(path, "diskURI"), uri, (blob,)))
    return errors


def storage_os(*reference_fields: str) -> Check:
    def check(source: Value, path: str) -> list[FieldError]:
        errors: list[FieldError] = []
        name, namespace = source.get("volumeName", ""), source.get("volumeNamespace", "")
        if not name:
            errors.append(required(child(path, "volumeName")))
        else:
            errors += [invalid(child(path, "volumeName"), name, text) for text in names.dns_label(name)]
        if namespace:
            at = child(path, "volumeNamespace")
            errors += [invalid(at, namespace, text) for text in names.dns_label(namespace)]
        reference = source.get("secretRef")
        if reference is not None:
            errors += [
                required(child(path, "secretRef", field)) for field in reference_fields if not reference.get(field)
            ]
        return errors

    return check


def csi_driver_name_errors(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [too_long(path, _DRIVER_MAX)] if names.size(name) > _DRIVER_MAX else []
    return errors + [invalid(path, name, text) for text in names.dns_subdomain(name.lower())]


def csi(source: Value, path: str) -> list[FieldError]:
    errors = csi_driver_name_errors(source.get("driver", ""), child(path, "driver"))
    reference = source.get("nodePublishSecretRef")
    if reference is not None:
        name = reference.get("name", "")
        if not name:
            errors.append(required(child(path, "nodePublishSecretRef", "name")))
        else:
            errors += [invalid(child(path, "name"), name, text) for text in names.dns_subdomain(name)]
    return errors


def csi_persistent(source: Value, path: str) -> list[FieldError]:
    errors = csi_driver_name_errors(source.get("driver", ""), child(path, "driver"))
    if not source.get("volumeHandle"):
        errors.append(required(child(path, "volumeHandle")))
    for field in (
        "controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef",
    ):  # fmt: skip
        reference = source.get(field)
        if reference is None:
            continue
        for name, rule in (("name", names.dns_subdomain), ("namespace", names.dns_label)):
            at, value = child(path, field, name), reference.get(name, "")
            errors += [invalid(at, value, text) for text in rule(value)] if value else [required(at)]
    return errors


def local(source: Value, path: str) -> list[FieldError]:
    if not source.get("path"):
        return [required(child(path, "path"))]
    return no_backsteps(source["path"], child(path, "path"))
