"""A Pod's volumes: one source each, unique names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.validation import volume_sources as sources
from clusters.emulated.apiserver.validation.paths import local_non_reserved_path
from clusters.emulated.apiserver.validation.pod.env import (
    VOLUME_FIELD_PATHS,
    field_ref_errors,
    resource_ref_errors,
)
from clusters.emulated.apiserver.validation.pod.options import PodOptions
from clusters.emulated.apiserver.validation.pod.resources import amount
from clusters.kube import names
from clusters.kube.field import FieldError, child, duplicate, forbidden, invalid, required
from clusters.kube.gostring import quote

Value = Mapping[str, Any]

# In the order in which Kubernetes looks: field, its name in "more than one", its name in the source's own errors.
_SIMPLE: tuple[tuple[str, str, str, sources.Check], ...] = (
    ("hostPath", "hostPath", "hostPath", sources.host_path),
    ("gitRepo", "gitRepo", "gitRepo", sources.git_repo),
    ("gcePersistentDisk", "gcePersistentDisk", "persistentDisk", sources.partitioned_disk("pdName")),
    ("awsElasticBlockStore", "awsElasticBlockStore", "awsElasticBlockStore", sources.partitioned_disk("volumeID")),
    ("secret", "secret", "secret", sources.secret),
    ("nfs", "nfs", "nfs", sources.nfs),
    ("iscsi", "iscsi", "iscsi", sources.iscsi),
    ("glusterfs", "glusterfs", "glusterfs", sources.simple("endpoints", "path")),
    ("flocker", "flocker", "flocker", sources.flocker),
    ("persistentVolumeClaim", "persistentVolumeClaim", "persistentVolumeClaim", sources.simple("claimName")),
    ("rbd", "rbd", "rbd", sources.simple("monitors", "image")),
    ("cinder", "cinder", "cinder", sources.with_secret_ref("volumeID", "name")),
    ("cephfs", "cephFS", "cephfs", sources.simple("monitors")),
    ("quobyte", "quobyte", "quobyte", sources.quobyte),
    ("downwardAPI", "downwarAPI", "downwardAPI", lambda source, path: _downward_api(source, path)),
    ("fc", "fc", "fc", sources.fibre_channel),
    ("flexVolume", "flexVolume", "flexVolume", sources.flex_volume),
    ("configMap", "configMap", "configMap", sources.config_map),
    ("azureFile", "azureFile", "azureFile", sources.simple("secretName", "shareName")),
    ("vsphereVolume", "vsphereVolume", "vsphereVolume", sources.simple("volumePath")),
    ("photonPersistentDisk", "photonPersistentDisk", "photonPersistentDisk", sources.simple("pdID")),
    ("portworxVolume", "portworxVolume", "portworxVolume", sources.simple("volumeID")),
    ("azureDisk", "azureDisk", "azureDisk", sources.azure_disk),
    ("storageos", "storageos", "storageos", sources.storage_os("name")),
    ("projected", "projected", "projected", lambda source, path: []),
    ("scaleIO", "scaleIO", "scaleIO", sources.simple("gateway", "system", "volumeName")),
    ("csi", "csi", "csi", sources.csi),
    ("ephemeral", "ephemeral", "ephemeral", lambda source, path: _ephemeral(source, path)),
    ("image", "image", "image", lambda source, path: []),
)
_ORDER = {row[0]: position for position, row in enumerate(_SIMPLE)}


def volumes_errors(
    volumes: Sequence[Value], path: str, pod_name: str, options: PodOptions
) -> tuple[dict[str, Value], list[FieldError]]:
    """The well-formed volumes by name, which containers may mount, and what is wrong with the others."""
    errors: list[FieldError] = []
    found: dict[str, Value] = {}
    created = {
        f"{pod_name}-{volume.get('name', '')}" for volume in volumes if pod_name and volume.get("ephemeral") is not None
    }
    for position, volume in enumerate(volumes):
        at = f"{path}[{position}]"
        name = volume.get("name", "")
        wrong = _source_errors(volume, at, name, pod_name, options)
        if not name:
            wrong.append(required(child(at, "name")))
        else:
            wrong += [invalid(child(at, "name"), name, text) for text in names.dns_label(name)]
        if name in found:
            wrong.append(duplicate(child(at, "name"), name))
        if wrong:
            errors += wrong
        else:
            found[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in created:
            text = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{at}.persistentVolumeClaim.claimName", claim, text))
    return found, errors


def _source_errors(volume: Value, path: str, name: str, pod_name: str, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    used = False
    empty_dir = volume.get("emptyDir")
    if empty_dir is not None:
        used = True
        limit = empty_dir.get("sizeLimit")
        if limit is not None and amount(limit).sign() < 0:
            text = "SizeLimit field must be a valid resource quantity"
            errors.append(forbidden(child(path, "emptyDir", "sizeLimit"), text))
    present = sorted(_ORDER[field] for field in volume if field in _ORDER and volume[field] is not None)
    for position in present:
        field, also_named, own_name, check = _SIMPLE[position]
        source = volume[field]
        if used:
            errors.append(forbidden(child(path, also_named), sources.MORE_THAN_ONE))
        else:
            used = True
            at = child(path, own_name)
            errors += check(source, at)
            if field == "projected":
                errors += _projected(source, at, options)
            elif field == "image":
                errors += _image(source, at, options)
            elif field == "ephemeral" and pod_name and name:
                claim = f"{pod_name}-{name}"
                errors += [
                    invalid(child(path, "name"), name, f"PVC name {quote(claim)}: {text}")
                    for text in names.dns_subdomain(claim)
                ]
        if field == "iscsi" and sources.iscsi_name_too_long(source, name):
            errors.append(invalid(child(path, "name"), name, sources.ISCSI_TOO_LONG))
    if not used:
        errors.append(required(path, "must specify a volume type"))
    return errors


def _image(source: Value, path: str, options: PodOptions) -> list[FieldError]:
    from clusters.emulated.apiserver.validation.pod.containers import pull_policy_errors

    errors: list[FieldError] = []
    if options.is_pod and not source.get("reference"):
        errors.append(required(child(path, "reference")))
    return errors + pull_policy_errors(source.get("pullPolicy", ""), child(path, "pullPolicy"))


def _ephemeral(source: Value, path: str) -> list[FieldError]:
    from clusters.emulated.apiserver.validation.claims import claim_template_errors

    template, at = source.get("volumeClaimTemplate"), child(path, "volumeClaimTemplate")
    return [required(at)] if template is None else claim_template_errors(template, at)


def _downward_file(file: Value, path: str) -> list[FieldError]:
    errors = [] if file.get("path") else [required(child(path, "path"))]
    errors += local_non_reserved_path(file.get("path", ""), child(path, "path"))
    if file.get("fieldRef") is not None:
        errors += field_ref_errors(file["fieldRef"], VOLUME_FIELD_PATHS, child(path, "fieldRef"))
        if file.get("resourceFieldRef") is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", text))
    elif file.get("resourceFieldRef") is not None:
        errors += resource_ref_errors(file["resourceFieldRef"], child(path, "resourceFieldRef"), in_volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + sources.mode_errors(file, "mode", path)


def _downward_api(source: Value, path: str) -> list[FieldError]:
    errors = sources.mode_errors(source, "defaultMode", path)
    for file in source.get("items") or ():
        errors += _downward_file(file, path)
    return errors


def _projected(projection: Value, path: str, options: PodOptions) -> list[FieldError]:
    errors = sources.mode_errors(projection, "defaultMode", path)
    paths: set[str] = set()

    def claim(value: str, shown: str) -> list[FieldError]:
        if value not in paths:
            paths.add(value)
            return []
        return [invalid(path, shown, "conflicting duplicate paths")]

    for position, source in enumerate(projection.get("sources") or ()):
        at = f"{path}.sources[{position}]"
        for kind in ("secret", "configMap"):
            if source.get(kind) is None:
                continue
            name = source[kind].get("name", "")
            if not name:
                errors.append(required(child(at, kind, "name")))
            for item_position, item in enumerate(source[kind].get("items") or ()):
                errors += sources.one_key_to_path(item, f"{at}.{kind}.items[{item_position}]")
                if item.get("path"):
                    errors += claim(item["path"], name)
        for file in (source.get("downwardAPI") or {}).get("items") or ():
            errors += _downward_file(file, child(at, "downwardAPI"))
            if file.get("path"):
                errors += claim(file["path"], file["path"])
        if source.get("serviceAccountToken") is not None:
            token_at = child(at, "serviceAccountToken")
            errors += _token(source["serviceAccountToken"], token_at, path, options)
        if sum(value is not None for value in source.values()) > 1:
            errors.append(forbidden(at, "may not specify more than 1 volume type per source"))
    return errors


def _token(token: Value, path: str, volume_path: str, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    seconds, at = token.get("expirationSeconds", 0), child(path, "expirationSeconds")
    if seconds < 600:
        errors.append(invalid(at, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > 1 << 32:
        errors.append(invalid(at, seconds, "may not specify a duration larger than 2^32 seconds"))
    where = token.get("path", "")
    if not where:
        errors.append(required(child(volume_path, "path")))
    elif not options.non_local_token_path:
        errors += local_non_reserved_path(where, child(volume_path, "path"))
    return errors
