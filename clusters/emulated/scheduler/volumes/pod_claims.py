"""Which claims a Pod uses, by their names: its own, and those made for its ephemeral volumes."""

from __future__ import annotations

from typing import Any

from clusters.emulated.scheduler.pod_info import PodInfo

Object = dict[str, Any]

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def claim_names(pod: PodInfo) -> list[tuple[str, bool]]:
    """(name, whether it belongs to an ephemeral volume), in the order of the volumes."""
    names = []
    for volume in pod.volumes:
        if volume.get("persistentVolumeClaim"):
            names.append((volume["persistentVolumeClaim"]["claimName"], False))
        elif volume.get("ephemeral"):
            names.append((f"{pod.name}-{volume['name']}", True))
    return names


def is_for_pod(pod: PodInfo, claim: Object) -> bool:
    """Whether an ephemeral volume's claim was made for this very Pod."""
    return any(
        owner.get("controller") and owner["uid"] == pod.uid for owner in claim["metadata"].get("ownerReferences") or ()
    )


def not_for_pod(pod: PodInfo, claim: Object) -> str:
    name = claim["metadata"]["name"]
    return f"PVC {pod.namespace}/{name} was not created for pod {pod.key} (pod is not owner)"


def claim_class(claim: Object) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    if BETA_CLASS in annotations:
        return str(annotations[BETA_CLASS])
    return claim["spec"].get("storageClassName") or ""


def volume_class(volume: Object) -> str:
    annotations = volume["metadata"].get("annotations") or {}
    if BETA_CLASS in annotations:
        return str(annotations[BETA_CLASS])
    return volume["spec"].get("storageClassName") or ""


def is_fully_bound(claim: Object) -> bool:
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in (claim["metadata"].get("annotations") or {})


def key_of(claim: Object) -> str:
    return f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
