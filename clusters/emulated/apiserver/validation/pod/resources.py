"""Resource requests and limits: names, amounts, requests against limits, the sum over a Pod's containers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from clusters.emulated.apiserver.validation.pod.options import PodOptions
from clusters.kube import names
from clusters.kube.field import (
    FieldError,
    child,
    duplicate,
    forbidden,
    index,
    invalid,
    key,
    not_supported,
    required,
)
from clusters.kube.quantity import Quantity, QuantityError, parse

Resources = Mapping[str, Any]

_CONTAINER = frozenset(("cpu", "memory", "ephemeral-storage"))
_POD_LEVEL = frozenset(("cpu", "memory"))
_COUNTED = (
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
)  # fmt: skip
_COMPUTE = (
    "cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
    "limits.cpu", "limits.memory", "limits.ephemeral-storage", "requests.storage",
)  # fmt: skip
_INTEGER = frozenset(_COUNTED)
QUOTA_RESOURCES = frozenset(_COUNTED + _COMPUTE)
_STANDARD = QUOTA_RESOURCES | {"storage"}


def is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def _is_quota_huge_page(name: str) -> bool:
    return name.startswith(("hugepages-", "requests.hugepages-"))


def is_standard_quota_resource(name: str) -> bool:
    return name in QUOTA_RESOURCES or _is_quota_huge_page(name)


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    if is_native(name) or name.startswith("requests."):
        return False
    return not names.qualified_name(f"requests.{name}")


def overcommit_allowed(name: str) -> bool:
    return is_native(name) and not is_huge_page(name)


def pod_level(name: str) -> bool:
    return name in _POD_LEVEL or is_huge_page(name)


def is_integer_resource(name: str) -> bool:
    return name in _INTEGER or is_extended(name)


def resource_name_errors(name: str, path: str) -> list[FieldError]:
    errors = [invalid(path, name, text) for text in names.qualified_name(name)]
    if not errors and "/" not in name and name not in _STANDARD and not _is_quota_huge_page(name):
        errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    return errors


def container_resource_name_errors(name: str, path: str) -> list[FieldError]:
    if name in _CONTAINER:
        return []
    errors = resource_name_errors(name, path)
    if "/" not in name:
        if not is_huge_page(name):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def pod_resource_name_errors(name: str, path: str) -> list[FieldError]:
    errors = resource_name_errors(name, path)
    if not errors and not pod_level(name):
        errors.append(not_supported(path, name, ("cpu", "hugepages-", "memory")))
    return errors


def quota_resource_name_errors(name: str, path: str) -> list[FieldError]:
    errors = resource_name_errors(name, path)
    if "/" not in name and not is_standard_quota_resource(name):
        errors.append(invalid(path, name, "must be a standard resource for quota"))
    return errors


def amount(text: object) -> Quantity:
    """Objects are decoded: what stands there is a quantity."""
    return parse(str(text))


def resource_value_errors(name: str, text: object, path: str) -> list[FieldError]:
    value = amount(text)
    errors: list[FieldError] = []
    if value.unscaled < 0:
        errors.append(invalid(path, str(value), names.NEGATIVE))
    if (name in _INTEGER or "/" in name) and is_integer_resource(name) and not value.is_integer():
        errors.append(invalid(path, str(value), "must be an integer"))
    return errors


@lru_cache(maxsize=256)
def divisible_huge_pages(name: str, text: str) -> bool:
    try:
        page = parse(name.removeprefix("hugepages-"))
    except QuantityError:
        return False
    if page.sign() <= 0 or not page.is_integer():
        return False
    return parse(text).value() % page.value() == 0


def _huge_page_errors(name: str, text: object, path: str, options: PodOptions) -> list[FieldError]:
    if options.indivisible_huge_pages or divisible_huge_pages(name, str(text)):
        return []
    return [invalid(path, str(text), f"{text} is not positive integer multiple of {name}")]


def requirements_errors(
    requirements: Resources,
    claim_names: Collection[str],
    path: str,
    options: PodOptions,
    name_errors: Callable[[str, str], list[FieldError]] = container_resource_name_errors,
) -> list[FieldError]:
    """`resources` of a container or a Pod."""
    errors: list[FieldError] = []
    limits: Mapping[str, Any] = requirements.get("limits") or {}
    requests: Mapping[str, Any] = requirements.get("requests") or {}
    compute = huge_pages = False
    for name, text in limits.items():
        at = f"{path}.limits[{name}]"
        errors += name_errors(name, at)
        errors += resource_value_errors(name, text, at)
        if is_huge_page(name):
            huge_pages = True
            errors += _huge_page_errors(name, text, at, options)
        compute = compute or name in _POD_LEVEL
    for name, text in requests.items():
        at = f"{path}.requests[{name}]"
        errors += name_errors(name, at)
        errors += resource_value_errors(name, text, at)
        errors += _against_limit(name, text, limits.get(name), path)
        if is_huge_page(name):
            huge_pages = True
            errors += _huge_page_errors(name, text, at, options)
        compute = compute or name in _POD_LEVEL
    if huge_pages and not compute:
        errors.append(forbidden(path, "HugePages require cpu or memory"))
    claims = requirements.get("claims")
    if claims:
        errors += _claim_errors(claims, claim_names, child(path, "claims"))
    return errors


def _against_limit(name: str, text: object, limit: object, path: str) -> list[FieldError]:
    if limit is None:
        if overcommit_allowed(name):
            return []
        return [required(f"{path}.limits", "Limit must be set for non overcommitable resources")]
    if text == limit:
        return []
    request, bound = amount(text), amount(limit)
    if request != bound and not overcommit_allowed(name):
        detail = f"must be equal to {name} limit of {bound}"
    elif request > bound:
        detail = f"must be less than or equal to {name} limit of {bound}"
    else:
        return []
    return [invalid(f"{path}.requests", str(request), detail)]


def _claim_errors(claims: Sequence[Mapping[str, Any]], claim_names: Collection[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, claim in enumerate(claims):
        at = index(path, position)
        name, request = claim.get("name", ""), claim.get("request", "")
        if not name:
            errors.append(required(at))
            continue
        if name in seen:
            errors.append(duplicate(at, name))
        else:
            whole = name
            if request:
                errors += [invalid(child(at, "request"), request, text) for text in names.dns_label(request)]
                whole = f"{name}/{request}"
            if whole in seen:
                errors.append(duplicate(at, whole))
            elif not request:
                errors += [duplicate(at, name) for other in seen if other.partition("/")[:2] == (name, "/")]
            seen.add(whole)
        if name not in claim_names:
            listed = f": {', '.join(sorted(claim_names))}" if claim_names else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{listed}"
            errors.append(FieldError("FieldValueNotFound", at, name, detail))
    return errors


def _add(total: dict[str, Quantity], amounts: Mapping[str, Any] | None) -> None:
    for name, text in (amounts or {}).items():
        value = text if isinstance(text, Quantity) else amount(text)
        total[name] = total[name] + value if name in total else value


def _maximum(total: dict[str, Quantity], amounts: Mapping[str, Quantity]) -> None:
    for name, value in amounts.items():
        if name not in total or value > total[name]:
            total[name] = value


def _aggregate(spec: Mapping[str, Any], kind: str) -> dict[str, Quantity]:
    """All containers together with the sidecars, or the hungriest init container with those before it."""
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, (container.get("resources") or {}).get(kind))
    sidecars: dict[str, Quantity] = {}
    init: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        amounts = (container.get("resources") or {}).get(kind)
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            _maximum(init, sidecars)
        else:
            together = dict(sidecars)
            _add(together, amounts)
            _maximum(init, together)
    _maximum(total, init)
    return total


def aggregate_requests(spec: Mapping[str, Any]) -> dict[str, Quantity]:
    return _aggregate(spec, "requests")


def aggregate_limits(spec: Mapping[str, Any]) -> dict[str, Quantity]:
    return _aggregate(spec, "limits")


def pod_resources_errors(
    spec: Mapping[str, Any], claim_names: Collection[str], path: str, options: PodOptions
) -> list[FieldError]:
    """`resources` of the whole Pod."""
    resources = spec["resources"]
    at = child(path, "resources")
    if (spec.get("os") or {}).get("name") == "windows":
        return [forbidden(at, "may not be set for a windows pod")]
    errors: list[FieldError] = []
    if resources.get("claims") is not None:
        errors.append(forbidden(child(at, "claims"), "claims may not be set for Resources at pod-level"))
    errors += requirements_errors(resources, claim_names, at, options, pod_resource_name_errors)
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    for name, total in aggregate_requests(spec).items():
        if name in requests and total > amount(requests[name]):
            detail = f"must be greater than or equal to aggregate container requests of {total}"
            errors.append(invalid(key(f"{at}.requests", name), str(requests[name]), detail))
    for name, total in aggregate_limits(spec).items():
        if is_huge_page(name) and name in limits and total > amount(limits[name]):
            detail = f"must be greater than or equal to aggregate container limits of {total}"
            errors.append(invalid(key(f"{at}.limits", name), str(limits[name]), detail))
    for position, container in enumerate(spec.get("containers") or ()):
        for name, text in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and amount(text) > amount(limits[name]):
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                where = f"{at}.containers[{position}][{name}].limits"
                errors.append(invalid(where, str(text), detail))
    return errors
