"""How a kubelet's messages name Pods."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def describe(pod: Object) -> str:
    """`name_namespace(uid)`."""
    metadata = pod["metadata"]
    return f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"


def container_field(pod: Object, name: str) -> str:
    """`spec.containers{web}`: which part of the Pod an event is about."""
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for container in pod["spec"].get(kind) or ():
            if container["name"] == name:
                return f"spec.{kind}{{{name}}}"
    return ""


def container_spec(pod: Object, name: str) -> Object | None:
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for container in pod["spec"].get(kind) or ():
            if container["name"] == name:
                found: Object = container
                return found
    return None
