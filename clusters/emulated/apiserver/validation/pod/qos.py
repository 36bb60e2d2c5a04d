"""The quality-of-service class of a Pod: Guaranteed, Burstable or BestEffort."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.validation.pod.resources import amount
from clusters.kube.quantity import Quantity

Value = Mapping[str, Any]

_COMPUTE = ("cpu", "memory")


def _positive(amounts: Value | None) -> dict[str, Quantity]:
    if not amounts:
        return {}
    found = ((name, amount(amounts[name])) for name in _COMPUTE if name in amounts)
    return {name: value for name, value in found if value.sign() > 0}


def qos_class(spec: Value) -> str:
    requests: dict[str, Quantity] = {}
    limits: dict[str, Quantity] = {}
    guaranteed = True
    whole = spec.get("resources")
    if whole is not None:
        requests, limits = _positive(whole.get("requests")), _positive(whole.get("limits"))
        guaranteed = not whole.get("limits") or len(limits) == len(_COMPUTE)
    else:
        for kind in ("containers", "initContainers"):
            for container in spec.get(kind) or ():
                resources = container.get("resources") or {}
                own_limits = _positive(resources.get("limits"))
                for total, own in ((requests, _positive(resources.get("requests"))), (limits, own_limits)):
                    for name, value in own.items():
                        total[name] = total[name] + value if name in total else value
                guaranteed = guaranteed and len(own_limits) == len(_COMPUTE)
    if not requests and not limits:
        return "BestEffort"
    if guaranteed and requests == limits:
        return "Guaranteed"
    return "Burstable"
