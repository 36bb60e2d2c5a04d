"""Which objects a node may know of: those that the pods bound to it refer to, directly or through volumes.

Kubernetes keeps a graph of this; here each question walks the few objects it concerns, and its answer is kept
until one of those resources changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusters.emulated.apiserver.objects import Object, Objects

VOLUME_ATTACHMENTS = "volumeattachments.storage.k8s.io"
RESOURCE_SLICES = "resourceslices.resource.k8s.io"
MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
ANSWERS_MAX = 8192
# Volume sources whose Secret stands in a `secretRef`.
_SECRET_REF_SOURCES = ("cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")
_NODE_SECRETS_OF_CSI = ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef")


class NodeReach:
    """Answers `reaches(node, resource, namespace, name)`."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._answers: dict[tuple[str, str, str, str], bool] = {}
        self._revision: tuple[int, ...] = ()

    def reaches(self, node: str, resource: str, namespace: str, name: str) -> bool:
        revision_of = self._objects.revision_of
        revision = (
            revision_of("pods"),
            revision_of("persistentvolumes"),
            revision_of(VOLUME_ATTACHMENTS),
            revision_of(RESOURCE_SLICES),
        )
        if revision != self._revision or len(self._answers) >= ANSWERS_MAX:
            self._answers.clear()
            self._revision = revision
        question = (node, resource, namespace, name)
        answer = self._answers.get(question)
        if answer is None:
            answer = self._answers[question] = self._find(node, resource, namespace, name)
        return answer

    def _find(self, node: str, resource: str, namespace: str, name: str) -> bool:
        if resource == "pods":
            pod = self._objects.get("pods", namespace, name)
            return pod is not None and pod["spec"].get("nodeName") == node
        if resource == "volumeattachments":
            return self._names_node(VOLUME_ATTACHMENTS, name, node)
        if resource == "resourceslices":
            return self._names_node(RESOURCE_SLICES, name, node)
        if resource == "persistentvolumes":
            volume = self._objects.get("persistentvolumes", "", name)
            return volume is not None and self._uses_volume(node, volume)
        if self._a_pod_refers(node, resource, namespace, name):
            return True
        if resource == "secrets":
            return any(
                (namespace, name) in _volume_secrets(volume) and self._uses_volume(node, volume)
                for volume in self._objects.list("persistentvolumes")
            )
        return False

    def _names_node(self, resource: str, name: str, node: str) -> bool:
        found = self._objects.get(resource, "", name)
        return found is not None and found["spec"].get("nodeName") == node

    def _a_pod_refers(self, node: str, resource: str, namespace: str, name: str) -> bool:
        for pod in self._objects.list("pods", namespace):
            spec = pod["spec"]
            # A mirror pod shows what a static pod already has; it must not give its node anything new.
            if spec.get("nodeName") != node or MIRROR_ANNOTATION in (pod["metadata"].get("annotations") or ()):
                continue
            if name in _references(pod, resource):
                return True
        return False

    def _uses_volume(self, node: str, volume: Object) -> bool:
        claim = volume["spec"].get("claimRef")
        if not claim:
            return False
        return self._a_pod_refers(node, "persistentvolumeclaims", claim.get("namespace", ""), claim.get("name", ""))


def _references(pod: Object, resource: str) -> Iterator[str]:
    if resource == "serviceaccounts":
        yield pod["spec"].get("serviceAccountName", "")
    elif resource == "secrets":
        yield from _secrets(pod["spec"])
    elif resource == "configmaps":
        yield from _config_maps(pod["spec"])
    elif resource == "persistentvolumeclaims":
        yield from _claims(pod)
    elif resource == "resourceclaims":
        yield from _resource_claims(pod)


def _containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def _from_environment(spec: Mapping[str, Any], source: str, key_source: str) -> Iterator[str]:
    for container in _containers(spec):
        for entry in container.get("envFrom") or ():
            yield (entry.get(source) or {}).get("name", "")
        for variable in container.get("env") or ():
            yield ((variable.get("valueFrom") or {}).get(key_source) or {}).get("name", "")


def _secrets(spec: Mapping[str, Any]) -> Iterator[str]:
    for reference in spec.get("imagePullSecrets") or ():
        yield reference.get("name", "")
    yield from _from_environment(spec, "secretRef", "secretKeyRef")
    for volume in spec.get("volumes") or ():
        yield (volume.get("secret") or {}).get("secretName", "")
        yield (volume.get("azureFile") or {}).get("secretName", "")
        yield ((volume.get("csi") or {}).get("nodePublishSecretRef") or {}).get("name", "")
        for source in _SECRET_REF_SOURCES:
            yield ((volume.get(source) or {}).get("secretRef") or {}).get("name", "")
        for projection in (volume.get("projected") or {}).get("sources") or ():
            yield (projection.get("secret") or {}).get("name", "")


def _config_maps(spec: Mapping[str, Any]) -> Iterator[str]:
    yield from _from_environment(spec, "configMapRef", "configMapKeyRef")
    for volume in spec.get("volumes") or ():
        yield (volume.get("configMap") or {}).get("name", "")
        for projection in (volume.get("projected") or {}).get("sources") or ():
            yield (projection.get("configMap") or {}).get("name", "")


def _claims(pod: Object) -> Iterator[str]:
    for volume in pod["spec"].get("volumes") or ():
        claim = volume.get("persistentVolumeClaim")
        if claim is not None:
            yield claim.get("claimName", "")
        elif "ephemeral" in volume:
            yield f"{pod['metadata']['name']}-{volume['name']}"


def _resource_claims(pod: Object) -> Iterator[str]:
    status = pod.get("status") or {}
    made = {one["name"]: one.get("resourceClaimName", "") for one in status.get("resourceClaimStatuses") or ()}
    for claim in pod["spec"].get("resourceClaims") or ():
        yield claim.get("resourceClaimName") or made.get(claim["name"], "")
    yield (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName", "")


def _volume_secrets(volume: Object) -> set[tuple[str, str]]:
    """The Secrets of a PersistentVolume that its kubelet needs; those for controllers are not among them."""
    spec = volume["spec"]
    home = (spec.get("claimRef") or {}).get("namespace", "")
    found = set()
    azure = spec.get("azureFile") or {}
    if azure.get("secretName"):
        found.add((azure.get("secretNamespace") or home, azure["secretName"]))
    references = [(spec.get(source) or {}).get("secretRef") for source in _SECRET_REF_SOURCES]
    references += [(spec.get("csi") or {}).get(field) for field in _NODE_SECRETS_OF_CSI]
    for reference in references:
        if reference and reference.get("name"):
            found.add((reference.get("namespace") or home, reference["name"]))
    return found
