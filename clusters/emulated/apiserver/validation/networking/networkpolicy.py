"""NetworkPolicy: who may talk to the selected Pods."""

from __future__ import annotations

from clusters.emulated.apiserver.validation.fields import named
from clusters.emulated.apiserver.validation.lifecycle import LifecycleRules
from clusters.emulated.apiserver.validation.networking.ingress import GROUP
from clusters.emulated.apiserver.validation.rules import Object
from clusters.kube import ipaddr, names
from clusters.kube.field import FieldError, forbidden, index, invalid, not_supported, required
from clusters.kube.selectors import validate_label_selector

_DIRECTIONS = (("ingress", "from"), ("egress", "to"))
_PROTOCOLS = ("TCP", "UDP", "SCTP")


class NetworkPolicyRules(LifecycleRules):
    group, kind = GROUP, "NetworkPolicy"
    generation_fields = ("spec",)

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
        for direction, _ in _DIRECTIONS:
            for rule in spec.get(direction) or ():
                for port in rule.get("ports") or ():
                    port.setdefault("protocol", "TCP")

    def validate_create(self, obj: Object) -> list[FieldError]:
        return _spec_errors(obj.get("spec") or {}, {}, frozenset())

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        old_spec = old.get("spec") or {}
        known = frozenset(
            cidr
            for _, block in _ip_blocks(old_spec)
            for cidr in (block.get("cidr") or "", *(block.get("except") or ()))
        )
        return _spec_errors(obj.get("spec") or {}, old_spec, known)

    def warnings_create(self, obj: Object) -> list[str]:
        warnings: list[str] = []
        for path, block in _ip_blocks(obj.get("spec") or {}):
            warnings += ipaddr.warnings_for_cidr(f"{path}.cidr", block.get("cidr") or "")
            for number, cidr in enumerate(block.get("except") or ()):
                warnings += ipaddr.warnings_for_cidr(index(f"{path}.except", number), cidr)
        return warnings

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return self.warnings_create(obj)


def _ip_blocks(spec: Object) -> list[tuple[str, Object]]:
    return [
        (f"spec.{direction}[{number}].{peers}[{position}].ipBlock", peer["ipBlock"])
        for direction, peers in _DIRECTIONS
        for number, rule in enumerate(spec.get(direction) or ())
        for position, peer in enumerate(rule.get(peers) or ())
        if peer.get("ipBlock") is not None
    ]


def _spec_errors(spec: Object, old_spec: Object, known_cidrs: frozenset[str]) -> list[FieldError]:
    allow_invalid = bool(validate_label_selector(old_spec.get("podSelector"), ""))
    errors = validate_label_selector(spec.get("podSelector"), "spec.podSelector", allow_invalid_values=allow_invalid)
    for direction, peers in _DIRECTIONS:
        for number, rule in enumerate(spec.get(direction) or ()):
            rule_path = index(f"spec.{direction}", number)
            for position, port in enumerate(rule.get("ports") or ()):
                errors += _port_errors(port, index(f"{rule_path}.ports", position))
            for position, peer in enumerate(rule.get(peers) or ()):
                path = index(f"{rule_path}.{peers}", position)
                errors += _peer_errors(peer, path, allow_invalid, known_cidrs)
    types = spec.get("policyTypes") or []
    if len(types) > 2:
        errors.append(invalid("spec.policyTypes", types, "may not specify more than two policyTypes"))
        return errors
    for position, policy_type in enumerate(types):
        if policy_type not in ("Ingress", "Egress"):
            path = index("spec.policyTypes", position)
            errors.append(not_supported(path, policy_type, ("Ingress", "Egress")))
    return errors


def _port_errors(port: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    protocol, value, end = port.get("protocol"), port.get("port"), port.get("endPort")
    end_path = f"{path}.endPort"
    if protocol is not None and protocol not in _PROTOCOLS:
        errors.append(not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
    if value is None:
        if end is not None:
            errors.append(invalid(end_path, end, "may not be specified when `port` is not specified"))
    elif isinstance(value, int):
        errors += [invalid(f"{path}.port", value, text) for text in names.port_number(value)]
        if end is not None:
            if end < value:
                errors.append(invalid(end_path, value, "must be greater than or equal to `port`"))
            errors += [invalid(end_path, end, text) for text in names.port_number(end)]
    else:
        if end is not None:
            errors.append(invalid(end_path, end, "may not be specified when `port` is non-numeric"))
        errors += named(f"{path}.port", value, names.port_name)
    return errors


def _peer_errors(peer: Object, path: str, allow_invalid: bool, known_cidrs: frozenset[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    selectors = [name for name in ("podSelector", "namespaceSelector") if peer.get(name) is not None]
    for name in selectors:
        errors += validate_label_selector(peer[name], f"{path}.{name}", allow_invalid_values=allow_invalid)
    block = peer.get("ipBlock")
    if block is not None:
        errors += _ip_block_errors(block, f"{path}.ipBlock", known_cidrs)
    if not selectors and block is None:
        errors.append(required(path, "must specify a peer"))
    elif selectors and block is not None:
        errors.append(forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _ip_block_errors(block: Object, path: str, known_cidrs: frozenset[str]) -> list[FieldError]:
    cidr = block.get("cidr") or ""
    if not cidr:
        return [required(f"{path}.cidr")]
    errors = _cidr_errors(cidr, f"{path}.cidr", known_cidrs)
    network = ipaddr.parse_cidr(cidr)
    if network is None:
        return errors
    for position, text in enumerate(block.get("except") or ()):
        except_path = index(f"{path}.except", position)
        errors += _cidr_errors(text, except_path, known_cidrs)
        part = ipaddr.parse_cidr(text)
        if part is None:
            continue
        inside = part.version == network.version and part.network_address in network
        if not inside or network.prefixlen >= part.prefixlen:
            errors.append(invalid(except_path, text, "must be a strict subset of `cidr`"))
    return errors


def _cidr_errors(text: str, path: str, known_cidrs: frozenset[str]) -> list[FieldError]:
    return [] if text in known_cidrs else [invalid(path, text, why) for why in ipaddr.cidr(text, strict=True)]
