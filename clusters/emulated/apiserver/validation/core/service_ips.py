"""A Service's cluster IPs and IP families: their shape, how they may change, and what a client may leave out.

`keep_allocated` and `normalize_cluster_ips` run before validation; the registry gives out what is then missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusters.emulated.apiserver.validation.core.service_types import (
    needs_cluster_ip,
    needs_health_check,
    needs_node_port,
)
from clusters.kube.field import FieldError, duplicate, index, invalid, not_supported, required
from clusters.kube.ipaddr import ip, parse_ip

Object = dict[str, Any]
Spec = Mapping[str, Any]

_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_ONCE = "may not change once set"


def is_headless(spec: Spec) -> bool:
    return bool(spec.get("clusterIPs") == ["None"])


def cluster_ips_errors(spec: Spec, stored: Spec) -> list[FieldError]:
    if spec.get("type") == "ExternalName":
        return []
    errors: list[FieldError] = []
    several, single = spec.get("clusterIPs") or [], spec.get("clusterIP", "")
    if single and not several:
        errors.append(required("spec.clusterIPs"))
    elif single and several[0] != single:
        errors.append(invalid("spec.clusterIPs", several, "first value must match `clusterIP`"))
    elif several and not single:
        text = "must be empty when `clusterIP` is not specified"
        errors.append(invalid("spec.clusterIPs", several, text))
    families = spec.get("ipFamilies") or ()
    for position, family in enumerate(families):
        at = index("spec.ipFamilies", position)
        if family not in _FAMILIES:
            errors.append(not_supported(at, family, _FAMILIES))
        if family in families[:position]:
            errors.append(duplicate(at, family))
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        errors.append(not_supported("spec.ipFamilyPolicy", policy, _POLICIES))
    wrong = False
    for position, address in enumerate(several):
        if position == 0 and address == "None":
            if len(several) > 1:
                wrong = True
                text = "'None' must be the first and only value"
                errors.append(invalid("spec.clusterIPs", several, text))
            continue
        texts = [] if address in (stored.get("clusterIPs") or ()) else ip(address, strict=True)
        wrong = wrong or bool(texts)
        errors += [invalid(index("spec.clusterIPs", position), address, text) for text in texts]
    if len(several) > 2:
        errors.append(invalid("spec.clusterIPs", several, "may only hold up to 2 values"))
    return errors if wrong else errors + _family_errors(several, families)


def _family_errors(several: list[str], families: Any) -> list[FieldError]:
    errors: list[FieldError] = []
    parsed = [parse_ip(address) for address in several]
    versions = [address.version if address is not None else 0 for address in parsed]
    if len(several) > 1 and not {4, 6} <= set(versions):
        text = "may specify no more than one IP for each IP family"
        errors.append(invalid("spec.clusterIPs", several, text))
    if several == ["None"]:
        return errors
    for position, (family, version) in enumerate(zip(families, versions, strict=False)):
        if family in _FAMILIES and (family == "IPv6") != (version == 6):
            text = f"expected an {family} value as indicated by `ipFamilies[{position}]`"
            errors.append(invalid(index("spec.clusterIPs", position), several[position], text))
    return errors


def cluster_ips_update_errors(spec: Spec, stored: Spec) -> list[FieldError]:
    if "ExternalName" in (spec.get("type"), stored.get("type")):
        return []
    if is_headless(spec) and is_headless(stored):
        return []
    new, old = spec.get("clusterIPs") or [], stored.get("clusterIPs") or []
    shown: Any = new or None
    if len(old) == len(new):
        return [
            invalid(index("spec.clusterIPs", position), shown, _ONCE)
            for position, (address, before) in enumerate(zip(new, old, strict=True))
            if address != before
        ]
    errors: list[FieldError] = []
    if len(old) > len(new) and not new:
        errors.append(invalid("spec.clusterIPs[0]", shown, "primary clusterIP can not be unset"))
    if old and new and new[0] != old[0]:
        errors.append(invalid("spec.clusterIPs[0]", shown, _ONCE))
    if len(old) > len(new) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        errors.append(invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), text))
    return errors


def ip_families_update_errors(spec: Spec, stored: Spec) -> list[FieldError]:
    if "ExternalName" in (spec.get("type"), stored.get("type")):
        return []
    if is_headless(spec) or is_headless(stored):
        return []
    new, old = spec.get("ipFamilies") or [], stored.get("ipFamilies") or []
    at, shown, addresses = "spec.ipFamilies[0]", new or None, spec.get("clusterIPs") or None
    if len(old) == len(new):
        return [invalid(at, shown, _ONCE) for family, before in zip(new, old, strict=True) if family != before]
    errors: list[FieldError] = []
    if len(old) > len(new) and not addresses:
        errors.append(invalid(at, shown, "primary ipFamily can not be unset"))
    if old and new and new[0] != old[0]:
        errors.append(invalid(at, addresses, _ONCE))
    if len(old) > len(new) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        text = "must be set to 'SingleStack' when releasing the secondary ipFamily"
        errors.append(invalid("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), text))
    return errors


def normalize_cluster_ips(spec: Object, stored: Spec | None) -> None:
    """`clusterIP` and `clusterIPs` are two views of one thing: a client that knows only one may change it."""
    single = spec.get("clusterIP", "")
    if stored is None:
        if single and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [single]
        return
    old_single, old_several = stored.get("clusterIP", ""), stored.get("clusterIPs") or []
    if old_several and not spec.get("clusterIPs") and old_single == single:
        spec["clusterIPs"] = list(old_several)
    if old_single != single and (spec.get("clusterIPs") or []) == old_several:
        if single:
            spec["clusterIPs"] = [single]
        else:
            spec.pop("clusterIPs", None)


def keep_allocated(spec: Object, stored: Spec) -> None:
    """An update that leaves out what was given out keeps it."""
    if needs_cluster_ip(stored) and needs_cluster_ip(spec):
        if not spec.get("clusterIP") and stored.get("clusterIP"):
            spec["clusterIP"] = stored["clusterIP"]
        if not spec.get("clusterIPs") and stored.get("clusterIPs"):
            spec["clusterIPs"] = list(stored["clusterIPs"])
    if needs_node_port(stored) and needs_node_port(spec):
        _keep_node_ports(spec, stored)
    number = stored.get("healthCheckNodePort")
    if number and needs_health_check(stored) and needs_health_check(spec) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = number


def _keep_node_ports(spec: Object, stored: Spec) -> None:
    """By the port's name, unless another port now asks for the number."""
    given = {port.get("name", ""): port.get("nodePort", 0) for port in stored.get("ports") or ()}
    asked = {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
    for port in spec.get("ports") or ():
        number = given.get(port.get("name", ""), 0)
        if not port.get("nodePort") and number and number not in asked:
            port["nodePort"] = number
