"""What `kubeadm init` adds to the api-server's own objects: RBAC for admins, joining nodes and kube-proxy."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from clusters.emulated.apiserver.bootstrap.recorded import NewUid, stamped

Object = dict[str, Any]

_RBAC = "rbac.authorization.k8s.io"
_ADMINS = "kubeadm:cluster-admins"
_JOINING = "system:bootstrappers:kubeadm:default-node-token"
_NODES = "system:nodes"


def kubeadm_objects(server: str, ca_pem: str, now: str, new_uid: NewUid) -> Iterator[tuple[str, Object]]:
    """(resource, object); `server` is the URL that joining nodes use."""

    def made(kind: str, name: str, namespace: str, fields: Object, owned: Object) -> tuple[str, Object]:
        api_version = "v1" if kind == "ConfigMap" else f"{_RBAC}/v1"
        managed = {
            "manager": "kubeadm",
            "operation": "Update",
            "apiVersion": api_version,
            "time": now,
            "fieldsType": "FieldsV1",
            "fieldsV1": owned,
        }
        metadata: Object = {"name": name} | ({"namespace": namespace} if namespace else {})
        metadata = stamped(metadata | {"managedFields": [managed]}, now, new_uid)
        resource = f"{kind.lower()}s" if kind == "ConfigMap" else f"{kind.lower()}s.{_RBAC}"
        return resource, {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}

    def binding(name: str, role: str, *subjects: Object, namespace: str = "") -> tuple[str, Object]:
        role_kind = "Role" if namespace else "ClusterRole"
        fields = {
            "subjects": list(subjects),
            "roleRef": {"apiGroup": _RBAC, "kind": role_kind, "name": role},
        }
        owned: Object = {"f:roleRef": {}, "f:subjects": {}}
        return made("RoleBinding" if namespace else "ClusterRoleBinding", name, namespace, fields, owned)

    def role(name: str, resource: str, namespace: str = "", only: str = "") -> tuple[str, Object]:
        rule: Object = {"verbs": ["get"], "apiGroups": [""], "resources": [resource]}
        if only:
            rule["resourceNames"] = [only]
        kind = "Role" if namespace else "ClusterRole"
        return made(kind, name, namespace, {"rules": [rule]}, {"f:rules": {}})

    joining, nodes = _subject("Group", _JOINING), _subject("Group", _NODES)
    approval = "system:certificates.k8s.io:certificatesigningrequests"
    system, public = "kube-system", "kube-public"
    signer = "kubeadm:bootstrap-signer-clusterinfo"
    proxy: Object = {"kind": "ServiceAccount", "name": "kube-proxy", "namespace": system}

    yield binding(_ADMINS, "cluster-admin", _subject("Group", _ADMINS))
    yield role("kubeadm:get-nodes", "nodes")
    yield binding("kubeadm:get-nodes", "kubeadm:get-nodes", joining)
    yield binding("kubeadm:kubelet-bootstrap", "system:node-bootstrapper", joining)
    yield binding("kubeadm:node-autoapprove-bootstrap", f"{approval}:nodeclient", joining)
    yield binding("kubeadm:node-autoapprove-certificate-rotation", f"{approval}:selfnodeclient", nodes)
    yield binding(
        "kubeadm:apiserver-kubelet-client",
        "system:kubelet-api-admin",
        _subject("User", "kube-apiserver-kubelet-client"),
    )
    yield binding("kubeadm:node-proxier", "system:node-proxier", proxy)
    yield role("kubeadm:nodes-kubeadm-config", "configmaps", system, "kubeadm-config")
    yield binding("kubeadm:nodes-kubeadm-config", "kubeadm:nodes-kubeadm-config", joining, nodes, namespace=system)
    yield role("kubeadm:kubelet-config", "configmaps", system, "kubelet-config")
    yield binding("kubeadm:kubelet-config", "kubeadm:kubelet-config", nodes, joining, namespace=system)
    yield role("kube-proxy", "configmaps", system, "kube-proxy")
    yield binding("kube-proxy", "kube-proxy", joining, namespace=system)
    yield role(signer, "configmaps", public, "cluster-info")
    yield binding(signer, signer, _subject("User", "system:anonymous"), namespace=public)
    data = {"kubeconfig": _cluster_info(server, ca_pem)}
    yield made("ConfigMap", "cluster-info", public, {"data": data}, {"f:data": {".": {}, "f:kubeconfig": {}}})


def _subject(kind: str, name: str) -> Object:
    return {"kind": kind, "apiGroup": _RBAC, "name": name}


def _cluster_info(server: str, ca_pem: str) -> str:
    """A kubeconfig with a cluster and nobody in it."""
    authority = base64.b64encode(ca_pem.encode()).decode()
    return (
        "apiVersion: v1\n"
        "clusters:\n"
        "- cluster:\n"
        f"    certificate-authority-data: {authority}\n"
        f"    server: {server}\n"
        '  name: ""\n'
        "contexts: null\n"
        'current-context: ""\n'
        "kind: Config\n"
        "preferences: {}\n"
        "users: null\n"
    )
