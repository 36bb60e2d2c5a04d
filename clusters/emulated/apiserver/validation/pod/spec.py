"""A Pod's spec as a whole, in the order in which Kubernetes looks at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.validation.pod.affinity import affinity_errors, tolerations_errors
from clusters.emulated.apiserver.validation.pod.containers import (
    Surroundings,
    containers_errors,
    ephemeral_containers_errors,
    init_containers_errors,
    visit,
)
from clusters.emulated.apiserver.validation.pod.dns import (
    dns_config_errors,
    host_aliases_errors,
    hostname_errors,
)
from clusters.emulated.apiserver.validation.pod.options import TEMPLATE, PodOptions
from clusters.emulated.apiserver.validation.pod.resources import pod_resources_errors, requirements_errors
from clusters.emulated.apiserver.validation.pod.security import (
    pod_security_context_errors,
    user_namespace_errors,
)
from clusters.emulated.apiserver.validation.pod.topology import spread_constraints_errors
from clusters.emulated.apiserver.validation.pod.volumes import volumes_errors
from clusters.emulated.apiserver.validation.pod.windows import host_process_errors, os_errors
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
)
from clusters.kube.internal import printed
from clusters.kube.selectors import validate_labels

Value = Mapping[str, Any]

MIRROR = "kubernetes.io/config.mirror"
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_INT32_MAX = 2147483647
_SUBDOMAINS = ("serviceAccountName", "nodeName")


def validate_pod_spec(
    spec: Value, path: str, metadata: Value | None = None, options: PodOptions = TEMPLATE
) -> list[FieldError]:
    """`metadata` is the Pod's, None for a template."""
    errors: list[FieldError] = []
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is None:
        errors.append(required(f"{path}.terminationGracePeriodSeconds"))
    volumes: dict[str, Value] = {}
    if spec.get("volumes"):
        pod_name = (metadata or {}).get("name") or ""
        volumes, wrong = volumes_errors(spec["volumes"], f"{path}.volumes", pod_name, options)
        errors += wrong
    claims = spec.get("resourceClaims") or ()
    claim_names = {claim["name"] for claim in claims if claim.get("name")}
    if claims:
        errors += _resource_claims(claims, metadata, f"{path}.resourceClaims")
    restart_policy = spec.get("restartPolicy", "")
    pod = Surroundings(
        volumes, claim_names, grace, restart_policy, spec.get("hostUsers") is not False, spec.get("os"), options
    )
    containers = spec.get("containers") or ()
    errors += containers_errors(containers, f"{path}.containers", pod)
    if spec.get("initContainers"):
        errors += init_containers_errors(spec["initContainers"], containers, f"{path}.initContainers", pod)
    if spec.get("ephemeralContainers"):
        errors += ephemeral_containers_errors(spec, f"{path}.ephemeralContainers", pod)
    if spec.get("resources") is not None:
        errors += pod_resources_errors(spec, claim_names, path, options)
    if spec.get("hostNetwork"):
        errors += _host_network_ports(containers, f"{path}.containers", options)
    errors += _choice(restart_policy, _RESTART_POLICIES, f"{path}.restartPolicy")
    dns_policy = spec.get("dnsPolicy", "")
    errors += _choice(dns_policy, _DNS_POLICIES, f"{path}.dnsPolicy")
    if spec.get("nodeSelector"):
        errors += validate_labels(spec["nodeSelector"], f"{path}.nodeSelector")
    errors += pod_security_context_errors(spec, path, options)
    return errors + _placement(spec, path, dns_policy, options)


def _placement(spec: Value, path: str, dns_policy: str, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec.get("affinity") is not None:
        errors += affinity_errors(spec["affinity"], f"{path}.affinity", options)
    if spec.get("dnsConfig") is not None or dns_policy == "None":
        errors += dns_config_errors(spec.get("dnsConfig"), dns_policy, f"{path}.dnsConfig")
    for position, gate in enumerate(spec.get("readinessGates") or ()):
        kind, at = gate.get("conditionType", ""), f"{path}.readinessGates[{position}].conditionType"
        errors += [invalid(at, kind, text) for text in names.qualified_name(kind)]
    if spec.get("schedulingGates"):
        errors += _scheduling_gates(spec["schedulingGates"], f"{path}.schedulingGates")
    if spec.get("topologySpreadConstraints"):
        constraints = spec["topologySpreadConstraints"]
        errors += spread_constraints_errors(constraints, f"{path}.topologySpreadConstraints", options)
    errors += host_process_errors(spec, path)
    errors += user_namespace_errors(spec, path, options)
    if spec.get("hostnameOverride") is not None:
        errors += hostname_errors(spec, path)
    for field in _SUBDOMAINS:
        if spec.get(field):
            errors += [invalid(f"{path}.{field}", spec[field], text) for text in names.dns_subdomain(spec[field])]
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _INT32_MAX:
        at = f"{path}.activeDeadlineSeconds"
        errors.append(invalid(at, deadline, names.range_error(1, _INT32_MAX)))
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            errors += [invalid(f"{path}.{field}", spec[field], text) for text in names.dns_label(spec[field])]
    if spec.get("tolerations"):
        errors += tolerations_errors(spec["tolerations"], f"{path}.tolerations", options)
    if spec.get("hostAliases"):
        errors += host_aliases_errors(spec["hostAliases"], f"{path}.hostAliases")
    return errors + _scheduling(spec, path, options)


def _scheduling(spec: Value, path: str, options: PodOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec.get("priorityClassName"):
        name, at = spec["priorityClassName"], f"{path}.priorityClassName"
        errors += [invalid(at, name, text) for text in names.dns_subdomain(name)]
    if spec.get("runtimeClassName") is not None:
        name, at = spec["runtimeClassName"], f"{path}.runtimeClassName"
        errors += [invalid(at, name, text) for text in names.dns_subdomain(name)]
    if spec.get("preemptionPolicy") is not None:
        policies = ("PreemptLowerPriority", "Never")
        errors += _choice(spec["preemptionPolicy"], policies, f"{path}.preemptionPolicy")
    if spec.get("overhead") is not None:
        errors += requirements_errors({"limits": spec["overhead"]}, (), f"{path}.overhead", options)
    if spec.get("os") is not None:
        errors += os_errors(spec, path)
    return errors + _file_references(spec, path)


def _choice(value: str, supported: tuple[str, ...], path: str) -> list[FieldError]:
    if value in supported:
        return []
    return [not_supported(path, value, supported)] if value else [required(path)]


def _resource_claims(claims: Sequence[Value], metadata: Value | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    mirrored = MIRROR in ((metadata or {}).get("annotations") or {})
    for position, claim in enumerate(claims):
        at = index(path, position)
        if mirrored:
            errors.append(forbidden("[]", "static pods do not support resource claims"))
            continue
        name = claim.get("name", "")
        if not name:
            errors.append(required(child(at, "name")))
        elif name in seen:
            errors.append(duplicate(child(at, "name"), name))
        else:
            errors += [invalid(child(at, "name"), name, text) for text in names.dns_label(name)]
            seen.add(name)
        sources = [
            field for field in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(field) is not None
        ]
        if len(sources) != 1:
            text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            if sources:
                text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.append(invalid(at, printed("core.PodResourceClaim", claim), text))
        for field in sources:
            errors += [invalid(child(at, field), claim[field], text) for text in names.dns_subdomain(claim[field])]
    return errors


def _host_network_ports(containers: Sequence[Value], path: str, options: PodOptions) -> list[FieldError]:
    text = "must match `containerPort` when `hostNetwork` is true"
    return [
        invalid(f"{path}[{position}].ports[{port_position}].hostPort", port.get("hostPort", 0), text)
        for position, container in enumerate(containers)
        for port_position, port in enumerate(container.get("ports") or ())
        if (options.is_pod or port.get("hostPort")) and port.get("hostPort", 0) != port.get("containerPort", 0)
    ]


def _scheduling_gates(gates: Sequence[Value], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, gate in enumerate(gates):
        name, at = gate.get("name", ""), index(path, position)
        errors += [invalid(at, name, text) for text in names.qualified_name(name)]
        if name in seen:
            errors.append(duplicate(at, name))
        seen.add(name)
    return errors


def _file_references(spec: Value, path: str) -> list[FieldError]:
    """Environment variables read from files: of a volume that is an empty directory."""
    volumes: dict[str, Value] | None = None

    def look(container: Value, at: str) -> list[FieldError]:
        nonlocal volumes
        errors: list[FieldError] = []
        for position, variable in enumerate(container.get("env") or ()):
            reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if reference is None:
                continue
            if volumes is None:
                volumes = {volume.get("name", ""): volume for volume in spec.get("volumes") or ()}
            name = reference.get("volumeName", "")
            where = f"{at}.env[{position}].valueFrom.fileKeyRef.volumeName"
            if name not in volumes:
                errors.append(not_found(where, name))
            elif volumes[name].get("emptyDir") is None:
                errors.append(invalid(where, name, "referenced volume must be of type emptyDir"))
        return errors

    return visit(spec, path, look)
