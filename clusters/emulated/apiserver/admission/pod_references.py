"""Which API objects a pod's spec refers to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_SECRET_REF_VOLUMES = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")
# Volumes that bring nothing from the API with them.
_PLAIN_VOLUMES = frozenset(
    (
        "awsElasticBlockStore", "azureDisk", "cephfs", "cinder", "downwardAPI", "emptyDir", "fc", "flexVolume",
        "flocker", "gcePersistentDisk", "gitRepo", "hostPath", "image", "iscsi", "nfs",
        "photonPersistentDisk", "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos", "vsphereVolume",
    )
)  # fmt: skip
_REFERRING_VOLUMES = (
    ("configMap", "configmaps (via configmap volumes)"),
    ("secret", "secrets (via secret volumes)"),
    ("csi", "csidrivers (via CSI volumes)"),
    ("glusterfs", "endpoints (via glusterFS volumes)"),
    ("persistentVolumeClaim", "persistentvolumeclaims"),
    ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
    ("azureFile", "secrets (via azureFile volumes)"),
)
_REFERRING_PROJECTIONS = (
    ("configMap", "configmaps (via projected volumes)"),
    ("secret", "secrets (via projected volumes)"),
    ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
    ("clusterTrustBundle", "clustertrustbundles"),
    ("podCertificate", "podcertificates"),
)


class UnknownReferenceError(ValueError):
    """A volume of a kind this version does not know; `str()` says which."""


def containers(spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Init containers, containers, ephemeral containers."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def _from_environment(spec: Mapping[str, Any], whole: str, single: str) -> Iterator[str]:
    for container in containers(spec):
        for source in container.get("envFrom") or ():
            if source.get(whole):
                yield source[whole].get("name", "")
        for variable in container.get("env") or ():
            reference = (variable.get("valueFrom") or {}).get(single)
            if reference:
                yield reference.get("name", "")


def secret_names(spec: Mapping[str, Any]) -> Iterator[str]:
    return filter(None, _secret_names(spec))


def _secret_names(spec: Mapping[str, Any]) -> Iterator[str]:
    for reference in spec.get("imagePullSecrets") or ():
        yield reference.get("name", "")
    yield from _from_environment(spec, "secretRef", "secretKeyRef")
    for volume in spec.get("volumes") or ():
        for kind in _SECRET_REF_VOLUMES:
            yield ((volume.get(kind) or {}).get("secretRef") or {}).get("name", "")
        yield (volume.get("azureFile") or {}).get("secretName", "")
        yield (volume.get("secret") or {}).get("secretName", "")
        yield ((volume.get("csi") or {}).get("nodePublishSecretRef") or {}).get("name", "")
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield (source.get("secret") or {}).get("name", "")


def config_map_names(spec: Mapping[str, Any]) -> Iterator[str]:
    return filter(None, _config_map_names(spec))


def _config_map_names(spec: Mapping[str, Any]) -> Iterator[str]:
    yield from _from_environment(spec, "configMapRef", "configMapKeyRef")
    for volume in spec.get("volumes") or ():
        yield (volume.get("configMap") or {}).get("name", "")
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield (source.get("configMap") or {}).get("name", "")


def api_objects(spec: Mapping[str, Any]) -> str:
    """What of the API the pod refers to, in words; empty if nothing. Raises UnknownReferenceError."""
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    if next(secret_names(spec), None) is not None:
        return "secrets"
    if next(config_map_names(spec), None) is not None:
        return "configmaps"
    if spec.get("resourceClaims"):
        return "resourceclaims"
    for volume in spec.get("volumes") or ():
        found = _of_volume(volume)
        if found:
            return found
    return ""


def _of_volume(volume: Mapping[str, Any]) -> str:
    if not _PLAIN_VOLUMES.isdisjoint(volume):
        return ""
    for kind, words in _REFERRING_VOLUMES:
        if volume.get(kind) is not None:
            return words
    if volume.get("projected") is None:
        raise UnknownReferenceError(f'unknown volume type for volume  "{volume.get("name", "")}"')
    for source in volume["projected"].get("sources") or ():
        for kind, words in _REFERRING_PROJECTIONS:
            if source.get(kind) is not None:
                return words
        if source.get("downwardAPI") is None:
            raise UnknownReferenceError(f'unknown source for projected volume "{volume.get("name", "")}"')
    return ""
