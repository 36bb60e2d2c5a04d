"""The Node authorizer: a kubelet may touch what the pods on its own node need, and nothing else.

It never denies; whatever it has no opinion about may still be allowed by RBAC.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from clusters.emulated.apiserver.authorization.attributes import (
    ALLOWED,
    NO_OPINION,
    Attributes,
    Rules,
    Verdict,
    no_opinion,
)
from clusters.emulated.apiserver.authorization.node_reach import NodeReach
from clusters.emulated.apiserver.authorization.rules import PolicyRule, rule_allows
from clusters.emulated.apiserver.objects import Objects
from clusters.emulated.apiserver.request import UserInfo
from clusters.kube.gostring import quote

NODE_PREFIX = "system:node:"
NODES_GROUP = "system:nodes"
_READ = ("get", "list", "watch")
_OWN = ("get", "create", "update", "patch", "delete")


def node_of(user: UserInfo) -> str | None:
    """The node that a user is; None for everybody else."""
    if not user.name.startswith(NODE_PREFIX) or NODES_GROUP not in user.groups:
        return None
    return user.name[len(NODE_PREFIX) :]


class NodeAuthorizer:
    """`rules` are those of the ClusterRole system:node: they hold for resources without a rule of their own."""

    def __init__(self, objects: Objects, rules: Sequence[PolicyRule]) -> None:
        self._reach = NodeReach(objects)
        self._rules = tuple(rules)
        self._judges: dict[tuple[str, str], Callable[[str, Attributes], Verdict]] = {
            ("", "secrets"): self._read_namespaced,
            ("", "configmaps"): self._read_namespaced,
            ("", "persistentvolumeclaims"): self._claim,
            ("", "persistentvolumes"): self._get,
            ("resource.k8s.io", "resourceclaims"): self._get,
            ("storage.k8s.io", "volumeattachments"): self._get,
            ("", "serviceaccounts"): self._service_account,
            ("coordination.k8s.io", "leases"): _lease,
            ("storage.k8s.io", "csinodes"): _csi_node,
            ("resource.k8s.io", "resourceslices"): self._resource_slice,
            ("", "nodes"): _node,
            ("", "pods"): self._pod,
            ("certificates.k8s.io", "podcertificaterequests"): _nothing,
        }

    def decide(self, attributes: Attributes) -> Verdict:
        node = node_of(attributes.user)
        if node is None:
            return NO_OPINION
        if not node:
            return no_opinion(f"unknown node for user {quote(attributes.user.name)}")
        if attributes.is_resource:
            judge = self._judges.get((attributes.group, attributes.resource))
            if judge is not None:
                return judge(node, attributes)
        if any(rule_allows(rule, attributes) for rule in self._rules):
            return ALLOWED
        return NO_OPINION

    def rules_for(self, user: UserInfo, namespace: str) -> Rules:
        if node_of(user) is None:
            return Rules()
        return Rules(incomplete=True, error="node authorizer does not support user rule resolution")

    def _related(self, node: str, attributes: Attributes) -> Verdict:
        if not attributes.name:
            return no_opinion("No Object name found")
        if self._reach.reaches(node, attributes.resource, attributes.namespace, attributes.name):
            return ALLOWED
        return no_opinion(f"no relationship found between node '{node}' and this object")

    def _read_namespaced(self, node: str, attributes: Attributes) -> Verdict:
        if attributes.verb not in _READ:
            return no_opinion("can only read resources of this type")
        if attributes.subresource:
            return no_opinion("cannot read subresource")
        if not attributes.namespace:
            return no_opinion("can only read namespaced object of this type")
        return self._related(node, attributes)

    def _get(self, node: str, attributes: Attributes) -> Verdict:
        if attributes.verb != "get":
            return no_opinion("can only get individual resources of this type")
        if attributes.subresource:
            return no_opinion("cannot get subresource")
        return self._related(node, attributes)

    def _claim(self, node: str, attributes: Attributes) -> Verdict:
        if attributes.subresource != "status":
            return self._get(node, attributes)
        if attributes.verb not in ("update", "patch"):
            return no_opinion("can only get/update/patch this type")
        return self._related(node, attributes)

    def _service_account(self, node: str, attributes: Attributes) -> Verdict:
        if attributes.verb == "get" and not attributes.subresource:
            return self._read_namespaced(node, attributes)
        if attributes.verb != "create" or not attributes.name:
            return no_opinion("can only create tokens for individual service accounts")
        if attributes.subresource != "token":
            return no_opinion("can only create token subresource of serviceaccount")
        return self._related(node, attributes)

    def _resource_slice(self, node: str, attributes: Attributes) -> Verdict:
        if attributes.subresource:
            return no_opinion("cannot authorize ResourceSlice subresources")
        verb = attributes.verb
        if verb == "create":
            return ALLOWED
        if verb in ("get", "update", "patch", "delete"):
            return self._related(node, attributes)
        if verb in ("watch", "list", "deletecollection"):
            if _selects(attributes, "spec.nodeName", node):
                return ALLOWED
            return no_opinion("can only list/watch/deletecollection resourceslices with nodeName field selector")
        return no_opinion(
            "only the following verbs are allowed for a ResourceSlice: "
            "get, watch, list, create, update, patch, delete, deletecollection"
        )

    def _pod(self, node: str, attributes: Attributes) -> Verdict:
        verb, subresource = attributes.verb, attributes.subresource
        if subresource == "status":
            return ALLOWED if verb in ("update", "patch") else NO_OPINION
        if subresource == "eviction":
            return ALLOWED if verb == "create" else NO_OPINION
        if subresource:
            return NO_OPINION
        if verb == "get":
            return self._get(node, attributes)
        if verb in ("list", "watch"):
            if _selects(attributes, "spec.nodeName", node):
                return ALLOWED
            if attributes.name:
                return self._related(node, attributes)
            return no_opinion("can only list/watch pods with spec.nodeName field selector")
        # What it creates or deletes is looked at by the NodeRestriction admission plugin.
        return ALLOWED if verb in ("create", "delete") else NO_OPINION


def _selects(attributes: Attributes, field: str, value: str) -> bool:
    return any(
        term.field == field and term.operator == "=" and term.value == value for term in attributes.field_terms()
    )


def _lease(node: str, attributes: Attributes) -> Verdict:
    if attributes.verb not in _OWN:
        return no_opinion("can only get, create, update, patch, or delete a node lease")
    if attributes.namespace != "kube-node-lease":
        return no_opinion('can only access leases in the "kube-node-lease" system namespace')
    if attributes.verb != "create" and attributes.name != node:
        return no_opinion("can only access node lease with the same name as the requesting node")
    return ALLOWED


def _csi_node(node: str, attributes: Attributes) -> Verdict:
    if attributes.verb not in _OWN:
        return no_opinion("can only get, create, update, patch, or delete a CSINode")
    if attributes.subresource:
        return no_opinion("cannot authorize CSINode subresources")
    if attributes.verb != "create" and attributes.name != node:
        return no_opinion("can only access CSINode with the same name as the requesting node")
    return ALLOWED


def _node(node: str, attributes: Attributes) -> Verdict:
    verb, name = attributes.verb, attributes.name
    if attributes.subresource == "status":
        return ALLOWED if verb in ("update", "patch") else NO_OPINION
    if attributes.subresource:
        return NO_OPINION
    if verb in ("create", "update", "patch"):
        return ALLOWED
    if verb not in _READ:
        return NO_OPINION
    if name == node:
        return ALLOWED
    what = f"'{name}'" if name else "all nodes"
    return no_opinion(f"node '{node}' cannot read {what}, only its own Node object")


def _nothing(node: str, attributes: Attributes) -> Verdict:
    """PodCertificateRequest is off by default; RBAC may still have an opinion."""
    return NO_OPINION
