"""How containers use volumes: mounts and block devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.validation.paths import local_descending_path, no_backsteps
from clusters.kube.field import FieldError, child, forbidden, invalid, not_found, not_supported, required

Value = Mapping[str, Any]

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE_READ_ONLY = ("Disabled", "Enabled", "IfPossible")


def mount_errors(container: Value, volumes: Mapping[str, Value], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    devices = {device.get("name", ""): device.get("devicePath", "") for device in container.get("volumeDevices") or ()}
    seen: set[str] = set()
    for position, mount in enumerate(container.get("volumeMounts") or ()):
        name, mount_path = mount.get("name", ""), mount.get("mountPath", "")
        if not name:
            errors.append(required(f"{path}[{position}].name"))
        if name not in volumes:
            errors.append(not_found(f"{path}[{position}].name", name))
        if not mount_path:
            errors.append(required(f"{path}[{position}].mountPath"))
        if mount_path in seen:
            errors.append(invalid(f"{path}[{position}].mountPath", mount_path, "must be unique"))
        seen.add(mount_path)
        if devices:
            if name in devices:
                text = "must not already exist in volumeDevices"
                errors.append(invalid(f"{path}[{position}].name", name, text))
            if mount_path in devices.values():
                text = "must not already exist as a path in volumeDevices"
                errors.append(invalid(f"{path}[{position}].mountPath", mount_path, text))
        errors += _mount_details(mount, container, path, position)
    return errors


def _mount_details(mount: Value, container: Value, path: str, position: int) -> list[FieldError]:
    # Kubernetes names these fields without the mount's position.
    errors: list[FieldError] = []
    sub_path, expression = mount.get("subPath"), mount.get("subPathExpr")
    if sub_path:
        errors += local_descending_path(sub_path, child(path, "subPath"))
    if expression:
        if sub_path:
            text = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid(f"{path}[{position}].subPathExpr", expression, text))
        errors += local_descending_path(expression, child(path, "subPathExpr"))
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        at = child(path, "mountPropagation")
        if propagation not in _PROPAGATIONS:
            errors.append(not_supported(at, propagation, _PROPAGATIONS))
        privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not privileged:
            text = "Bidirectional mount propagation is available only to privileged containers"
            errors.append(forbidden(at, text))
    recursive = mount.get("recursiveReadOnly")
    if recursive is not None:
        at = child(path, "recursiveReadOnly")
        if recursive in ("Enabled", "IfPossible"):
            if not mount.get("readOnly"):
                errors.append(forbidden(at, "may only be specified when readOnly is true"))
            if propagation not in (None, "None"):
                text = "may only be specified when mountPropagation is None or not specified"
                errors.append(forbidden(at, text))
        elif recursive != "Disabled":
            errors.append(not_supported(at, recursive, _RECURSIVE_READ_ONLY))
    return errors


def device_errors(
    devices: Sequence[Value], container: Value, volumes: Mapping[str, Value], path: str
) -> list[FieldError]:
    errors: list[FieldError] = []
    mounts = {mount.get("name", ""): mount.get("mountPath", "") for mount in container.get("volumeMounts") or ()}
    paths: set[str] = set()
    seen: set[str] = set()
    for position, device in enumerate(devices):
        name, device_path = device.get("name", ""), device.get("devicePath", "")
        name_at, path_at = f"{path}[{position}].name", f"{path}[{position}].devicePath"
        source = volumes.get(name)
        if not name:
            errors.append(required(name_at))
        if name in seen:
            errors.append(invalid(name_at, name, "must be unique"))
        if source is None:
            errors.append(not_found(name_at, name))
        elif source.get("persistentVolumeClaim") is None and source.get("ephemeral") is None:
            text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            errors.append(invalid(name_at, name, text))
        if not device_path:
            errors.append(required(path_at))
        if device_path in paths:
            errors.append(invalid(path_at, device_path, "must be unique"))
        if device_path and no_backsteps(device_path, path_at):
            errors.append(invalid(path_at, device_path, "can not contain backsteps ('..')"))
        else:
            paths.add(device_path)
        if name in mounts:
            errors.append(invalid(name_at, name, "must not already exist in volumeMounts"))
        if device_path in mounts.values():
            text = "must not already exist as a path in volumeMounts"
            errors.append(invalid(path_at, device_path, text))
        if name:
            seen.add(name)
    return errors
