"""What the server accepts in a Service but warns about."""

from __future__ import annotations

from typing import Any

from clusters.kube.field import index
from clusters.kube.gostring import quote
from clusters.kube.ipaddr import warnings_for_cidr, warnings_for_ip

Object = dict[str, Any]

HINTS = "service.kubernetes.io/topology-aware-hints"
MODE = "service.kubernetes.io/topology-mode"


def service_warnings(obj: Object) -> list[str]:
    spec, warnings = obj.get("spec") or {}, []
    if HINTS in ((obj.get("metadata") or {}).get("annotations") or {}):
        warnings.append(f"annotation {HINTS} is deprecated, please use {MODE} instead")
    kind, cluster_ip, external = spec.get("type", ""), spec.get("clusterIP", ""), spec.get("externalIPs") or ()
    if cluster_ip and cluster_ip != "None":
        for position, address in enumerate(spec.get("clusterIPs") or ()):
            warnings += warnings_for_ip(index("spec.clusterIPs", position), address)
    headless = kind == "ClusterIP" and cluster_ip == "None"
    if headless:
        if spec.get("loadBalancerIP"):
            warnings.append("spec.loadBalancerIP is ignored for headless services")
        if external:
            warnings.append("spec.externalIPs is ignored for headless services")
        if spec.get("sessionAffinity") != "None":
            warnings.append("spec.SessionAffinity is ignored for headless services")
    for position, address in enumerate(external):
        warnings += warnings_for_ip(index("spec.externalIPs", position), address)
    if external and not headless and kind != "ExternalName":
        warnings.append("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
    if spec.get("loadBalancerIP"):
        warnings += warnings_for_ip("spec.loadBalancerIP", spec["loadBalancerIP"])
    for position, value in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        warnings += warnings_for_cidr(index("spec.loadBalancerSourceRanges", position), value)
    if kind == "ExternalName" and external:
        warnings.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if kind != "ExternalName" and spec.get("externalName"):
        warnings.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        use = f"{quote('PreferClose')} is deprecated; use {quote('PreferSameZone')}"
        warnings.append(f"spec.trafficDistribution: {use}")
    return warnings
