"""The Service kind. Cluster IPs, node ports and IP families are given out by the registry; see `service_ips`."""

from __future__ import annotations

from collections.abc import Sequence

from clusters.emulated.apiserver.validation.core.endpoints import PROTOCOLS, endpoint_ip_errors
from clusters.emulated.apiserver.validation.core.service_ips import (
    cluster_ips_errors,
    cluster_ips_update_errors,
    ip_families_update_errors,
    is_headless,
    keep_allocated,
    normalize_cluster_ips,
)
from clusters.emulated.apiserver.validation.core.service_traffic import load_balancer_status_errors, traffic_errors
from clusters.emulated.apiserver.validation.core.service_types import (
    drop_what_the_type_does_not_have,
    externally_accessible,
    needs_health_check,
)
from clusters.emulated.apiserver.validation.core.service_warnings import HINTS, MODE, service_warnings
from clusters.emulated.apiserver.validation.lifecycle import keep_field
from clusters.emulated.apiserver.validation.metadata import validate_metadata, validate_metadata_update
from clusters.emulated.apiserver.validation.pod.handlers import port_errors
from clusters.emulated.apiserver.validation.rules import KindRules, Object
from clusters.kube import names
from clusters.kube.field import (
    FieldError,
    child,
    duplicate,
    forbidden,
    index,
    invalid,
    not_supported,
    required,
)
from clusters.kube.internal import printed
from clusters.kube.ipaddr import cidr, ip
from clusters.kube.selectors import validate_labels

_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_AFFINITY_SECONDS = 10800
_AFFINITY_SECONDS_MAX = 86400
_ONLY_LOAD_BALANCER = "may only be used when `type` is 'LoadBalancer'"


class ServiceRules(KindRules):
    kind = "Service"
    allow_create_on_update = True
    validates_metadata = True

    def validate_name(self, name: str, prefix: bool) -> list[str]:
        return names.dns_label(name, prefix)

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        status = obj.setdefault("status", {})
        status.setdefault("loadBalancer", {})
        if not spec.get("sessionAffinity"):
            spec["sessionAffinity"] = "None"
        if spec["sessionAffinity"] == "None":
            spec.pop("sessionAffinityConfig", None)
        elif spec["sessionAffinity"] == "ClientIP":
            client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
            if client.get("timeoutSeconds") is None:
                spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}
        if not spec.get("type"):
            spec["type"] = "ClusterIP"
        for port in spec.get("ports") or ():
            if not port.get("protocol"):
                port["protocol"] = "TCP"
            if port.get("targetPort") in (None, 0, ""):
                port["targetPort"] = port.get("port", 0)
        if externally_accessible(spec) and not spec.get("externalTrafficPolicy"):
            spec["externalTrafficPolicy"] = "Cluster"
        if spec.get("internalTrafficPolicy") is None and spec["type"] in ("NodePort", "LoadBalancer", "ClusterIP"):
            spec["internalTrafficPolicy"] = "Cluster"
        if spec["type"] == "LoadBalancer":
            if spec.get("allocateLoadBalancerNodePorts") is None:
                spec["allocateLoadBalancerNodePorts"] = True
            for ingress in status["loadBalancer"].get("ingress") or ():
                if ingress.get("ip") and ingress.get("ipMode") is None:
                    ingress["ipMode"] = "VIP"

    def prepare_create(self, obj: Object) -> None:
        obj["status"] = {"loadBalancer": {}}
        normalize_cluster_ips(obj.get("spec") or {}, None)

    def prepare_update(self, obj: Object, old: Object) -> None:
        spec, stored = obj.setdefault("spec", {}), old.get("spec") or {}
        keep_allocated(spec, stored)
        normalize_cluster_ips(spec, stored)
        keep_field(obj, old, "status")
        drop_what_the_type_does_not_have(obj, old)

    def validate_create(self, obj: Object) -> list[FieldError]:
        return self._address_errors(obj, None) or (
            validate_metadata(obj, True, self.validate_name) + _service_errors(obj, None)
        )

    def _address_errors(self, obj: Object, old: Object | None) -> list[FieldError]:
        """Addresses are given out before anything else is looked at: what is wrong with them stands alone."""
        return cluster_ips_errors(obj.get("spec") or {}, (old or {}).get("spec") or {})

    def validate_update(self, obj: Object, old: Object) -> list[FieldError]:
        wrong = self._address_errors(obj, old)
        if wrong:
            return wrong
        spec, stored = obj.get("spec") or {}, old.get("spec") or {}
        errors = validate_metadata_update(obj, old)
        errors += cluster_ips_update_errors(spec, stored) + ip_families_update_errors(spec, stored)
        errors += _load_balancer_class(spec, stored)
        checked = needs_health_check(spec) and needs_health_check(stored)
        if checked and spec.get("healthCheckNodePort", 0) != stored.get("healthCheckNodePort", 0):
            errors.append(forbidden("spec.healthCheckNodePort", "field is immutable"))
        return errors + _service_errors(obj, old)

    def canonicalize(self, obj: Object) -> None:
        spec = obj.get("spec") or {}
        if spec.get("type") == "ExternalName":
            spec.pop("internalTrafficPolicy", None)  # Nothing is routed inside the cluster.

    def validate_status(self, obj: Object, old: Object) -> list[FieldError]:
        return load_balancer_status_errors(
            (obj.get("status") or {}).get("loadBalancer") or {},
            (old.get("status") or {}).get("loadBalancer") or {},
            "status.loadBalancer",
            (obj.get("spec") or {}).get("type", ""),
        )

    def warnings_create(self, obj: Object) -> list[str]:
        return service_warnings(obj)

    def warnings_update(self, obj: Object, old: Object) -> list[str]:
        return service_warnings(obj)

    def selectable_fields(self, obj: Object) -> dict[str, str]:
        spec = obj.get("spec") or {}
        return {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}


def _service_errors(obj: Object, old: Object | None) -> list[FieldError]:
    spec = obj.get("spec") or {}
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    stored = (old or {}).get("spec") or {}
    kind, ports = spec.get("type", ""), spec.get("ports") or ()
    errors: list[FieldError] = []
    if MODE in annotations and HINTS in annotations and annotations[MODE] != annotations[HINTS]:
        text = f"must match annotations[{HINTS}] when both are specified"
        errors.append(invalid(f"metadata.annotations[{MODE}]", annotations[MODE], text))
    headless = is_headless(spec)
    if not ports and not headless and kind != "ExternalName":
        errors.append(required("spec.ports"))
    errors += _type_errors(spec, kind, headless)
    seen: set[str] = set()
    for position, port in enumerate(ports):
        errors += _port_errors(port, index("spec.ports", position), len(ports) > 1, seen)
    if spec.get("selector"):
        errors += validate_labels(spec["selector"], "spec.selector")
    errors += _affinity_errors(spec)
    errors += cluster_ips_errors(spec, stored)
    for position, address in enumerate(spec.get("externalIPs") or ()):
        at = index("spec.externalIPs", position)
        wrong = [] if address in (stored.get("externalIPs") or ()) else ip(address, strict=True)
        errors += [invalid(at, address, text) for text in wrong] or endpoint_ip_errors(address, at)
    if not kind:
        errors.append(required("spec.type"))
    elif kind not in _TYPES:
        errors.append(not_supported("spec.type", kind, _TYPES))
    errors += _port_conflicts(ports, kind)
    errors += _source_ranges(spec, annotations, kind, old)
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        errors.append(forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_LOAD_BALANCER))
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        errors.append(required("allocateLoadBalancerNodePorts"))
    errors += _load_balancer_class(spec, None)
    return errors + traffic_errors(spec, kind)


def _type_errors(spec: Object, kind: str, headless: bool) -> list[FieldError]:
    if kind in ("LoadBalancer", "NodePort"):
        if headless:
            text = f"may not be set to 'None' for {kind} services"
            return [invalid("spec.clusterIPs[0]", spec["clusterIPs"][0], text)]
        return []
    if kind != "ExternalName":
        return []
    text = "may not be set for ExternalName services"
    errors = [forbidden(f"spec.{field}", text) for field in ("clusterIPs", "ipFamilies") if spec.get(field)]
    if spec.get("ipFamilyPolicy") is not None:
        errors.append(forbidden("spec.ipFamilyPolicy", text))
    name = spec.get("externalName", "").removesuffix(".")
    if not name:
        return [*errors, required("spec.externalName")]
    return errors + [invalid("spec.externalName", name, wrong) for wrong in names.dns_subdomain(name)]


def _port_errors(port: Object, path: str, name_required: bool, seen: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    name, number, protocol = port.get("name", ""), port.get("port", 0), port.get("protocol", "")
    if name_required and not name:
        errors.append(required(child(path, "name")))
    elif name:
        errors += [invalid(child(path, "name"), name, text) for text in names.dns_label(name)]
        if name in seen:
            errors.append(duplicate(child(path, "name"), name))
        seen.add(name)
    errors += [invalid(child(path, "port"), number, text) for text in names.port_number(number)]
    if not protocol:
        errors.append(required(child(path, "protocol")))
    elif protocol not in PROTOCOLS:
        errors.append(not_supported(child(path, "protocol"), protocol, PROTOCOLS))
    errors += port_errors(port.get("targetPort"), child(path, "targetPort"))
    if port.get("appProtocol") is not None:
        value = port["appProtocol"]
        errors += [invalid(child(path, "appProtocol"), value, text) for text in names.qualified_name(value)]
    return errors


def _affinity_errors(spec: Object) -> list[FieldError]:
    affinity, config = spec.get("sessionAffinity", ""), spec.get("sessionAffinityConfig")
    at = "spec.sessionAffinityConfig"
    errors: list[FieldError] = []
    if not affinity:
        errors.append(required("spec.sessionAffinity"))
    elif affinity not in ("ClientIP", "None"):
        errors.append(not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None")))
    if affinity == "ClientIP":
        text = "when session affinity type is ClientIP"
        for field in ("", "clientIP", "timeoutSeconds"):
            if field:
                at, config = child(at, field), config.get(field) if isinstance(config, dict) else None
            if config is None:
                return [*errors, required(at, text)]
        if not isinstance(config, int) or not 0 < config <= _AFFINITY_SECONDS_MAX:
            text = f"must be greater than 0 and less than {_AFFINITY_SECONDS_MAX}"
            errors.append(invalid(at, config, text))
    elif affinity == "None" and config is not None:
        errors.append(forbidden(at, "must not be set when session affinity is None"))
    return errors


def _port_conflicts(ports: Sequence[Object], kind: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if kind == "ClusterIP":
        errors += [
            forbidden(f"spec.ports[{position}].nodePort", "may not be used when `type` is 'ClusterIP'")
            for position, port in enumerate(ports)
            if port.get("nodePort")
        ]
    node_ports: set[tuple[str, int]] = set()
    for position, port in enumerate(ports):
        if port.get("nodePort"):
            pair = (port.get("protocol", ""), port["nodePort"])
            if pair in node_ports:
                errors.append(duplicate(f"spec.ports[{position}].nodePort", port["nodePort"]))
            node_ports.add(pair)
    numbers: set[tuple[str, int]] = set()
    for position, port in enumerate(ports):
        pair = (port.get("protocol", ""), port.get("port", 0))
        if pair in numbers:
            shown = printed("core.ServicePort", {"protocol": pair[0], "port": pair[1]})
            errors.append(duplicate(index("spec.ports", position), shown))
        numbers.add(pair)
    return errors


def _source_ranges(spec: Object, annotations: Object, kind: str, old: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    ranges = spec.get("loadBalancerSourceRanges") or ()
    if ranges:
        path = "spec.LoadBalancerSourceRanges"
        if kind != "LoadBalancer":
            errors.append(forbidden(path, _ONLY_LOAD_BALANCER))
        stored = [value.strip() for value in ((old or {}).get("spec") or {}).get("loadBalancerSourceRanges") or ()]
        for position, value in enumerate(value.strip() for value in ranges):
            if value not in stored:
                errors += [invalid(index(path, position), value, text) for text in cidr(value, strict=True)]
    elif _SOURCE_RANGES in annotations:
        path, whole = f"metadata.annotations[{_SOURCE_RANGES}]", annotations[_SOURCE_RANGES]
        if kind != "LoadBalancer":
            errors.append(forbidden(path, _ONLY_LOAD_BALANCER))
        stored_annotations = ((old or {}).get("metadata") or {}).get("annotations") or {}
        if whole.strip() and stored_annotations.get(_SOURCE_RANGES) != whole:
            for value in whole.strip().split(","):
                value = value.strip()
                errors += [invalid(path, value, text) for text in cidr(value, strict=True)]
    return errors


def _load_balancer_class(spec: Object, stored: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    name, at = spec.get("loadBalancerClass"), "spec.loadBalancerClass"
    balanced = spec.get("type") == "LoadBalancer"
    both = stored is not None and balanced and stored.get("type") == "LoadBalancer"
    if stored is not None and both and stored.get("loadBalancerClass") != name:
        errors.append(invalid(at, name, "may not change once set"))
    if name is not None:
        if balanced:
            errors += [invalid(at, name, text) for text in names.qualified_name(name)]
        else:
            errors.append(forbidden(at, _ONLY_LOAD_BALANCER))
    return errors
