"""What may be written through a Pod's status subresource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.kube import names
from clusters.kube.field import (
    FieldError,
    child,
    duplicate,
    forbidden,
    index,
    internal,
    invalid,
    not_supported,
    required,
    too_long,
)
from clusters.kube.internal import printed
from clusters.kube.ipaddr import ip, parse_ip

Value = Mapping[str, Any]

_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_HEALTH = ("Healthy", "Unhealthy", "Unknown")
_HEALTH_MESSAGE_MAX_BYTES = 1024
_NO_WAY_BACK = "may not be transitioned to non-terminated state"


def status_update_errors(new_pod: Value, old_pod: Value) -> list[FieldError]:
    """All of the status; metadata and annotations are checked before."""
    new, old = new_pod.get("status") or {}, old_pod.get("status") or {}
    spec, old_spec = new_pod.get("spec") or {}, old_pod.get("spec") or {}
    errors = _conditions(new.get("conditions") or ())
    errors += _nominated_node(new, old, old_spec)
    if new.get("observedGeneration", 0) < 0:
        at = "status.observedGeneration"
        errors.append(invalid(at, new["observedGeneration"], "must be a non-negative integer"))
    if new.get("qosClass", "") != old.get("qosClass", ""):
        errors.append(invalid("status.qosClass", new.get("qosClass", ""), "field is immutable"))
    if not _all_could_restart(old_spec):
        errors += _transitions(new, old, old_spec, "containerStatuses", "containers")
        errors += _transitions(new, old, old_spec, "initContainerStatuses", "initContainers")
    errors += _transitions(new, old, None, "ephemeralContainerStatuses", "")
    errors += _claim_statuses(new.get("resourceClaimStatuses") or (), spec)
    errors += _extended_claim(new.get("extendedResourceClaimStatus"), spec)
    errors += _ips(new, old, "podIPs", "core.PodIP")
    errors += _host_ips(new, old)
    return errors + _container_statuses(new, spec)


def _conditions(conditions: Sequence[Value]) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, condition in enumerate(conditions):
        at, kind = index("status.conditions", position), condition.get("type", "")
        if condition.get("observedGeneration", 0) < 0:
            text = "must be a non-negative integer"
            errors.append(invalid(child(at, "observedGeneration"), condition["observedGeneration"], text))
        if kind not in _SYSTEM_CONDITIONS:
            errors += [invalid(child(at, "Type"), kind, text) for text in names.qualified_name(kind)]
    return errors


def _nominated_node(new: Value, old: Value, old_spec: Value) -> list[FieldError]:
    name, at = new.get("nominatedNodeName", ""), "status.nominatedNodeName"
    if not name or name == old.get("nominatedNodeName", ""):
        return []
    errors = [invalid(at, name, text) for text in names.dns_subdomain(name)]
    if old_spec.get("nodeName"):
        errors.append(forbidden(at, "may not be set on pods that are already bound to a node"))
    return errors


def _all_could_restart(spec: Value) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for kind in ("initContainers", "containers")
        for container in spec.get(kind) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def should_restart(container: Value, spec: Value, exit_code: int) -> bool:
    """Whether the kubelet starts a container again that ended with this code."""
    policy = container.get("restartPolicy")
    if policy is not None:
        for rule in container.get("restartPolicyRules") or ():
            codes = rule.get("exitCodes")
            if codes and (exit_code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
                if rule.get("action") in ("Restart", "RestartAllContainers"):
                    return True
                break
    else:
        policy = spec.get("restartPolicy")
    return policy != "Never" and (policy != "OnFailure" or exit_code != 0)


def _transitions(new: Value, old: Value, spec: Value | None, field: str, kind: str) -> list[FieldError]:
    errors: list[FieldError] = []
    current = {status.get("name", ""): status for status in new.get(field) or ()}
    for position, status in enumerate(old.get(field) or ()):
        terminated = (status.get("state") or {}).get("terminated")
        name = status.get("name", "")
        if terminated is None or name not in current:
            continue
        if (current[name].get("state") or {}).get("terminated") is not None:
            continue
        container = next((each for each in (spec or {}).get(kind) or () if each.get("name") == name), None)
        if spec is None or container is None or not should_restart(container, spec, terminated.get("exitCode", 0)):
            errors.append(forbidden(f"status.{field}[{position}].state", _NO_WAY_BACK))
    return errors


def _claim_statuses(statuses: Sequence[Value], spec: Value) -> list[FieldError]:
    errors: list[FieldError] = []
    claims = {claim.get("name", "") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for position, status in enumerate(statuses):
        at, name = index("status.resourceClaimStatuses", position), status.get("name", "")
        if name not in claims:
            text = "must match the name of an entry in `spec.resourceClaims`"
            errors.append(invalid(child(at, "name"), name, text))
        if name in seen:
            errors.append(duplicate(child(at, "name"), name))
        seen.add(name)
        claim = status.get("resourceClaimName")
        if claim is not None:
            errors += [invalid(child(at, "resourceClaimName"), claim, text) for text in names.dns_subdomain(claim)]
    return errors


def _extended_claim(status: Value | None, spec: Value) -> list[FieldError]:
    if status is None:
        return []
    path = "status.extendedResourceClaimStatus"
    errors: list[FieldError] = []
    containers = {
        container.get("name", ""): (container.get("resources") or {}).get("requests") or {}
        for kind in ("initContainers", "containers")
        for container in spec.get(kind) or ()
    }
    mappings = status.get("requestMappings") or ()
    if not mappings:
        errors.append(required(child(path, "requestMappings"), "at least one request mapping is required"))
    seen: set[tuple[str, ...]] = set()
    for position, mapping in enumerate(mappings):
        at = index(child(path, "requestMappings"), position)
        whole = tuple(mapping.get(field, "") for field in ("containerName", "resourceName", "requestName"))
        if whole[0] not in containers:
            text = "must match the name of an entry in spec.initContainers.name or spec.containers.name"
            errors.append(invalid(child(at, "containerName"), whole[0], text))
        elif whole[1] not in containers[whole[0]]:
            text = (
                "must match the extended resource name of an entry in spec.initContainers.resources.requests "
                "or spec.containers.resources.requests"
            )
            errors.append(invalid(child(at, "resourceName"), whole[1], text))
        errors += [invalid(child(path, "requestName"), whole[2], text) for text in names.dns_label(whole[2])]
        if whole in seen:
            fields = ("containerName", "resourceName", "requestName")
            errors += [duplicate(child(at, field), value) for field, value in zip(fields, whole, strict=True)]
        seen.add(whole)
    name, at = status.get("resourceClaimName", ""), child(path, "resourceClaimName")
    if not name:
        return [*errors, required(at)]
    return errors + [invalid(at, name, text) for text in names.dns_subdomain(name)]


def _ips(new: Value, old: Value, field: str, type_name: str) -> list[FieldError]:
    path, addresses = f"status.{field}", [address.get("ip", "") for address in new.get(field) or ()]
    stored = {address.get("ip", "") for address in old.get(field) or ()}
    errors: list[FieldError] = []
    for position, address in enumerate(addresses):
        if address not in stored:
            errors += [invalid(index(path, position), address, text) for text in ip(address, strict=True)]
    if len(addresses) > 1:
        bad = next((item for item in enumerate(addresses) if parse_ip(item[1]) is None), None)
        if bad is not None:
            text = f"failed to check for dual stack with error:invalid IP[{bad[0]}]: {bad[1]}"
            errors.append(internal(path, text))
        versions = {parsed.version for parsed in map(parse_ip, addresses) if parsed is not None}
        if len(versions) < 2 or len(addresses) > 2:
            text = "may specify no more than one IP for each IP family"
            errors.append(invalid(path, printed(f"[]{type_name}", new[field]), text))
    return errors


def _host_ips(new: Value, old: Value) -> list[FieldError]:
    addresses = new.get("hostIPs")
    if not addresses:
        return []
    errors: list[FieldError] = []
    first = addresses[0].get("ip", "")
    if new.get("hostIP", "") != first:
        errors.append(invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`"))
    return errors + _ips(new, old, "hostIPs", "core.HostIP")


def _container_statuses(status: Value, spec: Value) -> list[FieldError]:
    errors: list[FieldError] = []
    os = (spec.get("os") or {}).get("name", "linux")
    kinds = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
    for field in kinds:
        for position, each in enumerate(status.get(field) or ()):
            user = (each.get("user") or {}).get("linux")
            at = f"status.{field}[{position}].user.linux"
            if user is None:
                continue
            if os == "windows":
                errors.append(forbidden(at, "cannot be set for a windows pod"))
                continue
            for name in ("uid", "gid"):
                value = user.get(name, 0)
                errors += [invalid(child(at, name), value, text) for text in names.user_id(value)]
            for group_position, group in enumerate(user.get("supplementalGroups") or ()):
                where = index(child(at, "supplementalGroups"), group_position)
                errors += [invalid(where, group, text) for text in names.group_id(group)]
    for field, kind in zip(kinds, ("containers", "initContainers", ""), strict=True):
        for position, each in enumerate(status.get(field) or ()):
            at = f"status.{field}[{position}].allocatedResourcesStatus"
            resources = each.get("allocatedResourcesStatus") or ()
            if resources and not kind:
                errors.append(forbidden(at, "must not be specified in container status"))
                continue
            container = next((c for c in spec.get(kind) or () if c.get("name") == each.get("name")), None)
            errors += _allocated_resources(resources, container, at)
    return errors


def _allocated_resources(resources: Sequence[Value], container: Value | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, resource in enumerate(resources):
        at, name = index(path, position), resource.get("name", "")
        if container is not None and not _is_allocated(name, container.get("resources") or {}):
            text = "must match one of the container's resource requests"
            if name.startswith("claim:"):
                text = (
                    "must match one of the container's resource claims in a format "
                    "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
                )
            errors.append(invalid(child(at, "name"), name, text))
        seen: set[str] = set()
        for health_position, health in enumerate(resource.get("resources") or ()):
            where = f"{at}.resources[{health_position}]"
            if health.get("health", "") not in _HEALTH:
                errors.append(not_supported(child(where, "health"), health.get("health", ""), _HEALTH))
            message = health.get("message")
            if message == "":
                errors.append(required(child(where, "message"), "must be non-empty if specified"))
            elif message is not None and names.size(message) > _HEALTH_MESSAGE_MAX_BYTES:
                errors.append(too_long(child(where, "message"), _HEALTH_MESSAGE_MAX_BYTES))
            identity = health.get("resourceID", "")
            if identity in seen:
                errors.append(duplicate(child(where, "resourceID"), identity))
            seen.add(identity)
    return errors


def _is_allocated(name: str, resources: Value) -> bool:
    if not name.startswith("claim:"):
        return name in (resources.get("requests") or {})
    return any(
        name == "claim:" + "/".join(filter(None, (claim.get("name"), claim.get("request"))))
        for claim in resources.get("claims") or ()
    )
