"""Resource amounts of Pods as statuses show them, and their quality of service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from clusters.emulated.kubelet.restarts import is_sidecar
from clusters.kube.quantity import Quantity, parse

Object = dict[str, Any]
Amounts = dict[str, Quantity]

#: What a cgroup without a limit says, rounded as the kernel does.
UNLIMITED_MEMORY: Final = "9007199254740988Ki"


def amounts(given: Mapping[str, object] | None) -> Amounts:
    return {name: parse(str(value)) for name, value in (given or {}).items()}


def pod_amounts(pod: Object, kind: str) -> Amounts:
    """The `requests` or `limits` of the whole Pod: containers and sidecars together, or the greatest init container."""
    spec = pod["spec"]
    total: Amounts = {}
    for container in spec["containers"]:
        _add(total, _of(container, kind))
    sidecars: Amounts = {}
    greatest: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _of(container, kind)
        if is_sidecar(container):
            _add(total, own)
            _add(sidecars, own)
            own = dict(sidecars)
        else:
            own = dict(own)
            _add(own, sidecars)
        _raise_to(greatest, own)
    _raise_to(total, greatest)
    for name, value in amounts((spec.get("resources") or {}).get(kind)).items():
        total[name] = value
    overhead = amounts(spec.get("overhead"))
    for name, value in overhead.items():
        if kind == "requests" or name in total:
            total[name] = total[name] + value if name in total else value
    return total


def shown(total: Amounts) -> dict[str, str]:
    return {name: str(value) for name, value in total.items()}


def pod_resources(pod: Object, running: bool) -> Object:
    """status.resources of a Pod; `running` is the phase that the api-server knows of."""
    requests, limits = shown(pod_amounts(pod, "requests")), shown(pod_amounts(pod, "limits"))
    if running:
        cgroup = {"cpu", "memory"}
        declared = (pod["spec"].get("resources") or {}).get("requests") or {}
        requests = {name: value for name, value in requests.items() if name in cgroup or name in declared}
        everywhere = all(
            "memory" in ((each.get("resources") or {}).get("limits") or {}) for each in pod["spec"]["containers"]
        )
        memory = limits.get("memory") if everywhere else None
        limits = {name: value for name, value in limits.items() if name == "cpu"}
        limits["memory"] = memory or UNLIMITED_MEMORY
    found: Object = {}
    if limits:
        found["limits"] = limits
    if requests:
        found["requests"] = requests
    return found


def qos_class(pod: Object) -> str:
    known: str | None = (pod.get("status") or {}).get("qosClass")
    if known:
        return known
    requests: set[str] = set()
    guaranteed = True
    for container in [*pod["spec"]["containers"], *(pod["spec"].get("initContainers") or ())]:
        resources = container.get("resources") or {}
        asked, limited = amounts(resources.get("requests")), amounts(resources.get("limits"))
        for name in ("cpu", "memory"):
            if asked.get(name) or limited.get(name):
                requests.add(name)
            if not limited.get(name) or (name in asked and asked[name] != limited[name]):
                guaranteed = False
    if not requests:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def memory_limit(container: Object) -> int:
    value = ((container.get("resources") or {}).get("limits") or {}).get("memory")
    return parse(str(value)).value() if value is not None else 0


def _of(container: Object, kind: str) -> Amounts:
    return amounts((container.get("resources") or {}).get(kind))


def _add(total: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        total[name] = total[name] + value if name in total else value


def _raise_to(total: Amounts, other: Amounts) -> None:
    for name, value in other.items():
        if name not in total or total[name] < value:
            total[name] = value
