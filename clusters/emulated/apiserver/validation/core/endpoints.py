"""The Endpoints kind, and which addresses traffic may go to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.apiserver.validation.metadata import validate_metadata
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import FieldError, child, index, invalid, not_supported, required
from clusters.kube.ipaddr import ip, parse_ip, warnings_for_ip

Value = Mapping[str, Any]

PROTOCOLS = ("SCTP", "TCP", "UDP")
_MANAGED_BY = "endpoints.kubernetes.io/managed-by"


def endpoint_ip_errors(address: str, path: str) -> list[FieldError]:
    """No address of the node itself or of its link."""
    parsed = parse_ip(address)
    if parsed is None:
        return [invalid(path, address, "must be a valid IP address")]
    errors: list[FieldError] = []
    if parsed.is_unspecified:
        errors.append(invalid(path, address, f"may not be unspecified ({address})"))
    if parsed.is_loopback:
        text = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
        errors.append(invalid(path, address, text))
    if parsed.is_link_local:
        text = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        errors.append(invalid(path, address, text))
    number = int(parsed)
    if number >> 8 == 0xE00000 if parsed.version == 4 else number >> 112 & 0xFF0F == 0xFF02:
        text = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        errors.append(invalid(path, address, text))
    return errors


def _address_errors(address: Value, path: str) -> list[FieldError]:
    text_ip, at = address.get("ip", ""), child(path, "ip")
    errors = [invalid(at, text_ip, text) for text in ip(text_ip, strict=True)]
    if address.get("hostname"):
        name = address["hostname"]
        errors += [invalid(child(path, "hostname"), name, text) for text in names.dns_label(name)]
    if address.get("nodeName") is not None:
        name = address["nodeName"]
        errors += [invalid(child(path, "nodeName"), name, text) for text in names.dns_subdomain(name)]
    return errors + endpoint_ip_errors(text_ip, at)


def _port_errors(port: Value, path: str, *, name_required: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    name, number, protocol = port.get("name", ""), port.get("port", 0), port.get("protocol", "")
    if name_required and not name:
        errors.append(required(child(path, "name")))
    elif name:
        errors += [invalid(child(path, "name"), name, text) for text in names.dns_label(name)]
    errors += [invalid(child(path, "port"), number, text) for text in names.port_number(number)]
    if not protocol:
        errors.append(required(child(path, "protocol")))
    elif protocol not in PROTOCOLS:
        errors.append(not_supported(child(path, "protocol"), protocol, PROTOCOLS))
    if port.get("appProtocol") is not None:
        value = port["appProtocol"]
        errors += [invalid(child(path, "appProtocol"), value, text) for text in names.qualified_name(value)]
    return errors


def _subsets_errors(subsets: Sequence[Value]) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, subset in enumerate(subsets):
        at = index("subsets", position)
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(at, "must specify `addresses` or `notReadyAddresses`"))
        for kind in ("addresses", "notReadyAddresses"):
            for address_position, address in enumerate(subset.get(kind) or ()):
                errors += _address_errors(address, f"{at}.{kind}[{address_position}]")
        ports = subset.get("ports") or ()
        for port_position, port in enumerate(ports):
            errors += _port_errors(port, f"{at}.ports[{port_position}]", name_required=len(ports) > 1)
    return errors


class EndpointsRules(KindRules):
    kind = "Endpoints"
    allow_create_on_update = True

    def default(self, obj: Object) -> None:
        for subset in obj.get("subsets") or ():
            for port in subset.get("ports") or ():
                if not port.get("protocol"):
                    port["protocol"] = "TCP"

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _subsets_errors(obj.get("subsets") or ())

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        errors = validate_metadata(obj, True, self.validate_name)
        if (obj.get("subsets") or []) == (old.get("subsets") or []):
            return errors
        return errors + self.validate_create(obj)

    def warnings_create(self, obj: Object) -> list[str]:
        if ((obj.get("metadata") or {}).get("labels") or {}).get(_MANAGED_BY) == "endpoint-controller":
            return []
        return [
            warning
            for position, subset in enumerate(obj.get("subsets") or ())
            for kind in ("addresses", "notReadyAddresses")
            for address_position, address in enumerate(subset.get(kind) or ())
            for warning in warnings_for_ip(f"subsets[{position}].{kind}[{address_position}].ip", address.get("ip", ""))
        ]

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return self.warnings_create(obj)
