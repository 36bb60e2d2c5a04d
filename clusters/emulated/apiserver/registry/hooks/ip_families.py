"""`ipFamilies` and `ipFamilyPolicy` of a Service: what a client leaves out, inferred from the rest and the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.registry.hooks.contract import Object
from clusters.emulated.apiserver.validation.core.service_ips import cluster_ips_errors
from clusters.kube import errors
from clusters.kube.field import FieldError, invalid
from clusters.kube.ipaddr import parse_ip

Spec = Mapping[str, Any]
_POLICY = "spec.ipFamilyPolicy"
_OTHER = {"IPv4": "IPv6", "IPv6": "IPv4"}


def initialize(service: Object, stored: Spec | None, configured: Sequence[str]) -> None:
    """Fills in both fields; `stored` is the Service's spec before an update, `configured` the cluster's families."""
    spec = service["spec"]
    if spec.get("type") == "ExternalName" or keeps_preferred(spec, stored):
        return
    name = service["metadata"].get("name", "")
    headless_alone = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        before = (stored or {}).get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = before or ("RequireDualStack" if headless_alone else "SingleStack")
    _refuse(name, cluster_ips_errors(spec, stored or {}))
    problems = _reduced(spec, stored) if stored is not None else []
    problems += _single_stack_errors(spec)
    problems += _infer_from_addresses(spec, configured)
    _refuse(name, problems)
    if headless_alone:
        _fill(spec, configured, dual=True)
        return
    _refuse(name, _not_configured(spec, configured))
    _fill(spec, configured, dual=len(configured) == 2)


def keeps_preferred(spec: Spec, stored: Spec | None) -> bool:
    """A PreferDualStack Service that does not change neither gains nor loses an address with the cluster's ways."""
    return (
        stored is not None
        and spec.get("ipFamilyPolicy") == "PreferDualStack"
        and stored.get("ipFamilyPolicy") in (None, "PreferDualStack")
        and spec.get("type") == stored.get("type")
        and spec.get("type") in ("ClusterIP", "NodePort", "LoadBalancer")
        and (spec.get("clusterIPs") or []) == (stored.get("clusterIPs") or [])
        and (spec.get("ipFamilies") or []) == (stored.get("ipFamilies") or [])
    )


def _refuse(name: str, problems: list[FieldError]) -> None:
    if problems:
        raise errors.invalid("Service", name, problems)


def _reduced(spec: Object, stored: Spec) -> list[FieldError]:
    problems: list[FieldError] = []
    for field, what in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
        new, old = spec.get(field) or [], stored.get(field) or []
        if spec["ipFamilyPolicy"] == "SingleStack":
            if new == old and len(new) > 1:
                spec[field] = new[:1]
        elif new and len(new) < len(old):
            text = f"must be 'SingleStack' to release the secondary {what}"
            problems.append(invalid(_POLICY, spec["ipFamilyPolicy"], text))
    return problems


def _single_stack_errors(spec: Spec) -> list[FieldError]:
    if spec["ipFamilyPolicy"] != "SingleStack":
        return []
    text = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
    return [
        invalid(_POLICY, "SingleStack", text.format(what))
        for field, what in (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families"))
        if len(spec.get(field) or ()) == 2
    ]


def _infer_from_addresses(spec: Object, configured: Sequence[str]) -> list[FieldError]:
    problems: list[FieldError] = []
    for position, address in enumerate(spec.get("clusterIPs") or ()):
        if address == "None":
            break
        if position < len(spec.get("ipFamilies") or ()):
            continue
        parsed = parse_ip(address)
        family = f"IPv{parsed.version}" if parsed is not None else "unknown"
        if family not in configured:
            text = f"{family} is not configured on this cluster"
            problems.append(invalid(f"spec.clusterIPs[{position}]", spec["clusterIPs"], text))
        else:
            spec["ipFamilies"] = [*(spec.get("ipFamilies") or ()), family]
    return problems


def _not_configured(spec: Spec, configured: Sequence[str]) -> list[FieldError]:
    problems: list[FieldError] = []
    if spec["ipFamilyPolicy"] == "RequireDualStack" and len(configured) < 2:
        text = "this cluster is not configured for dual-stack services"
        problems.append(invalid(_POLICY, "RequireDualStack", text))
    return problems + [
        invalid(f"spec.ipFamilies[{position}]", family, "not configured on this cluster")
        for position, family in enumerate(spec.get("ipFamilies") or ())
        if family not in configured
    ]


def _fill(spec: Object, configured: Sequence[str], *, dual: bool) -> None:
    families = spec.get("ipFamilies") or [configured[0]]
    if dual and len(families) == 1 and spec["ipFamilyPolicy"] != "SingleStack":
        families = [*families, _OTHER[families[0]]]
    spec["ipFamilies"] = families
