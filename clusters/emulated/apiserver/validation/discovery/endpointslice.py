"""EndpointSlice: where a Service's traffic goes."""

from __future__ import annotations

import ipaddress

from clusters.emulated.apiserver.validation.fields import equal, named, unchanged
from clusters.emulated.apiserver.validation.lifecycle import bump_generation
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import ipaddr, names
from clusters.kube.field import FieldError, duplicate, index, invalid, not_supported, required, too_many

_ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_ADDRESSES_MAX = 100
_PORTS_MAX = 20000
_ENDPOINTS_MAX = 1000
_HINTS_MAX = 8
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


class EndpointSliceRules(KindRules):
    group, kind = "discovery.k8s.io", "EndpointSlice"
    metadata_on_update = "whole"

    def default(self, obj: Object) -> None:
        for port in obj.get("ports") or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")
        for endpoint in obj.get("endpoints") or ():
            endpoint.setdefault("conditions", {})

    def prepare_create(self, obj: Object) -> None:
        obj.setdefault("metadata", {})["generation"] = 1
        _drop_topology(obj)

    def prepare_update(self, obj: Object, old: Object) -> None:
        metadata, old_metadata = obj.get("metadata") or {}, old.get("metadata") or {}
        same_labels = (metadata.get("labels") or {}) == (old_metadata.get("labels") or {})
        fields = ("addressType", "endpoints", "ports")
        same = same_labels and all(equal(obj.get(name), old.get(name)) for name in fields)
        bump_generation(obj, old, not same)
        if not equal(obj.get("endpoints"), old.get("endpoints")):
            _drop_topology(obj)

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _slice_errors(obj) + _endpoints_errors(obj)

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = _slice_errors(obj)
        if not equal(obj.get("endpoints"), old.get("endpoints")):
            errors += _endpoints_errors(obj)
        return errors + unchanged(obj.get("addressType"), old.get("addressType"), "addressType")

    def warnings_create(self, obj: Object) -> list[str]:
        warnings: list[str] = []
        if obj.get("addressType") == "FQDN":
            warnings.append("spec.addressType: FQDN endpoints are deprecated")
        return warnings + self.warnings_update(obj, obj)

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        labels = (obj.get("metadata") or {}).get("labels") or {}
        if labels.get(_MANAGED_BY) in _CONTROLLERS:
            return []
        warnings: list[str] = []
        for position, endpoint in enumerate(obj.get("endpoints") or ()):
            for number, address in enumerate(endpoint.get("addresses") or ()):
                path = index(f"{index('endpoints', position)}.addresses", number)
                warnings += ipaddr.warnings_for_ip(path, address)
        return warnings


def _drop_topology(obj: Object) -> None:
    for endpoint in obj.get("endpoints") or ():
        endpoint.pop("deprecatedTopology", None)


def _slice_errors(obj: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = obj.get("addressType") or ""
    if not kind:
        errors.append(required("addressType"))
    elif kind not in _ADDRESS_TYPES:
        errors.append(not_supported("addressType", kind, _ADDRESS_TYPES))
    ports = obj.get("ports") or ()
    if len(ports) > _PORTS_MAX:
        return [*errors, too_many("ports", len(ports), _PORTS_MAX)]
    seen: set[str] = set()
    for position, port in enumerate(ports):
        path, name = index("ports", position), port.get("name") or ""
        if name:
            errors += named(f"{path}.name", name, names.dns_label)
        if name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
        protocol = port.get("protocol")
        if protocol is None:
            errors.append(required(f"{path}.protocol"))
        elif protocol not in _PROTOCOLS:
            errors.append(not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
        if port.get("appProtocol") is not None:
            errors += named(f"{path}.appProtocol", port["appProtocol"], names.qualified_name)
    return errors


def _endpoints_errors(obj: Object) -> list[FieldError]:
    endpoints = obj.get("endpoints") or ()
    if len(endpoints) > _ENDPOINTS_MAX:
        return [too_many("endpoints", len(endpoints), _ENDPOINTS_MAX)]
    errors: list[FieldError] = []
    kind = obj.get("addressType") or ""
    for position, endpoint in enumerate(endpoints):
        path = index("endpoints", position)
        errors += _address_errors(endpoint.get("addresses") or (), kind, f"{path}.addresses")
        if endpoint.get("nodeName") is not None:
            errors += named(f"{path}.nodeName", endpoint["nodeName"], names.dns_subdomain)
        if endpoint.get("hostname") is not None:
            errors += named(f"{path}.hostname", endpoint["hostname"], names.dns_label)
        if endpoint.get("hints") is not None:
            errors += _hint_errors(endpoint["hints"], f"{path}.hints")
    return errors


def _address_errors(addresses: list[str] | tuple[()], kind: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not addresses:
        errors.append(required(path, "must contain at least 1 address"))
    elif len(addresses) > _ADDRESSES_MAX:
        errors.append(too_many(path, len(addresses), _ADDRESSES_MAX))
    for position, address in enumerate(addresses):
        address_path = index(path, position)
        if kind == "FQDN":
            errors += fully_qualified_name_errors(address_path, address)
        elif kind in ("IPv4", "IPv6"):
            texts = ipaddr.ip(address, strict=True) if kind == "IPv4" else ipaddr.canonical_ip(address)
            if texts:
                errors += [invalid(address_path, address, text) for text in texts]
                continue
            parsed = ipaddr.parse_ip(address)
            if parsed is None or f"IPv{parsed.version}" != kind:
                errors.append(invalid(path, address, f"must be an {kind} address"))
            if parsed is not None:
                errors += endpoint_ip_errors(parsed, address, address_path)
    return errors


def endpoint_ip_errors(
    parsed: ipaddress.IPv4Address | ipaddress.IPv6Address, address: str, path: str
) -> list[FieldError]:
    """Addresses that no other host can be asked to connect to."""
    errors: list[FieldError] = []
    if parsed.is_unspecified:
        errors.append(invalid(path, address, f"may not be unspecified ({address})"))
    if parsed.is_loopback:
        errors.append(invalid(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
    if parsed.is_link_local:
        text = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        errors.append(invalid(path, address, text))
    local_multicast = (
        parsed in ipaddress.ip_network("224.0.0.0/24") if parsed.version == 4 else parsed.packed[:2] == b"\xff\x02"
    )
    if local_multicast:
        text = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        errors.append(invalid(path, address, text))
    return errors


def fully_qualified_name_errors(path: str, name: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    name = name.removesuffix(".")
    texts = names.dns_subdomain(name)
    if texts:
        return [invalid(path, name, ",".join(texts))]
    labels = name.split(".")
    if len(labels) < 2:
        text = "should be a domain with at least two segments separated by dots"
        return [invalid(path, name, text)]
    for label in labels:
        texts = names.dns_label(label)
        if texts:
            return [invalid(path, label, ",".join(texts))]
    return []


def _hint_errors(hints: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for part, check in (("forZones", names.label_value), ("forNodes", names.dns_subdomain)):
        entries, part_path = hints.get(part) or (), f"{path}.{part}"
        if len(entries) > _HINTS_MAX:
            return [*errors, too_many(part_path, len(entries), _HINTS_MAX)]
        seen: set[str] = set()
        for position, entry in enumerate(entries):
            name_path, name = f"{index(part_path, position)}.name", entry.get("name") or ""
            if name in seen:
                errors.append(duplicate(name_path, name))
            seen.add(name)
            errors += [invalid(name_path, name, text) for text in check(name)]
    return errors
