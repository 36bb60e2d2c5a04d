"""Containers of a Pod: the ordinary ones, those that run before (init and sidecars), and ephemeral ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clusters.emulated.apiserver.validation.pod.env import env_errors, env_from_errors
from clusters.emulated.apiserver.validation.pod.handlers import lifecycle_errors, probes_errors
from clusters.emulated.apiserver.validation.pod.mounts import device_errors, mount_errors
from clusters.emulated.apiserver.validation.pod.options import PodOptions
from clusters.emulated.apiserver.validation.pod.resources import requirements_errors
from clusters.emulated.apiserver.validation.pod.security import security_context_errors
from clusters.kube import names
from clusters.kube.field import (
    FieldError,
    child,
    duplicate,
    forbidden,
    index,
    invalid,
    not_found,
    not_supported,
    required,
    too_many,
)

Value = Mapping[str, Any]

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RULE_ACTIONS = ("Restart", "RestartAllContainers")
_RULES_MAX = 20
_EXIT_CODES_MAX = 255
_NOT_FOR_EPHEMERAL = (
    "ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules",
    "livenessProbe", "readinessProbe", "startupProbe", "lifecycle",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a container's rules need to know of its Pod."""

    volumes: Mapping[str, Value]
    claim_names: Collection[str]
    grace: int | None
    restart_policy: str
    host_users: bool
    os: Value | None
    options: PodOptions


def pull_policy_errors(policy: str, path: str) -> list[FieldError]:
    if not policy:
        return [required(path)]
    return [] if policy in _PULL_POLICIES else [not_supported(path, policy, _PULL_POLICIES)]


def container_errors(container: Value, path: str, pod: Surroundings) -> list[FieldError]:
    """What holds for every kind of container."""
    errors: list[FieldError] = []
    name = container.get("name")
    if not name:
        errors.append(required(f"{path}.name"))
    else:
        wrong = names.dns_label(name)
        if wrong:
            errors += [invalid(f"{path}.name", name, text) for text in wrong]
    if not container.get("image"):
        errors.append(required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy", "")
    if not policy:
        errors.append(required(f"{path}.terminationMessagePolicy"))
    elif policy not in _MESSAGE_POLICIES:
        errors.append(not_supported(f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES))
    if container.get("ports"):
        errors += _ports_errors(container["ports"], f"{path}.ports")
    if container.get("env"):
        errors += env_errors(container["env"], f"{path}.env")
    if container.get("envFrom"):
        errors += env_from_errors(container["envFrom"], f"{path}.envFrom")
    if container.get("volumeMounts"):
        errors += mount_errors(container, pod.volumes, f"{path}.volumeMounts")
    if container.get("volumeDevices"):
        errors += device_errors(container["volumeDevices"], container, pod.volumes, f"{path}.volumeDevices")
    errors += pull_policy_errors(container.get("imagePullPolicy", ""), f"{path}.imagePullPolicy")
    if container.get("resources"):
        errors += requirements_errors(container["resources"], pod.claim_names, f"{path}.resources", pod.options)
    if container.get("resizePolicy"):
        errors += _resize_policy_errors(container["resizePolicy"], f"{path}.resizePolicy", pod.restart_policy)
    if container.get("securityContext"):
        errors += security_context_errors(container["securityContext"], f"{path}.securityContext", pod.host_users)
    return errors


def _ports_errors(ports: Sequence[Value], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, port in enumerate(ports):
        name = port.get("name")
        if name:
            wrong = names.port_name(name)
            if wrong:
                errors += [invalid(f"{path}[{position}].name", name, text) for text in wrong]
            elif name in seen:
                errors.append(duplicate(f"{path}[{position}].name", name))
            else:
                seen.add(name)
        number = port.get("containerPort", 0)
        if not number:
            errors.append(required(f"{path}[{position}].containerPort"))
        elif not 1 <= number <= 65535:
            errors.append(invalid(f"{path}[{position}].containerPort", number, names.range_error(1, 65535)))
        host_port = port.get("hostPort", 0)
        if host_port and not 1 <= host_port <= 65535:
            errors.append(invalid(f"{path}[{position}].hostPort", host_port, names.range_error(1, 65535)))
        protocol = port.get("protocol", "")
        if not protocol:
            errors.append(required(f"{path}[{position}].protocol"))
        elif protocol not in _PROTOCOLS:
            errors.append(not_supported(f"{path}[{position}].protocol", protocol, _PROTOCOLS))
    return errors


def _resize_policy_errors(policies: Sequence[Value], path: str, pod_restart_policy: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, policy in enumerate(policies):
        resource, restart = policy.get("resourceName", ""), policy.get("restartPolicy", "")
        if resource in seen:
            errors.append(duplicate(index(path, position), resource))
        seen.add(resource)
        if not resource:
            errors.append(required(path))
        elif resource not in ("cpu", "memory"):
            errors.append(not_supported(path, resource, ("cpu", "memory")))
        if not restart:
            errors.append(required(path))
        elif restart not in ("NotRequired", "RestartContainer"):
            errors.append(not_supported(path, restart, ("NotRequired", "RestartContainer")))
        if pod_restart_policy == "Never" and restart != "NotRequired":
            text = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            errors.append(invalid(path, restart, text))
    return errors


def _restart_policy_errors(container: Value, path: str) -> list[FieldError]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    errors: list[FieldError] = []
    if policy is None:
        if not rules:
            return []
        text = "must specify restartPolicy when restart rules are used"
        errors.append(required(child(path, "restartPolicy"), text))
    elif policy not in _RESTART_POLICIES:
        errors.append(not_supported(child(path, "restartPolicy"), policy, _RESTART_POLICIES))
    if len(rules) > _RULES_MAX:
        errors.append(too_many(child(path, "restartPolicyRules"), len(rules), _RULES_MAX))
    for position, rule in enumerate(rules):
        at = index(child(path, "restartPolicyRules"), position)
        if rule.get("action", "") not in _RULE_ACTIONS:
            errors.append(not_supported(child(at, "action"), rule.get("action", ""), _RULE_ACTIONS))
        codes = rule.get("exitCodes")
        if codes is None:
            errors.append(required(child(at, "exitCodes"), "must be specified"))
            continue
        if codes.get("operator", "") not in ("In", "NotIn"):
            errors.append(not_supported(f"{at}.exitCodes.operator", codes.get("operator", ""), ("In", "NotIn")))
        if len(codes.get("values") or ()) > _EXIT_CODES_MAX:
            errors.append(too_many(f"{at}.exitCodes.values", len(codes["values"]), _EXIT_CODES_MAX))
    return errors


def _host_port_conflicts(containers: Sequence[Value], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, container in enumerate(containers):
        for port_position, port in enumerate(container.get("ports") or ()):
            if port.get("hostPort"):
                text = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if text in seen:
                    errors.append(duplicate(f"{path}[{position}].ports[{port_position}].hostPort", text))
                seen.add(text)
    return errors


def containers_errors(containers: Sequence[Value], path: str, pod: Surroundings) -> list[FieldError]:
    if not containers:
        return [required(path)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, container in enumerate(containers):
        at = f"{path}[{position}]"
        errors += container_errors(container, at, pod)
        name = container.get("name", "")
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        seen.add(name)
        if container.get("lifecycle") is not None:
            errors += lifecycle_errors(container["lifecycle"], pod.grace, f"{at}.lifecycle", pod.os)
        errors += probes_errors(container, pod.grace, at)
        errors += _restart_policy_errors(container, at)
    return errors + _host_port_conflicts(containers, path)


def init_containers_errors(
    containers: Sequence[Value], regular: Sequence[Value], path: str, pod: Surroundings
) -> list[FieldError]:
    errors: list[FieldError] = []
    seen = {container.get("name", "") for container in regular}
    for position, container in enumerate(containers):
        at = f"{path}[{position}]"
        errors += container_errors(container, at, pod)
        wrong = _restart_policy_errors(container, at)
        # Without a policy, an init container's rules are not looked at any further.
        errors += wrong if container.get("restartPolicy") is not None else wrong[:1]
        sidecar = container.get("restartPolicy") == "Always"
        name = container.get("name", "")
        if name in seen:
            errors.append(duplicate(f"{at}.name", name))
        elif name:
            seen.add(name)
        errors += _host_port_conflicts((container,), path)
        if sidecar:
            if container.get("lifecycle") is not None:
                errors += lifecycle_errors(container["lifecycle"], pod.grace, f"{at}.lifecycle", pod.os)
            errors += probes_errors(container, pod.grace, at)
        else:
            text = "may not be set for init containers without restartPolicy=Always"
            for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
                if container.get(field) is not None:
                    errors.append(forbidden(child(at, field), text))
            if not pod.options.restart_container_for_init:
                errors += _restart_container_errors(container, at)
    return errors


def _restart_container_errors(container: Value, path: str) -> list[FieldError]:
    text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
    return [
        invalid(f"{path}.resizePolicy[{position}].restartPolicy", "RestartContainer", text)
        for position, policy in enumerate(container.get("resizePolicy") or ())
        if policy.get("restartPolicy") == "RestartContainer"
    ]


def ephemeral_containers_errors(spec: Value, path: str, pod: Surroundings) -> list[FieldError]:
    errors: list[FieldError] = []
    others = {
        container.get("name", "") for kind in ("containers", "initContainers") for container in spec.get(kind) or ()
    }
    seen = set(others)
    text = "cannot be set for an Ephemeral Container"
    for position, container in enumerate(spec.get("ephemeralContainers") or ()):
        at = index(path, position)
        errors += container_errors(container, at, pod)
        errors += image_errors(container, at)
        name, target = container.get("name", ""), container.get("targetContainerName", "")
        if name in seen:
            errors.append(duplicate(child(at, "name"), name))
        seen.add(name)
        if target and target not in others:
            errors.append(not_found(child(at, "targetContainerName"), target))
        errors += [forbidden(child(at, field), text) for field in _NOT_FOR_EPHEMERAL if container.get(field)]
        for mount_position, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    errors.append(forbidden(f"{at}.volumeMounts[{mount_position}].{field}", text))
    return errors


def image_errors(container: Value, path: str) -> list[FieldError]:
    """Of a Pod, not of a template."""
    image = container.get("image", "")
    if image != image.strip():
        return [invalid(child(path, "image"), image, "must not have leading or trailing whitespace")]
    return []


def visit(spec: Value, path: str, look: Callable[[Value, str], list[FieldError]]) -> list[FieldError]:
    """`look` at every container with its path: init containers first, then the ordinary and ephemeral ones."""
    errors: list[FieldError] = []
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for position, container in enumerate(spec.get(kind) or ()):
            errors += look(container, f"{path}.{kind}[{position}]")
    return errors
