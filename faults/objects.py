"""Builders of the small objects that workloads are made of. A name that ends in `-` lets the api-server complete it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Object = dict[str, Any]

NAMESPACES = "/api/v1/namespaces"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
SERVICE_ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
SERVICES = "/api/v1/namespaces/default/services"
ENDPOINT_SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES = f"{RBAC}/namespaces/default/roles"
ROLE_BINDINGS = f"{RBAC}/namespaces/default/rolebindings"
CUSTOM_RESOURCE_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def metadata(name: str) -> Object:
    return {"generateName": name} if name.endswith("-") else {"name": name}


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name)}


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(name), "data": data}


def service_account(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(name)}


def pod(name: str, *, account: str = "", cpu: str = "", labels: Object | None = None, **spec: Any) -> Object:
    container: Object = {"name": "web", "image": "web:1"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}
    spec = {"containers": [container], "automountServiceAccountToken": False, **spec}
    if account:
        spec["serviceAccountName"] = account
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata(name), "labels": labels or {}}, "spec": spec}


def deployment(name: str, replicas: int = 1) -> Object:
    label = name.rstrip("-")
    template = {
        "metadata": {"labels": {"app": label}},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": label}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(name), "spec": spec}


def role(name: str, verbs: Sequence[str], resources: Sequence[str], group: str = "", cluster: bool = False) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole" if cluster else "Role",
        "metadata": {"name": name},
        "rules": [{"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}],
    }


def binding(name: str, role: str, user: str, cluster: bool = False) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding" if cluster else "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole" if cluster else "Role",
            "name": role,
        },
        "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
    }


def custom_resource_definition(plural: str, kind: str, schema: Object, group: str = "example.com") -> Object:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [version],
        },
    }
