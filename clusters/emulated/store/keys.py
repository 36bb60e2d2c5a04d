"""Where the api-server keeps an object: the layout below `/registry` that a real one uses.

Built-in resources are stored by their resource name alone, whatever their group (`/registry/deployments/…`),
except a few that still have the name they began with (nodes are minions). Resources served by the
aggregator and the CRD server, and all custom resources, have their group in the key.
"""

from __future__ import annotations

from typing import Final

ROOT: Final = "/registry"

# The names under which Kubernetes has stored these from its beginnings, and cannot change any more.
SPECIAL_RESOURCE_PREFIXES: Final[dict[tuple[str, str], str]] = {
    ("", "replicationcontrollers"): "controllers",
    ("", "endpoints"): "services/endpoints",
    ("", "nodes"): "minions",
    ("", "services"): "services/specs",
    ("networking.k8s.io", "ingresses"): "ingress",
    ("extensions", "ingresses"): "ingress",
}

# Groups that live in a server of their own inside kube-apiserver, whose storage puts the group first.
GROUPS_IN_KEY: Final = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})

# Allocators keep one object each, outside any resource.
SERVICE_NODE_PORTS: Final = f"{ROOT}/ranges/servicenodeports"
SERVICE_IPS: Final = f"{ROOT}/ranges/serviceips"


def resource_prefix(group: str, resource: str, *, custom: bool = False) -> str:
    """Where all objects of a resource are, e.g. `/registry/minions/`; `custom` for resources of a CRD.

    events.k8s.io/events are the same stored objects as core events.
    """
    if custom or group in GROUPS_IN_KEY:
        return f"{ROOT}/{group}/{resource}/"
    return f"{ROOT}/{SPECIAL_RESOURCE_PREFIXES.get((group, resource), resource.lower())}/"


def object_key(prefix: str, namespace: str, name: str) -> str:
    """The key of one object; a cluster-scoped one has the empty namespace."""
    return f"{prefix}{namespace}/{name}" if namespace else prefix + name


def namespace_prefix(prefix: str, namespace: str) -> str:
    """Where the objects of one namespace are; all of them for the empty namespace."""
    return f"{prefix}{namespace}/" if namespace else prefix
