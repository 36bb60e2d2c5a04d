"""Rows of what carries traffic: Services, Endpoints, EndpointSlices, Ingresses, policies, addresses."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.tables.texts import NONE, age, cut, labels, name_of, selector

Object = dict[str, Any]
Cells = list[Any]

_HOSTS_MAX = 3
_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def service(obj: Object, now_s: float) -> Cells:
    spec = obj.get("spec") or {}
    addresses = spec.get("clusterIPs") or ()
    return [
        name_of(obj),
        spec.get("type", ""),
        addresses[0] if addresses else NONE,
        _external_ip(spec, obj.get("status") or {}),
        ",".join(_service_port(each) for each in spec.get("ports") or ()) or NONE,
        age(obj, now_s),
        labels(spec.get("selector")),
    ]


def _external_ip(spec: Object, status: Object) -> str:
    kind = spec.get("type", "")
    external = ",".join(spec.get("externalIPs") or ())
    if kind in ("ClusterIP", "NodePort"):
        return external or NONE
    if kind == "LoadBalancer":
        balanced = _load_balancer(status.get("loadBalancer"))
        return ",".join(text for text in (balanced, external) if text) or "<pending>"
    return str(spec.get("externalName", "")) if kind == "ExternalName" else "<unknown>"


def _load_balancer(status: Object | None) -> str:
    ingress = (status or {}).get("ingress") or ()
    return ",".join(sorted({each.get("ip") or each.get("hostname") or "" for each in ingress} - {""}))


def _service_port(port: Object) -> str:
    number = f"{port.get('port', 0)}:{port['nodePort']}" if port.get("nodePort") else f"{port.get('port', 0)}"
    return f"{number}/{port.get('protocol', '')}"


def endpoints(obj: Object, now_s: float) -> Cells:
    subsets = obj.get("subsets") or ()
    shown: list[str] = []
    for subset in subsets:
        addresses = [each.get("ip", "") for each in subset.get("addresses") or ()]
        ports = subset.get("ports") or ()
        if not ports:
            shown += addresses
        for port in ports:
            shown += [_host_port(address, port.get("port", 0)) for address in addresses]
    return [name_of(obj), cut(shown, empty="" if subsets else NONE), age(obj, now_s)]


def _host_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def endpoint_slice(obj: Object, now_s: float) -> Cells:
    ports = [_slice_port(each) for each in obj.get("ports") or ()]
    addresses = [address for each in obj.get("endpoints") or () for address in each.get("addresses") or ()]
    return [name_of(obj), obj.get("addressType", ""), cut(ports), cut(addresses), age(obj, now_s)]


def _slice_port(port: Object) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    name = port.get("name")
    return "*" if name is None else str(name)


def ingress(obj: Object, now_s: float) -> Cells:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    return [
        name_of(obj),
        spec.get("ingressClassName", NONE),
        _hosts(spec.get("rules") or ()),
        _load_balancer(status.get("loadBalancer")),
        "80, 443" if spec.get("tls") else "80",
        age(obj, now_s),
    ]


def _hosts(rules: Any) -> str:
    """Rules without a host are not shown, but count once three hosts are."""
    hosts: list[str] = []
    more = False
    for rule in rules:
        more = more or len(hosts) == _HOSTS_MAX
        if not more and rule.get("host"):
            hosts.append(rule["host"])
    if not hosts:
        return "*"
    shown = ",".join(hosts)
    return f"{shown} + {len(rules) - _HOSTS_MAX} more..." if more else shown


def ingress_class(obj: Object, now_s: float) -> Cells:
    spec = obj.get("spec") or {}
    name = name_of(obj)
    if (obj["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true":
        name += " (default)"
    parameters = NONE
    given = spec.get("parameters")
    if given is not None:
        kind = given.get("kind", "")
        if given.get("apiGroup") is not None:
            kind += f".{given['apiGroup']}"
        parameters = f"{kind}/{given.get('name', '')}"
    return [name, spec.get("controller", ""), parameters, age(obj, now_s)]


def network_policy(obj: Object, now_s: float) -> Cells:
    return [name_of(obj), selector((obj.get("spec") or {}).get("podSelector") or {}), age(obj, now_s)]


def service_cidr(obj: Object, now_s: float) -> Cells:
    return [name_of(obj), ",".join((obj.get("spec") or {}).get("cidrs") or ()), age(obj, now_s)]


def ip_address(obj: Object, now_s: float) -> Cells:
    """Its age is a cell without a column, as the real server sends it."""
    parent = (obj.get("spec") or {}).get("parentRef")
    shown = NONE
    if parent is not None:
        group = parent.get("group", "")
        resource = parent.get("resource", "")
        shown = (f"{resource}.{group}" if group else resource).lower()
        if parent.get("namespace"):
            shown += f"/{parent['namespace']}"
        shown += f"/{parent.get('name', '')}"
    return [name_of(obj), shown, age(obj, now_s)]


CELLS = {
    ("", "Service"): service,
    ("", "Endpoints"): endpoints,
    ("discovery.k8s.io", "EndpointSlice"): endpoint_slice,
    ("networking.k8s.io", "Ingress"): ingress,
    ("networking.k8s.io", "IngressClass"): ingress_class,
    ("networking.k8s.io", "NetworkPolicy"): network_policy,
    ("networking.k8s.io", "ServiceCIDR"): service_cidr,
    ("networking.k8s.io", "IPAddress"): ip_address,
}
