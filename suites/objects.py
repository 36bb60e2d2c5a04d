"""Small builders of the objects that several suites send."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
#: Nothing listens on port 1 of loopback: connecting is refused at once, as by a webhook whose Pods are gone.
NOBODY_LISTENS = "https://127.0.0.1:1/admit"


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def service_account(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}


def role(name: str, verbs: list[str], resources: list[str], *, group: str = "") -> Object:
    rules = [{"apiGroups": [group], "resources": resources, "verbs": verbs}]
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": name},
        "rules": rules,
    }


def role_binding(name: str, role: str, user: str) -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
        "subjects": [{"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}],
    }


def webhook_configuration(kind: str, *, failure_policy: str, resource: str, url: str = NOBODY_LISTENS) -> Object:
    webhook = {
        "name": "policy.example.com",
        "clientConfig": {"url": url},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}],
        "failurePolicy": failure_policy,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "policy"},
        "webhooks": [webhook],
    }
