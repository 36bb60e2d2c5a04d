"""What the type of a Service brings with it, and what a change of type takes away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]
Spec = Mapping[str, Any]


def externally_accessible(spec: Spec) -> bool:
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(spec: Spec) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def needs_cluster_ip(spec: Spec) -> bool:
    return spec.get("type") != "ExternalName"


def needs_node_port(spec: Spec) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def drop_what_the_type_does_not_have(obj: Object, old: Object) -> None:
    """Fields that only the old type has, and that the client merely sent back, go away with it."""
    spec, stored = obj.get("spec") or {}, old.get("spec") or {}
    if needs_cluster_ip(stored) and not needs_cluster_ip(spec):
        ips = ("clusterIP", "clusterIPs")
        if all((spec.get(field) or None) == (stored.get(field) or None) for field in ips):
            for field in ips:
                spec.pop(field, None)
        for field in ("ipFamilies", "ipFamilyPolicy"):
            if (spec.get(field) or None) == (stored.get(field) or None):
                spec.pop(field, None)
    if needs_node_port(stored) and not needs_node_port(spec) and _node_ports(spec) <= _node_ports(stored):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if needs_health_check(stored) and not needs_health_check(spec):
        _drop_same(spec, stored, "healthCheckNodePort")
    if stored.get("type") == "LoadBalancer" and spec.get("type") != "LoadBalancer":
        _drop_same(spec, stored, "allocateLoadBalancerNodePorts")
        _drop_same(spec, stored, "loadBalancerClass")
    if externally_accessible(stored) and not externally_accessible(spec):
        _drop_same(spec, stored, "externalTrafficPolicy")
    if spec.get("type") != "LoadBalancer":
        obj["status"] = {**(obj.get("status") or {}), "loadBalancer": {}}


def _drop_same(spec: Object, stored: Spec, field: str) -> None:
    if field in spec and spec[field] == stored.get(field):
        del spec[field]


def _node_ports(spec: Spec) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
