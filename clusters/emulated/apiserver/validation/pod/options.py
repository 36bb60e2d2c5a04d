"""What validation lets pass because the stored object already has it (ratcheting), and Pod versus template."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from clusters.kube import names
from clusters.kube.selectors import validate_label_selector

Spec = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PodOptions:
    """All off for a new object, except that `is_pod` tells a Pod from a template."""

    is_pod: bool = False
    invalid_label_value_in_selector: bool = False
    invalid_label_value_in_node_affinity: bool = False
    invalid_topology_selector: bool = False
    legacy_match_label_keys: bool = False
    indivisible_huge_pages: bool = False
    non_local_token_path: bool = False
    host_namespace_sysctls: bool = False
    host_network_with_user_namespace: bool = False
    volume_devices_with_user_namespace: bool = False
    toleration_comparison: bool = False
    restart_container_for_init: bool = False
    invalid_deletion_cost: bool = False
    selinux_mount_option: bool = False


POD = PodOptions(is_pod=True)
TEMPLATE = PodOptions()


def containers_of(spec: Spec) -> list[dict[str, Any]]:
    return [
        *(spec.get("initContainers") or ()),
        *(spec.get("containers") or ()),
        *(spec.get("ephemeralContainers") or ()),
    ]


def options_from(old_spec: Spec | None, old_annotations: dict[str, str] | None, base: PodOptions) -> PodOptions:
    """What the stored spec and annotations allow their successor to keep."""
    if old_spec is None:
        return base
    user_namespace = old_spec.get("hostUsers") is False
    return replace(
        base,
        invalid_label_value_in_selector=_affinity_selector_invalid(old_spec),
        invalid_label_value_in_node_affinity=_node_affinity_invalid(old_spec),
        invalid_topology_selector=any(
            validate_label_selector(constraint.get("labelSelector"), "")
            for constraint in old_spec.get("topologySpreadConstraints") or ()
        ),
        legacy_match_label_keys=_match_label_keys_invalid(old_spec),
        indivisible_huge_pages=_huge_pages_indivisible(old_spec),
        non_local_token_path=_token_path_not_local(old_spec),
        host_namespace_sysctls=_host_sysctl_used(old_spec),
        host_network_with_user_namespace=user_namespace and bool(old_spec.get("hostNetwork")),
        volume_devices_with_user_namespace=user_namespace
        and any(container.get("volumeDevices") for container in containers_of(old_spec)),
        toleration_comparison=any(
            toleration.get("operator") in ("Lt", "Gt") for toleration in old_spec.get("tolerations") or ()
        ),
        restart_container_for_init=_restart_container_for_init(old_spec),
        selinux_mount_option=(old_spec.get("securityContext") or {}).get("seLinuxChangePolicy") is not None,
        invalid_deletion_cost=not valid_deletion_cost(old_annotations or {}),
    )


DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"


def valid_deletion_cost(annotations: dict[str, str]) -> bool:
    if DELETION_COST not in annotations:
        return True
    text = annotations[DELETION_COST]
    if not text or not (text == "0" or text[0] == "-" or text[0] in "123456789"):
        return False
    digits = text[1:] if text[0] == "-" else text
    return digits.isascii() and digits.isdigit() and -(1 << 31) <= int(text) < 1 << 31


def _affinity_terms(spec: Spec) -> list[dict[str, Any]]:
    terms: list[dict[str, Any]] = []
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(kind) or {}
        terms += affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [
            weighted.get("podAffinityTerm") or {}
            for weighted in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        ]
    return terms


def _affinity_selector_invalid(spec: Spec) -> bool:
    return any(
        names.label_value(value)
        for term in _affinity_terms(spec)
        for selector in (term.get("labelSelector") or {}, term.get("namespaceSelector") or {})
        for expression in selector.get("matchExpressions") or ()
        for value in expression.get("values") or ()
    )


def _node_affinity_invalid(spec: Spec) -> bool:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return any(
        names.label_value(value)
        for term in required.get("nodeSelectorTerms") or ()
        for expression in term.get("matchExpressions") or ()
        for value in expression.get("values") or ()
    )


def _match_label_keys_invalid(spec: Spec) -> bool:
    from clusters.emulated.apiserver.validation.pod.topology import match_label_keys

    return any(
        match_label_keys("", constraint.get("matchLabelKeys"), None, constraint.get("labelSelector"))
        for constraint in spec.get("topologySpreadConstraints") or ()
    )


def _huge_pages_indivisible(spec: Spec) -> bool:
    from clusters.emulated.apiserver.validation.pod.resources import divisible_huge_pages, is_huge_page

    return any(
        is_huge_page(name) and not divisible_huge_pages(name, str(amount))
        for container in containers_of(spec)
        for amounts in (container.get("resources") or {}).values()
        if isinstance(amounts, dict)
        for name, amount in amounts.items()
    )


def _token_path_not_local(spec: Spec) -> bool:
    from clusters.emulated.apiserver.validation.paths import local_non_reserved_path

    return any(
        source["serviceAccountToken"].get("path") and local_non_reserved_path(source["serviceAccountToken"]["path"], "")
        for volume in spec.get("volumes") or ()
        for source in (volume.get("projected") or {}).get("sources") or ()
        if source.get("serviceAccountToken")
    )


def _host_sysctl_used(spec: Spec) -> bool:
    from clusters.emulated.apiserver.validation.pod.security import host_sysctl

    return any(
        host_sysctl(sysctl.get("name", ""), spec, "")
        for sysctl in (spec.get("securityContext") or {}).get("sysctls") or ()
    )


def _restart_container_for_init(spec: Spec) -> bool:
    return any(
        policy.get("restartPolicy") == "RestartContainer"
        for container in spec.get("initContainers") or ()
        if container.get("restartPolicy") != "Always"
        for policy in container.get("resizePolicy") or ()
    )
