"""How much of a node a Pod asks for, as whole numbers: milli-CPU, bytes, counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clusters.kube import quantity

Object = dict[str, Any]
Amounts = dict[str, int]

# What a container without a request is counted as when nodes are compared (never when they are filtered).
DEFAULT_CPU_MILLI = 100
DEFAULT_MEMORY_BYTES = 200 * 1024 * 1024

_POD_LEVEL = frozenset({"cpu", "memory"})


@dataclass(slots=True)
class Request:
    """`scalar` holds extended resources and huge pages. `nonzero_*` count the defaults above."""

    cpu_milli: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    scalar: Amounts = field(default_factory=dict)
    nonzero_cpu_milli: int = 0
    nonzero_memory: int = 0

    @property
    def asks_nothing(self) -> bool:
        return not (self.cpu_milli or self.memory or self.ephemeral_storage or self.scalar)


def amount(name: str, text: object) -> int:
    """CPU in milli-units, everything else in units, rounded up."""
    parsed = quantity.parse(str(text))
    return parsed.milli_value() if name == "cpu" else parsed.value()


def amounts(resource_list: Mapping[str, object] | None) -> Amounts:
    if not resource_list:
        return {}
    return {name: amount(name, text) for name, text in resource_list.items()}


def is_scalar(name: str) -> bool:
    """Extended resources (`vendor.example/gpu`), prefixed native ones, huge pages and attach limits."""
    return "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))


def pod_request(pod: Object) -> Request:
    """What the Pod takes from its node: containers together, or its greediest init step, plus overhead."""
    spec = pod["spec"]
    if _is_plain(spec, pod):
        return _plain_request(spec["containers"])
    total = _pod_amounts(pod, None)
    nonzero = _pod_amounts(pod, {"cpu": DEFAULT_CPU_MILLI, "memory": DEFAULT_MEMORY_BYTES})
    return Request(
        total.get("cpu", 0),
        total.get("memory", 0),
        total.get("ephemeral-storage", 0),
        {name: number for name, number in total.items() if is_scalar(name)},
        nonzero.get("cpu", 0),
        nonzero.get("memory", 0),
    )


def _is_plain(spec: Object, pod: Object) -> bool:
    if spec.get("initContainers") or spec.get("overhead") or spec.get("resources"):
        return False
    return not (pod.get("status") or {}).get("containerStatuses")


def _plain_request(containers: list[Object]) -> Request:
    """The common Pod, without init containers, overhead or a resize under way, without intermediate dicts."""
    request = Request()
    for container in containers:
        requests = (container.get("resources") or {}).get("requests")
        if not requests:
            request.nonzero_cpu_milli += DEFAULT_CPU_MILLI
            request.nonzero_memory += DEFAULT_MEMORY_BYTES
            continue
        for name, text in requests.items():
            number = amount(name, text)
            if name == "cpu":
                request.cpu_milli += number
                request.nonzero_cpu_milli += number
            elif name == "memory":
                request.memory += number
                request.nonzero_memory += number
            elif name == "ephemeral-storage":
                request.ephemeral_storage += number
            elif is_scalar(name):
                request.scalar[name] = request.scalar.get(name, 0) + number
        if "cpu" not in requests:
            request.nonzero_cpu_milli += DEFAULT_CPU_MILLI
        if "memory" not in requests:
            request.nonzero_memory += DEFAULT_MEMORY_BYTES
    return request


def _pod_amounts(pod: Object, missing: Amounts | None) -> Amounts:
    spec = pod["spec"]
    total = _container_amounts(pod, missing)
    pod_level = (spec.get("resources") or {}).get("requests") or {}
    resized = (pod.get("status") or {}).get("resources")
    for name, text in pod_level.items():
        if name in _POD_LEVEL or name.startswith("hugepages-"):
            total[name] = amount(name, text)
            if resized is not None:
                allocated = (pod.get("status") or {}).get("allocatedResources")
                total[name] = _effective(pod, pod_level, resized.get("requests"), allocated).get(name, 0)
    _add(total, amounts(spec.get("overhead")))
    return total


def _container_amounts(pod: Object, missing: Amounts | None) -> Amounts:
    spec, status = pod["spec"], pod.get("status") or {}
    statuses = {
        one["name"]: one
        for one in (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
    }
    total: Amounts = {}
    for container in spec["containers"]:
        _add(total, _requests_of(pod, container, statuses.get(container["name"]), missing))
    sidecars: Amounts = {}
    largest_init: Amounts = {}
    for container in spec.get("initContainers") or ():
        sidecar = container.get("restartPolicy") == "Always"
        running = statuses.get(container["name"]) if sidecar else None
        wanted = _requests_of(pod, container, running, missing)
        if sidecar:
            _add(total, wanted)
            _add(sidecars, wanted)
            step = sidecars
        else:
            step = dict(wanted)
            _add(step, sidecars)
        _raise_to(largest_init, step)
    _raise_to(total, largest_init)
    return total


def _requests_of(pod: Object, container: Object, status: Object | None, missing: Amounts | None) -> Amounts:
    requests = (container.get("resources") or {}).get("requests")
    if status is not None and status.get("resources") is not None:
        wanted = _effective(pod, requests, status["resources"].get("requests"), status.get("allocatedResources"))
    else:
        wanted = amounts(requests)
    if missing:
        wanted = {**missing, **wanted}
    return wanted


def _effective(pod: Object, spec: Any, actuated: Any, allocated: Any) -> Amounts:
    """During an in-place resize the largest of what is asked, allocated and in force counts."""
    largest: Amounts = {} if _resize_is_infeasible(pod) else amounts(spec)
    _raise_to(largest, amounts(actuated))
    _raise_to(largest, amounts(allocated))
    return largest


def _resize_is_infeasible(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "PodResizePending" and one.get("reason") == "Infeasible" for one in conditions)


def _add(total: Amounts, more: Amounts) -> None:
    for name, number in more.items():
        total[name] = total.get(name, 0) + number


def _raise_to(total: Amounts, other: Amounts) -> None:
    for name, number in other.items():
        if name not in total or number > total[name]:
            total[name] = number
