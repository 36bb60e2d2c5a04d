"""What a kubelet says of its node: capacity, conditions, addresses, system information. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.kubelet.image_store import StoredImage
from clusters.emulated.kubelet.machine import Machine, NodeOptions
from clusters.kube.quantity import parse

Object = dict[str, Any]

IMAGES_MAX: Final = 50
_EVICTION_MEMORY_KI: Final = 100 * 1024

#: type, when False: reason and message, when True: reason and message, events when False and True
_PRESSURES: Final = (
    ("MemoryPressure", "memory", "KubeletHasSufficientMemory", "kubelet has sufficient memory available",
     "KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
    ("DiskPressure", "disk", "KubeletHasNoDiskPressure", "kubelet has no disk pressure",
     "KubeletHasDiskPressure", "kubelet has disk pressure"),
    ("PIDPressure", "pid", "KubeletHasSufficientPID", "kubelet has sufficient PID available",
     "KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
)  # fmt: skip
#: The event for each condition's change, by type and status.
EVENTS: Final = {
    ("MemoryPressure", "False"): "NodeHasSufficientMemory",
    ("MemoryPressure", "True"): "NodeHasInsufficientMemory",
    ("DiskPressure", "False"): "NodeHasNoDiskPressure",
    ("DiskPressure", "True"): "NodeHasDiskPressure",
    ("PIDPressure", "False"): "NodeHasSufficientPID",
    ("PIDPressure", "True"): "NodeHasInsufficientPID",
    ("Ready", "True"): "NodeReady",
    ("Ready", "False"): "NodeNotReady",
}


@dataclass(frozen=True, slots=True)
class NodeHealth:
    pressures: frozenset[str] = frozenset()
    #: Why the node is not ready; empty when it is.
    errors: tuple[str, ...] = ()


def labels(options: NodeOptions) -> dict[str, str]:
    return {
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": options.name,
        "kubernetes.io/os": "linux",
        **options.labels,
    }


def node_object(options: NodeOptions, machine: Machine, health: NodeHealth, now_s: float) -> Object:
    node: Object = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": options.name,
            "labels": labels(options),
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": {},
        "status": {**node_status(options, machine), "conditions": node_conditions(now_s, health)},
    }
    if options.taints:
        node["spec"]["taints"] = [dict(taint) for taint in options.taints]
    return node


def node_status(options: NodeOptions, machine: Machine) -> Object:
    """Allocatable is less than capacity by what is kept back for evictions: 100 MiB, and a tenth of the disk."""
    fixed = {"cpu": options.cpu, "hugepages-1Gi": "0", "hugepages-2Mi": "0", "pods": str(options.pods)}
    memory_ki = parse(options.memory).value() // 1024
    disk = parse(options.ephemeral_storage).value()
    status: Object = {
        "capacity": {**fixed, "ephemeral-storage": options.ephemeral_storage, "memory": options.memory},
        "allocatable": {
            **fixed,
            "ephemeral-storage": str(disk * 9 // 10),
            "memory": f"{max(memory_ki - _EVICTION_MEMORY_KI, 0)}Ki",
        },
        "addresses": [
            {"type": "InternalIP", "address": options.internal_ip},
            {"type": "Hostname", "address": options.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": machine.machine_id,
            "systemUUID": machine.machine_id,
            "bootID": machine.boot_id,
            "kernelVersion": "6.12.0",
            "osImage": "Kaput (emulated)",
            "containerRuntimeVersion": "containerd://2.1.0",
            "kubeletVersion": options.kubelet_version,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
        "runtimeHandlers": [{"name": "", "features": {"recursiveReadOnlyMounts": False, "userNamespaces": False}}],
        "features": {"supplementalGroupsPolicy": True},
    }
    images = node_images(machine.images)
    if images:
        status["images"] = images
    return status


def node_images(images: Iterable[StoredImage]) -> list[Object]:
    """The largest first, at most fifty."""
    shown = [
        {
            "names": [stored.shown]
            if stored.preloaded
            else [f"{stored.name.repository}@{stored.image.digest}", stored.shown],
            "sizeBytes": stored.image.size,
        }
        for stored in images
    ]
    return sorted(shown, key=lambda image: -int(str(image["sizeBytes"])))[:IMAGES_MAX]


def node_conditions(now_s: float, health: NodeHealth, known: Sequence[Object] = ()) -> list[Object]:
    """A condition that stays as it is keeps its transition time. Others' conditions stay in front."""
    now = rfc3339(now_s)
    since = {(each["type"], each["status"]): each.get("lastTransitionTime", now) for each in known}
    said: list[tuple[str, str, str, str]] = []
    for kind, pressure, good, good_text, bad, bad_text in _PRESSURES:
        felt = pressure in health.pressures
        said.append((kind, "True" if felt else "False", bad if felt else good, bad_text if felt else good_text))
    if health.errors:
        text = health.errors[0] if len(health.errors) == 1 else f"[{', '.join(health.errors)}]"
        said.append(("Ready", "False", "KubeletNotReady", text))
    else:
        said.append(("Ready", "True", "KubeletReady", "kubelet is posting ready status"))
    return [
        {
            "type": kind,
            "status": status,
            "lastHeartbeatTime": now,
            "lastTransitionTime": since.get((kind, status), now),
            "reason": reason,
            "message": message,
        }
        for kind, status, reason, message in said
    ]
