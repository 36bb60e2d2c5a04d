"""How a Service's traffic is routed, and what its load balancer reports."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.validation.core.service_types import externally_accessible, needs_health_check
from clusters.kube import names
from clusters.kube.field import FieldError, child, forbidden, index, invalid, not_supported, required
from clusters.kube.ipaddr import ip, parse_ip

Object = dict[str, Any]

_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")


def traffic_errors(spec: Object, kind: str) -> list[FieldError]:
    errors: list[FieldError] = []
    policy, at = spec.get("externalTrafficPolicy", ""), "spec.externalTrafficPolicy"
    if not externally_accessible(spec):
        if policy:
            errors.append(invalid(at, policy, "may only be set for externally-accessible services"))
    elif not policy:
        errors.append(required(at))
    elif policy not in ("Cluster", "Local"):
        errors.append(not_supported(at, policy, ("Cluster", "Local")))
    health, at = spec.get("healthCheckNodePort", 0), "spec.healthCheckNodePort"
    if not needs_health_check(spec):
        if health:
            text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            errors.append(invalid(at, health, text))
    elif not health:
        errors.append(required(at))
    else:
        errors += [invalid(at, health, text) for text in names.port_number(health)]
    internal, at = spec.get("internalTrafficPolicy"), "spec.internalTrafficPolicy"
    if internal is None:
        if kind in ("NodePort", "LoadBalancer", "ClusterIP"):
            errors.append(required(at))
    elif internal not in ("Cluster", "Local"):
        errors.append(not_supported(at, internal, ("Cluster", "Local")))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        errors.append(not_supported("spec.trafficDistribution", distribution, _DISTRIBUTIONS))
    return errors


def load_balancer_status_errors(status: Object, old: Object, path: str, kind: str) -> list[FieldError]:
    ingresses, at = status.get("ingress") or (), child(path, "ingress")
    if kind != "LoadBalancer":
        text = "may only be used when `spec.type` is 'LoadBalancer'"
        return [forbidden(at, text)] if ingresses else []
    stored = {ingress.get("ip") for ingress in old.get("ingress") or ()}
    errors: list[FieldError] = []
    for position, ingress in enumerate(ingresses):
        where, address, mode = index(at, position), ingress.get("ip", ""), ingress.get("ipMode")
        if address and address not in stored:
            errors += [invalid(child(where, "ip"), address, text) for text in ip(address, strict=True)]
        if mode is None:
            if address:
                errors.append(required(child(where, "ipMode"), "must be specified when `ip` is set"))
        elif not address:
            errors.append(forbidden(child(where, "ipMode"), "may not be specified when `ip` is not set"))
        elif mode not in ("Proxy", "VIP"):
            errors.append(not_supported(child(where, "ipMode"), mode, ("Proxy", "VIP")))
        name = ingress.get("hostname", "")
        if name:
            errors += [invalid(child(where, "hostname"), name, text) for text in names.dns_subdomain(name)]
            if parse_ip(name) is not None:
                text = "must be a DNS name, not an IP address"
                errors.append(invalid(child(where, "hostname"), name, text))
    return errors
