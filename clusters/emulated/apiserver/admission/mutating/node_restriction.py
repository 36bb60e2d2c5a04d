"""NodeRestriction: a kubelet changes its own Node and the pods bound to it, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.authorizing import Authorize
from clusters.emulated.apiserver.admission.certificate_requests import CsrError, subject_of
from clusters.emulated.apiserver.admission.denial import forbidden
from clusters.emulated.apiserver.admission.mutating.node_tokens import judge_token_request
from clusters.emulated.apiserver.admission.pod_references import UnknownReferenceError, api_objects
from clusters.emulated.apiserver.objects import Object, Objects
from clusters.kube import errors
from clusters.kube.gostring import quote

_PREFIX = "system:node:"
_MIRROR = "kubernetes.io/config.mirror"
_KUBELET_SIGNERS = frozenset(("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"))
_KUBELET_LABELS = frozenset(
    (
        "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type",
        "kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
    )
)  # fmt: skip
_KUBELET_LABEL_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
# What a kubelet may write of a claim's status after it expanded the volume.
_CLAIM_STATUS_OF_NODE = frozenset(("capacity", "conditions", "allocatedResources", "allocatedResourceStatuses"))


def node_name_of(user_name: str, groups: Iterable[str]) -> str | None:
    """The node that this user is; None when it is no node at all."""
    if not user_name.startswith(_PREFIX) or "system:nodes" not in groups:
        return None
    return user_name[len(_PREFIX) :]


class NodeRestriction(AdmissionPlugin):
    name = "NodeRestriction"
    operations = frozenset(("CREATE", "UPDATE", "DELETE"))
    resources = frozenset(
        (
            "pods", "nodes", "persistentvolumeclaims", "serviceaccounts",
            "podcertificaterequests.certificates.k8s.io", "leases.coordination.k8s.io",
            "csinodes.storage.k8s.io", "resourceslices.resource.k8s.io",
            "certificatesigningrequests.certificates.k8s.io",
        )
    )  # fmt: skip

    def __init__(self, objects: Objects, authorize: Authorize) -> None:
        self._objects = objects
        self._authorize = authorize

    async def admit(self, attributes: Attributes) -> None:
        user = attributes.user
        node = node_name_of(user.name, user.groups)
        if node is None:
            return
        if not node:
            raise forbidden(attributes, f"could not determine node from user {quote(user.name)}")
        resource = attributes.resource
        if resource == "pods":
            self._admit_pod(node, attributes)
        elif resource == "nodes":
            _admit_node(node, attributes)
        elif resource == "persistentvolumeclaims":
            _admit_claim_status(node, attributes)
        elif resource == "serviceaccounts":
            if attributes.operation == "CREATE" and attributes.subresource == "token":
                await judge_token_request(self._objects, self._authorize, node, attributes)
        elif resource == "leases":
            if attributes.namespace != "kube-node-lease":
                raise forbidden(attributes, 'can only access leases in the "kube-node-lease" system namespace')
            _same_name(node, attributes, "node lease")
        elif resource == "csinodes":
            _same_name(node, attributes, "CSINode")
        elif resource == "resourceslices":
            _admit_slice(node, attributes)
        elif resource == "certificatesigningrequests":
            _admit_certificate_request(node, attributes)
        else:
            raise forbidden(attributes, "PodCertificateRequest feature gate is disabled")

    def _admit_pod(self, node: str, attributes: Attributes) -> None:
        subresource, operation = attributes.subresource, attributes.operation
        if subresource == "status":
            if operation != "UPDATE":
                raise forbidden(attributes, f"unexpected operation {quote(operation)}")
            _admit_pod_status(node, attributes)
        elif subresource == "eviction":
            if operation != "CREATE":
                raise forbidden(attributes, f"unexpected operation {operation}")
            self._admit_eviction(node, attributes)
        elif subresource:
            only = "only 'status' and 'eviction' are allowed"
            raise forbidden(attributes, f"unexpected pod subresource {quote(subresource)}, {only}")
        elif operation == "CREATE":
            self._admit_mirror_pod(node, attributes)
        elif operation == "DELETE":
            if _node_of(self._existing_pod(attributes, attributes.name)) != node:
                why = f"node {quote(node)} can only delete pods with spec.nodeName set to itself"
                raise forbidden(attributes, why)
        else:
            only = f"node {quote(node)} can only create and delete mirror pods"
            raise forbidden(attributes, f"unexpected operation {quote(operation)}, {only}")

    def _existing_pod(self, attributes: Attributes, name: str) -> Object:
        pod = self._objects.get("pods", attributes.namespace, name)
        if pod is None:
            raise errors.not_found("pod", name)
        return pod

    def _admit_eviction(self, node: str, attributes: Attributes) -> None:
        name = attributes.name or ((attributes.object or {}).get("metadata") or {}).get("name", "")
        if not name:
            raise forbidden(attributes, "could not determine pod from request data")
        if _node_of(self._existing_pod(attributes, name)) != node:
            why = f"node {node} can only evict pods with spec.nodeName set to itself"
            raise forbidden(attributes, why)

    def _admit_mirror_pod(self, node: str, attributes: Attributes) -> None:
        pod = attributes.object or {}
        metadata = pod.get("metadata") or {}
        who = f"node {quote(node)}"
        if _MIRROR not in (metadata.get("annotations") or ()):
            why = f'pod does not have "{_MIRROR}" annotation, {who} can only create mirror pods'
            raise forbidden(attributes, why)
        if _node_of(pod) != node:
            raise forbidden(attributes, f"{who} can only create pods with spec.nodeName set to itself")
        self._judge_owner(node, attributes, metadata.get("ownerReferences") or [])
        try:
            referred = api_objects(pod.get("spec") or {})
        except UnknownReferenceError as unknown:
            raise forbidden(attributes, f"error checking mirror pod for API references: {unknown}") from unknown
        if referred:
            raise forbidden(attributes, f"{who} can not create pods that reference {referred}")

    def _judge_owner(self, node: str, attributes: Attributes, owners: list[Object]) -> None:
        who = f"node {quote(node)}"
        if len(owners) > 1:
            why = f"{who} can only create pods with a single owner reference set to itself"
            raise forbidden(attributes, why)
        owner = owners[0] if owners else {}
        if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
            why = f"{who} can only create pods with an owner reference set to itself"
            raise forbidden(attributes, why)
        if not owner.get("controller"):
            why = f"{who} can only create pods with a controller owner reference set to itself"
            raise forbidden(attributes, why)
        if owner.get("blockOwnerDeletion"):
            raise forbidden(attributes, f"{who} must not set blockOwnerDeletion on an owner reference")
        found = self._objects.get("nodes", "", node)
        if found is None:
            raise errors.not_found("node", node)
        uid = found["metadata"].get("uid", "")
        if owner.get("uid", "") != uid:
            why = f"node {node} UID mismatch: expected {owner.get('uid', '')} got {uid}"
            raise forbidden(attributes, why)


def _node_of(pod: Mapping[str, Any]) -> str:
    name: str = (pod.get("spec") or {}).get("nodeName", "")
    return name


def _admit_pod_status(node: str, attributes: Attributes) -> None:
    old, new = attributes.old_object or {}, attributes.object or {}
    who = f"node {quote(node)}"
    if _node_of(old) != node:
        why = f"{who} can only update pod status for pods with spec.nodeName set to itself"
        raise forbidden(attributes, why)
    if (old["metadata"].get("labels") or {}) != (new["metadata"].get("labels") or {}):
        raise forbidden(attributes, f"{who} cannot update labels through pod status")
    old_status, new_status = old.get("status") or {}, new.get("status") or {}
    if (old_status.get("resourceClaimStatuses") or []) != (new_status.get("resourceClaimStatuses") or []):
        raise forbidden(attributes, f"{who} cannot update resource claim statues")
    if old_status.get("extendedResourceClaimStatus") != new_status.get("extendedResourceClaimStatus"):
        raise forbidden(attributes, f"{who} cannot update extended resource claim status")


def _admit_node(node: str, attributes: Attributes) -> None:
    name = attributes.name
    if not name and attributes.object is not None:
        name = (attributes.object.get("metadata") or {}).get("name", "")
    who = f"node {quote(node)}"
    if name != node:
        raise forbidden(attributes, f"{who} is not allowed to modify node {quote(name)}")
    if attributes.operation not in ("CREATE", "UPDATE"):
        return
    new = attributes.object or {}
    spec, metadata = new.get("spec") or {}, new.get("metadata") or {}
    labels = metadata.get("labels") or {}
    if attributes.operation == "CREATE":
        if spec.get("configSource") is not None:
            raise forbidden(attributes, f"{who} is not allowed to create pods with a non-nil configSource")
        wrong = _forbidden_labels(labels, {})
        if wrong:
            why = f"{who} is not allowed to set the following labels: {', '.join(wrong)}"
            raise forbidden(attributes, why)
        return
    old = attributes.old_object or {}
    old_spec, old_metadata = old.get("spec") or {}, old.get("metadata") or {}
    source = spec.get("configSource")
    if source is not None and source != old_spec.get("configSource"):
        why = f"{who} is not allowed to update configSource to a new non-nil configSource"
        raise forbidden(attributes, why)
    if (spec.get("taints") or []) != (old_spec.get("taints") or []):
        raise forbidden(attributes, f"{who} is not allowed to modify taints")
    if (metadata.get("ownerReferences") or []) != (old_metadata.get("ownerReferences") or []):
        raise forbidden(attributes, f"{who} is not allowed to modify ownerReferences")
    wrong = _forbidden_labels(labels, old_metadata.get("labels") or {})
    if wrong:
        raise forbidden(attributes, f"is not allowed to modify labels: {', '.join(wrong)}")


def _below(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith("." + parent)


def _forbidden_labels(new: Mapping[str, str], old: Mapping[str, str]) -> list[str]:
    wrong = []
    for label in new.keys() | old.keys():
        if label in new and label in old and new[label] == old[label]:
            continue
        domain, slash, _ = label.partition("/")
        if not slash:
            continue
        if _below(domain, "node-restriction.kubernetes.io") or (
            (_below(domain, "kubernetes.io") or _below(domain, "k8s.io"))
            and label not in _KUBELET_LABELS
            and not any(_below(domain, allowed) for allowed in _KUBELET_LABEL_DOMAINS)
        ):
            wrong.append(label)
    return sorted(wrong)


def _admit_claim_status(node: str, attributes: Attributes) -> None:
    if attributes.subresource != "status":
        raise forbidden(attributes, "may only update PVC status")
    if attributes.operation != "UPDATE":
        raise forbidden(attributes, f"unexpected operation {quote(attributes.operation)}")
    old, new = (_beyond_expansion(each or {}) for each in (attributes.old_object, attributes.object))
    if old != new:
        changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
        why = (
            f"node {quote(node)} is not allowed to update fields other than status.quantity and "
            f"status.conditions: {', '.join(changed)}"
        )
        raise forbidden(attributes, why)


def _beyond_expansion(claim: Mapping[str, Any]) -> Object:
    rest = dict(claim)
    metadata = rest.get("metadata") or {}
    rest["metadata"] = {name: metadata[name] for name in metadata if name not in ("resourceVersion", "managedFields")}
    status = rest.get("status") or {}
    rest["status"] = {name: status[name] for name in status if name not in _CLAIM_STATUS_OF_NODE}
    return rest


def _same_name(node: str, attributes: Attributes, kind: str) -> None:
    name = attributes.name
    if attributes.operation == "CREATE":
        name = ((attributes.object or {}).get("metadata") or {}).get("name", "")
    if name != node:
        raise forbidden(attributes, f"can only access {kind} with the same name as the requesting node")


def _admit_slice(node: str, attributes: Attributes) -> None:
    if attributes.operation == "UPDATE":
        return
    found = attributes.object if attributes.operation == "CREATE" else attributes.old_object
    if ((found or {}).get("spec") or {}).get("nodeName") != node:
        verb = attributes.operation.lower()
        why = f"can only {verb} ResourceSlice with the same NodeName as the requesting node"
        raise forbidden(attributes, why)


def _admit_certificate_request(node: str, attributes: Attributes) -> None:
    if attributes.operation != "CREATE":
        return
    spec = (attributes.object or {}).get("spec") or {}
    if spec.get("signerName") not in _KUBELET_SIGNERS:
        return
    try:
        subject = subject_of(spec.get("request", ""))
    except CsrError as error:
        raise forbidden(attributes, f"unable to parse csr: {error}") from error
    if subject.common_name != f"system:node:{node}":
        raise forbidden(attributes, f"can only create a node CSR with CN=system:node:{node}")
