"""LimitRanger: defaults from LimitRanges for pods that set none; minima, maxima and ratios enforced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clusters.emulated.apiserver.admission import pod_resources
from clusters.emulated.apiserver.admission.attributes import AdmissionPlugin, Attributes
from clusters.emulated.apiserver.admission.denial import forbidden, joined
from clusters.emulated.apiserver.admission.pod_resources import ResourceList
from clusters.emulated.apiserver.objects import Objects
from clusters.kube.quantity import ZERO, Quantity

_ANNOTATION = "kubernetes.io/limit-ranger"
_MAX_MILLI_VALUE = ((1 << 63) - 1) // 1000


class LimitRanger(AdmissionPlugin):
    name = "LimitRanger"
    operations = frozenset(("CREATE", "UPDATE"))
    resources = frozenset(("pods", "persistentvolumeclaims"))

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    async def admit(self, attributes: Attributes) -> None:
        for limit_range in self._limit_ranges(attributes):
            if attributes.resource == "pods" and attributes.object is not None:
                _set_defaults(attributes.object, limit_range)

    async def validate(self, attributes: Attributes) -> None:
        for limit_range in self._limit_ranges(attributes):
            assert attributes.object is not None
            limits = limit_range.get("spec", {}).get("limits") or ()
            judge = _judge_pod if attributes.resource == "pods" else _judge_claim
            problems = list(judge(attributes.object.get("spec") or {}, limits))
            if problems:
                raise forbidden(attributes, joined(problems))

    def _limit_ranges(self, attributes: Attributes) -> tuple[dict[str, Any], ...]:
        subresource = attributes.subresource
        if attributes.resource == "pods" and attributes.operation == "UPDATE":
            # Resources of a running pod change through resize only.
            if subresource != "resize":
                return ()
        elif subresource:
            return ()
        old = attributes.old_object
        if old is not None and old.get("metadata", {}).get("deletionTimestamp"):
            return ()
        return tuple(self._objects.list("limitranges", attributes.namespace))


def _set_defaults(pod: dict[str, Any], limit_range: Mapping[str, Any]) -> None:
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for limit in limit_range.get("spec", {}).get("limits") or ():
        if limit.get("type") == "Container":
            requests.update(limit.get("defaultRequest") or {})
            limits.update(limit.get("default") or {})
    if not requests and not limits:
        return
    notes: list[str] = []
    spec = pod.get("spec") or {}
    for kind, containers in (("container", "containers"), ("init container", "initContainers")):
        for container in spec.get(containers) or ():
            _merge(container, requests, limits, kind, notes)
    if notes:
        metadata = pod.setdefault("metadata", {})
        metadata.setdefault("annotations", {})[_ANNOTATION] = "LimitRanger plugin set: " + "; ".join(notes)


def _merge(
    container: dict[str, Any], requests: dict[str, str], limits: dict[str, str], kind: str, notes: list[str]
) -> None:
    resources = dict(container.get("resources") or {})
    for part, word, defaults in (("requests", "request", requests), ("limits", "limit", limits)):
        have = resources.get(part) or {}
        missing = {name: amount for name, amount in defaults.items() if name not in have}
        if missing:
            resources[part] = {**have, **missing}
            notes.append(f"{', '.join(sorted(missing))} {word} for {kind} {container.get('name', '')}")
    container["resources"] = resources


def _judge_claim(spec: Mapping[str, Any], limits: Any) -> Iterator[str]:
    requests = pod_resources.parsed((spec.get("resources") or {}).get("requests"))
    for limit in limits:
        kind = limit.get("type")
        if kind != "PersistentVolumeClaim":
            continue
        for name, enforced in _sorted(limit.get("min")):
            yield from _minimum(kind, name, enforced, requests, {})
        for name, enforced in _sorted(limit.get("max")):
            yield from _maximum_request(kind, name, enforced, requests)


def _judge_pod(spec: Mapping[str, Any], limits: Any) -> Iterator[str]:
    for limit in limits:
        kind = limit.get("type")
        if kind == "Container":
            for field in ("containers", "initContainers"):
                for container in spec.get(field) or ():
                    resources = container.get("resources") or {}
                    yield from _constraints(
                        kind,
                        limit,
                        pod_resources.parsed(resources.get("requests")),
                        pod_resources.parsed(resources.get("limits")),
                    )
        elif kind == "Pod":
            yield from _constraints(kind, limit, _whole_pod(spec, "requests"), _whole_pod(spec, "limits"))


def _whole_pod(spec: Mapping[str, Any], part: Any) -> ResourceList:
    # Unlike the scheduler's sum: no overhead, and only cpu and memory may be set for the whole pod.
    total = pod_resources.of_containers(spec, part)
    own = pod_resources.parsed((spec.get("resources") or {}).get(part))
    total.update({name: own[name] for name in ("cpu", "memory") if name in own})
    return total


def _constraints(kind: str, limit: Mapping[str, Any], requests: ResourceList, limits: ResourceList) -> Iterator[str]:
    for name, enforced in _sorted(limit.get("min")):
        yield from _minimum(kind, name, enforced, requests, limits)
    for name, enforced in _sorted(limit.get("max")):
        yield from _maximum(kind, name, enforced, requests, limits)
    for name, enforced in _sorted(limit.get("maxLimitRequestRatio")):
        yield from _ratio(kind, name, enforced, requests, limits)


def _sorted(resources: Mapping[str, Any] | None) -> list[tuple[str, Quantity]]:
    return sorted(pod_resources.parsed(resources).items(), key=lambda each: each[0])


def _comparable(*amounts: Quantity) -> list[int]:
    values = [amount.value() for amount in amounts]
    if all(value <= _MAX_MILLI_VALUE for value in values):
        return [amount.milli_value() for amount in amounts]
    return values


def _minimum(kind: str, name: str, enforced: Quantity, requests: ResourceList, limits: ResourceList) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    observed_request, observed_limit, least = _comparable(request or ZERO, limit or ZERO, enforced)
    if request is None:
        yield f"minimum {name} usage per {kind} is {enforced}.  No request is specified"
    elif observed_request < least:
        yield f"minimum {name} usage per {kind} is {enforced}, but request is {request}"
    elif limit is not None and observed_limit < least:
        yield f"minimum {name} usage per {kind} is {enforced}, but limit is {limit}"


def _maximum_request(kind: str, name: str, enforced: Quantity, requests: ResourceList) -> Iterator[str]:
    request = requests.get(name)
    observed, most = _comparable(request or ZERO, enforced)
    if request is None:
        yield f"maximum {name} usage per {kind} is {enforced}.  No request is specified"
    elif observed > most:
        yield f"maximum {name} usage per {kind} is {enforced}, but request is {request}"


def _maximum(kind: str, name: str, enforced: Quantity, requests: ResourceList, limits: ResourceList) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    observed_request, observed_limit, most = _comparable(request or ZERO, limit or ZERO, enforced)
    if limit is None:
        yield f"maximum {name} usage per {kind} is {enforced}.  No limit is specified"
    elif observed_limit > most:
        yield f"maximum {name} usage per {kind} is {enforced}, but limit is {limit}"
    elif request is not None and observed_request > most:
        yield f"maximum {name} usage per {kind} is {enforced}, but request is {request}"


def _ratio(kind: str, name: str, enforced: Quantity, requests: ResourceList, limits: ResourceList) -> Iterator[str]:
    request, limit = requests.get(name), limits.get(name)
    observed_request, observed_limit, _ = _comparable(request or ZERO, limit or ZERO, enforced)
    subject = f"{name} max limit to request ratio per {kind} is {enforced}"
    if request is None or not observed_request:
        yield f"{subject}, but no request is specified or request is 0"
    elif limit is None or not observed_limit:
        yield f"{subject}, but no limit is specified or limit is 0"
    else:
        ratio = observed_limit / observed_request
        if ratio * 1000 > enforced.milli_value():
            yield f"{subject}, but provided ratio is {ratio:f}"
