"""What a pod uses of a quota, which scopes it falls into, and what it must declare to be counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from clusters.emulated.apiserver.admission import pod_resources
from clusters.emulated.apiserver.admission.pod_resources import ResourceList, parsed
from clusters.kube import selectors
from clusters.kube.quantity import parse
from clusters.kube.timestamps import unix_s

Object = Mapping[str, Any]
_ONE = parse("1")
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_BY_PART = (f"{part}.{name}" for part in ("requests", "limits") for name in _COMPUTE)
RESOURCES = frozenset(("count/pods", "pods", *_COMPUTE, *_BY_PART))
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"
# A quota on one of these makes every container declare it. Kubernetes calls that a mistake, and keeps it.
_MUST_BE_DECLARED = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_pod_resource(name: str) -> bool:
    if name in RESOURCES or name.startswith(_HUGE_PAGES):
        return True
    if not name.startswith("requests."):
        return False
    return not _is_native(name) or name.startswith("requests." + _DEVICE_CLASS)


def has_deadline(pod: Object) -> bool:
    """What the Terminating scope means: a pod that is bound to end."""
    return (pod.get("spec") or {}).get("activeDeadlineSeconds") is not None


def compute_usage(requests: ResourceList, limits: ResourceList) -> ResourceList:
    used: ResourceList = {"pods": _ONE}
    for name in _COMPUTE:
        if name in requests:
            used[name] = used[f"requests.{name}"] = requests[name]
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith("hugepages-"):
            used[name] = used[f"requests.{name}"] = amount
        elif not _is_native(name) or name.startswith(_DEVICE_CLASS):
            used[f"requests.{name}"] = amount
    return used


def usage(pod: Object, now_s: float) -> ResourceList:
    """Everything for a live pod; only the object itself for one that is over."""
    used: ResourceList = {"count/pods": _ONE}
    if _is_over(pod, now_s):
        return used
    spec = pod.get("spec") or {}
    status = pod.get("status") or {}
    requests = pod_resources.of_pod(_with_status(spec, status, "requests"), "requests")
    limits = pod_resources.of_pod(_with_status(spec, status, "limits"), "limits")
    return used | compute_usage(requests, limits)


def _is_over(pod: Object, now_s: float) -> bool:
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return True
    metadata = pod.get("metadata") or {}
    deleted, grace_s = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if not deleted or grace_s is None:
        return False
    return now_s > unix_s(deleted) + float(grace_s)


def _with_status(spec: Object, status: Object, part: str) -> Object:
    """While a resize is under way a container holds the larger of what it has and what it asked for."""
    actual = {
        each.get("name"): each
        for field in ("containerStatuses", "initContainerStatuses")
        for each in status.get(field) or ()
        if (each.get("resources") or {}).get(part) or (part == "requests" and each.get("allocatedResources"))
    }
    if not actual:
        return spec
    changed = dict(spec)
    for field in ("containers", "initContainers"):
        if spec.get(field):
            changed[field] = [_at_least(each, actual.get(each.get("name")), part) for each in spec[field]]
    return changed


def _at_least(container: Object, status: Object | None, part: str) -> Object:
    if status is None:
        return container
    amounts = parsed((container.get("resources") or {}).get(part))
    pod_resources.raise_to(amounts, parsed((status.get("resources") or {}).get(part)))
    if part == "requests":
        pod_resources.raise_to(amounts, parsed(status.get("allocatedResources")))
    texts = {name: str(amount) for name, amount in amounts.items()}
    return {**container, "resources": {**(container.get("resources") or {}), part: texts}}


def missing(required: Iterable[str], pod: Object) -> str:
    spec = pod.get("spec") or {}
    if _sets_pod_level(spec):
        return ""
    needed = _MUST_BE_DECLARED.intersection(required)
    lacking: dict[str, set[str]] = {}
    for field in ("containers", "initContainers"):
        for container in spec.get(field) or ():
            resources = container.get("resources") or {}
            have = compute_usage(parsed(resources.get("requests")), parsed(resources.get("limits")))
            for name in needed.difference(have):
                lacking.setdefault(name, set()).add(container.get("name", ""))
    if not lacking:
        return ""
    parts = [f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking)]
    return f"must specify {'; '.join(parts)}"


def _sets_pod_level(spec: Object) -> bool:
    resources = spec.get("resources") or {}
    return any(
        pod_resources.is_pod_level(name) for part in ("requests", "limits") for name in resources.get(part) or ()
    )


def matches_scope(selector: Mapping[str, Any], pod: Object) -> bool:
    scope = selector.get("scopeName")
    if scope == "Terminating":
        return has_deadline(pod)
    if scope == "NotTerminating":
        return not has_deadline(pod)
    if scope == "BestEffort":
        return _is_best_effort(pod)
    if scope == "NotBestEffort":
        return not _is_best_effort(pod)
    if scope == "PriorityClass":
        return selects(selector, (pod.get("spec") or {}).get("priorityClassName") or "")
    if scope == "CrossNamespacePodAffinity":
        return _looks_across_namespaces((pod.get("spec") or {}).get("affinity") or {})
    return False


def selects(selector: Mapping[str, Any], value: str) -> bool:
    """A scope selector over one value, empty for none."""
    operator = selector.get("operator")
    if operator == "Exists":
        return bool(value)
    name = str(selector.get("scopeName"))
    requirement = {"key": name, "operator": operator, "values": selector.get("values") or []}
    compiled = selectors.from_label_selector({"matchExpressions": [requirement]})
    return compiled.matches({name: value} if value else {})


def _is_best_effort(pod: Object) -> bool:
    known = (pod.get("status") or {}).get("qosClass")
    if known:
        return bool(known == "BestEffort")
    spec = pod.get("spec") or {}
    holders = [spec, *(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    for holder in holders:
        resources = holder.get("resources") or {}
        for part in ("requests", "limits"):
            amounts = parsed(resources.get(part))
            if any(amounts.get(name) for name in ("cpu", "memory")):
                return False
    return True


def _looks_across_namespaces(affinity: Mapping[str, Any]) -> bool:
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        terms = list(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        weighted = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [each.get("podAffinityTerm") or {} for each in weighted]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False
