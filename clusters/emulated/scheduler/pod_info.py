"""A Pod as the scheduler reads it: once, with everything the plugins ask for ready."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.scheduler import affinity_terms
from clusters.emulated.scheduler.affinity_terms import AffinityTerms
from clusters.emulated.scheduler.resource_requests import Request, pod_request
from clusters.kube.selectors import SelectorError

Object = dict[str, Any]
# Host IP, protocol, port.
HostPort = tuple[str, str, int]

ANY_IP = "0.0.0.0"


class PodInfo:
    """Read-only. `problem` says why the affinity could not be read (then `affinity` is empty)."""

    __slots__ = (
        "affinity",
        "claim_keys",
        "has_affinity",
        "host_ports",
        "key",
        "labels",
        "name",
        "namespace",
        "pod",
        "priority",
        "problem",
        "request",
        "spec",
        "terminating",
        "tolerations",
        "uid",
        "volumes",
    )

    def __init__(self, pod: Object) -> None:
        metadata, spec = pod["metadata"], pod["spec"]
        self.pod = pod
        self.spec: Object = spec
        self.name: str = metadata["name"]
        self.namespace: str = metadata["namespace"]
        self.key = f"{self.namespace}/{self.name}"
        self.uid: str = metadata["uid"]
        self.labels: Mapping[str, str] = metadata.get("labels") or {}
        self.terminating = "deletionTimestamp" in metadata
        self.priority: int = spec.get("priority") or 0
        self.tolerations: Sequence[Object] = spec.get("tolerations") or ()
        self.volumes: Sequence[Object] = spec.get("volumes") or ()
        self.request: Request = pod_request(pod)
        self.host_ports: tuple[HostPort, ...] = _host_ports(spec)
        self.claim_keys: tuple[str, ...] = tuple(
            f"{self.namespace}/{volume['persistentVolumeClaim']['claimName']}"
            for volume in self.volumes
            if volume.get("persistentVolumeClaim")
        )
        self.problem = ""
        self.affinity: AffinityTerms = affinity_terms.NONE
        affinity = spec.get("affinity")
        self.has_affinity = bool(affinity and (affinity.get("podAffinity") or affinity.get("podAntiAffinity")))
        if self.has_affinity:
            try:
                self.affinity = affinity_terms.read(pod)
            except SelectorError as unreadable:
                self.problem = str(unreadable)

    @property
    def node_name(self) -> str:
        return self.spec.get("nodeName") or ""

    @property
    def nominated_node_name(self) -> str:
        return (self.pod.get("status") or {}).get("nominatedNodeName") or ""

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"


def _host_ports(spec: Object) -> tuple[HostPort, ...]:
    """Ports on the node's own addresses; init containers count only if they keep running."""
    found: list[HostPort] = []
    for container in spec["containers"]:
        if container.get("ports"):
            found += _ports_of(container)
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always" and container.get("ports"):
            found += _ports_of(container)
    return tuple(found)


def _ports_of(container: Object) -> list[HostPort]:
    return [
        (port.get("hostIP") or ANY_IP, port.get("protocol") or "TCP", port["hostPort"])
        for port in container["ports"]
        if port.get("hostPort")
    ]
