"""What a pod asks for in all: containers summed, init containers as a floor, sidecars on top of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from clusters.kube import quantity
from clusters.kube.quantity import Quantity

ResourceList = dict[str, Quantity]
_POD_LEVEL_EXACT = frozenset(("cpu", "memory"))


def parsed(resources: Mapping[str, Any] | None) -> ResourceList:
    """Quantities of a ResourceList in the object."""
    return {name: quantity.parse(str(text)) for name, text in resources.items()} if resources else {}


def add(total: ResourceList, more: ResourceList) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def raise_to(total: ResourceList, floor: ResourceList) -> None:
    for name, amount in floor.items():
        if name not in total or amount > total[name]:
            total[name] = amount


def of_containers(spec: Mapping[str, Any], part: Literal["requests", "limits"]) -> ResourceList:
    """The sum over containers and sidecars, at least what any init container needs while it runs."""
    total: ResourceList = {}
    for container in spec.get("containers") or ():
        add(total, parsed((container.get("resources") or {}).get(part)))
    sidecars: ResourceList = {}
    floor: ResourceList = {}
    for container in spec.get("initContainers") or ():
        wanted = parsed((container.get("resources") or {}).get(part))
        if container.get("restartPolicy") == "Always":
            add(total, wanted)
            add(sidecars, wanted)
            wanted = dict(sidecars)
        else:
            add(wanted, sidecars)
        raise_to(floor, wanted)
    raise_to(total, floor)
    return total


def is_pod_level(name: str) -> bool:
    """Resources that `spec.resources` may set for the pod as a whole."""
    return name in _POD_LEVEL_EXACT or name.startswith("hugepages-")


def of_pod(spec: Mapping[str, Any], part: Literal["requests", "limits"]) -> ResourceList:
    """As the scheduler and quota count it: pod-level values replace the sum, overhead is added."""
    total = of_containers(spec, part)
    own = (spec.get("resources") or {}).get(part)
    for name, amount in parsed(own).items():
        if is_pod_level(name):
            total[name] = amount
    overhead = parsed(spec.get("overhead"))
    for name, amount in overhead.items():
        # A limit that is not set stays unlimited; overhead does not invent one.
        if part == "requests":
            total[name] = total[name] + amount if name in total else amount
        elif total.get(name):
            total[name] = total[name] + amount
    return total
