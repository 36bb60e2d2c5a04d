"""IPAddress and ServiceCIDR: the bookkeeping of Service addresses."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.fields import named, required_named, unchanged
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.networking.ingress import GROUP
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import ipaddr, names
from clusters.kube.field import FieldError, immutable, index, invalid, required
from clusters.kube.internal import printed


class IPAddressRules(KindRules):
    group, kind = GROUP, "IPAddress"
    metadata_on_update = "both"

    def validate_name(self, name: str, prefix: bool) -> list[str]:
        return ipaddr.canonical_ip(name)

    def validate_create(self, obj: Object) -> list[FieldError]:
        parent, path = (obj.get("spec") or {}).get("parentRef"), "spec.parentRef"
        if parent is None:
            return [required(path)]
        errors: list[FieldError] = []
        if parent.get("group"):
            errors += named(f"{path}.group", parent["group"], names.dns_subdomain)
        for name in ("resource", "name"):
            errors += required_named(f"{path}.{name}", parent.get(name), names.path_segment_name)
        if parent.get("namespace"):
            errors += named(f"{path}.namespace", parent["namespace"], names.path_segment_name)
        return errors

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        parent, old_parent = (obj.get("spec") or {}).get("parentRef"), (old.get("spec") or {}).get("parentRef")
        return self.validate_create(obj) + unchanged(
            parent, old_parent, "spec.parentRef", "*networking.ParentReference"
        )

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        parent = (obj.get("spec") or {}).get("parentRef") or {}
        return {f"spec.parentRef.{name}": parent.get(name) or "" for name in ("group", "resource", "name", "namespace")}


class ServiceCIDRRules(LifecycleRules):
    group, kind = GROUP, "ServiceCIDR"
    zero_status = ()
    status_keeps_metadata = True

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _cidrs_errors(obj.get("spec") or {})

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        spec = obj.get("spec") or {}
        cidrs, old_cidrs = spec.get("cidrs") or [], (old.get("spec") or {}).get("cidrs") or []
        if len(cidrs) == len(old_cidrs):
            pairs = enumerate(zip(cidrs, old_cidrs, strict=True))
            return [immutable(index("spec.cidrs", at), new) for at, (new, stored) in pairs if new != stored]
        if len(old_cidrs) == 1 and len(cidrs) == 2:
            errors = [] if cidrs[0] == old_cidrs[0] else [immutable("spec.cidrs[0]", cidrs[0])]
            return errors + _cidrs_errors(spec)
        return [immutable("spec.cidrs", spec.get("cidrs"))]


def _cidrs_errors(spec: Object) -> list[FieldError]:
    path, cidrs = "spec.cidrs", spec.get("cidrs") or []
    if not cidrs:
        return [required(path, "at least one CIDR required")]
    if len(cidrs) > 2:
        return [invalid(path, printed("networking.ServiceCIDRSpec", spec), "may only hold up to 2 values")]
    errors: list[FieldError] = []
    for position, cidr in enumerate(cidrs):
        errors += [invalid(index(path, position), cidr, text) for text in ipaddr.canonical_cidr(cidr)]
    networks = [ipaddr.parse_cidr(cidr) for cidr in cidrs]
    if len(cidrs) == 2 and networks[0] and networks[1] and networks[0].version == networks[1].version:
        text = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        errors.append(invalid(path, cidrs, text))
    return errors
