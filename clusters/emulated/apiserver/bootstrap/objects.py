"""All bootstrap objects of a cluster, ready to be stored, in the order they are created.

    for resource, obj in bootstrap_objects(Control(ca_pem), now_s=clock.now_s(), new_uid=randomness.uid):
        store.create(resource, obj)

They have everything but a resourceVersion. Inner parts are shared between calls and must not be changed.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clusters.emulated.apiserver.authorization.aggregation import aggregate
from clusters.emulated.apiserver.bootstrap.kubeadm import kubeadm_objects
from clusters.emulated.apiserver.bootstrap.recorded import NewUid, recorded, recorded_item, stamped
from clusters.emulated.clock.clock import rfc3339

Object = dict[str, Any]
CLUSTER_ROLES = "clusterroles.rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class Control:
    """What the control plane knows of itself."""

    client_ca_pem: str
    request_header_ca_pem: str = ""
    """The front proxy's CA; empty when there is no front proxy."""
    version: str = "1.36"
    address: str = "10.0.0.1"
    """Where the api-server is reached from inside the cluster; endpoints must not be loopback addresses."""
    port: int = 6443
    server: str = ""
    """The URL that cluster-info gives joining nodes; empty is address and port."""
    service_cidr: str = "10.96.0.0/12"
    aggregated: bool = True
    """ClusterRoles admin, edit and view have their rules already, as soon after a controller's first sync."""
    kubeadm: bool = True


def node_rules(version: str = "1.36") -> list[Object]:
    """What the Node authorizer allows nodes beyond its own rules."""
    rules: list[Object] = recorded_item(version, CLUSTER_ROLES, "system:node")["rules"]
    return rules


def bootstrap_objects(control: Control, *, now_s: float, new_uid: NewUid) -> list[tuple[str, Object]]:
    shared = shared_objects(control, now_s=now_s, new_uid=new_uid)
    return shared + cluster_objects(control, now_s=now_s, new_uid=new_uid)


def shared_objects(control: Control, *, now_s: float, new_uid: NewUid) -> list[tuple[str, Object]]:
    """What does not depend on the cluster's own addresses and certificates: most of it."""
    found: list[tuple[str, Object]] = []
    for resource, obj in recorded(control.version, rfc3339(now_s), new_uid):
        if resource == "servicecidrs.networking.k8s.io":
            obj["spec"] = {"cidrs": [control.service_cidr]}
        found.append((resource, obj))
    # Namespaces first, so that every stored object's namespace is there before it.
    found.sort(key=lambda entry: entry[0] != "namespaces")
    if control.aggregated:
        _aggregate([obj for resource, obj in found if resource == CLUSTER_ROLES], rfc3339(now_s))
    return found


def cluster_objects(control: Control, *, now_s: float, new_uid: NewUid) -> list[tuple[str, Object]]:
    """What is different in each cluster."""
    now = rfc3339(now_s)
    found = list(_own_objects(control, now, new_uid))
    if control.kubeadm:
        server = control.server or f"https://{control.address}:{control.port}"
        found.extend(kubeadm_objects(server, control.client_ca_pem, now, new_uid))
    return found


def _aggregate(cluster_roles: list[Object], now: str) -> None:
    """Until nothing changes: admin gathers edit, which gathers view."""
    aggregating = [role for role in cluster_roles if role.get("aggregationRule")]
    changed = True
    while changed:
        changed = False
        for role in aggregating:
            rules = aggregate(role, cluster_roles)
            if rules != role.get("rules"):
                role["rules"] = rules
                changed = True
    for role in aggregating:
        applied = _managed("clusterrole-aggregation-controller", "Apply", role["apiVersion"], now, {"f:rules": {}})
        metadata = role["metadata"]
        role["metadata"] = metadata | {"managedFields": [applied, *metadata["managedFields"]]}


def _managed(manager: str, operation: str, api_version: str, now: str, owned: Object) -> Object:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": owned,
    }


def _own_objects(control: Control, now: str, new_uid: NewUid) -> Iterator[tuple[str, Object]]:
    """What depends on the cluster's addresses, certificates and birthday."""

    def made(api_version: str, kind: str, metadata: Object, owned: Object, fields: Object) -> Object:
        managed = [_managed("kube-apiserver", "Update", api_version, now, owned)]
        stamps = stamped(metadata | {"managedFields": managed}, now, new_uid)
        return {"apiVersion": api_version, "kind": kind, "metadata": stamps, **fields}

    def config_map(name: str, data: dict[str, str]) -> tuple[str, Object]:
        owned: Object = {"f:data": {".": {}} | {f"f:{key}": {} for key in sorted(data)}}
        metadata = {"name": name, "namespace": "kube-system"}
        return "configmaps", made("v1", "ConfigMap", metadata, owned, {"data": data})

    def owned_labels(*names: str) -> Object:
        return {"f:labels": {".": {}} | {f"f:{name}": {} for name in names}}

    yield config_map("extension-apiserver-authentication", _authentication_data(control))
    yield config_map("kube-apiserver-legacy-service-account-token-tracking", {"since": now[:10]})

    network = ipaddress.ip_network(control.service_cidr)
    cluster_ip = str(network[1])
    family = f"IPv{network.version}"
    home: Object = {"name": "kubernetes", "namespace": "default"}
    yield (
        "ipaddresses.networking.k8s.io",
        made(
            "networking.k8s.io/v1",
            "IPAddress",
            {
                "name": cluster_ip,
                "labels": {
                    "ipaddress.kubernetes.io/ip-family": family,
                    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
                },
            },
            {
                "f:metadata": owned_labels("ipaddress.kubernetes.io/ip-family", "ipaddress.kubernetes.io/managed-by"),
                "f:spec": {"f:parentRef": {".": {}, "f:name": {}, "f:namespace": {}, "f:resource": {}}},
            },
            {"spec": {"parentRef": {"resource": "services", "namespace": "default", "name": "kubernetes"}}},
        ),
    )
    port_owned: Object = {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {}}
    yield (
        "services",
        made(
            "v1",
            "Service",
            home | {"labels": {"component": "apiserver", "provider": "kubernetes"}},
            {
                "f:metadata": owned_labels("component", "provider"),
                "f:spec": {
                    "f:clusterIP": {},
                    "f:internalTrafficPolicy": {},
                    "f:ipFamilyPolicy": {},
                    "f:ports": {".": {}, 'k:{"port":443,"protocol":"TCP"}': port_owned},
                    "f:sessionAffinity": {},
                    "f:type": {},
                },
            },
            {
                "spec": {
                    "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": control.port}],
                    "clusterIP": cluster_ip,
                    "clusterIPs": [cluster_ip],
                    "type": "ClusterIP",
                    "sessionAffinity": "None",
                    "ipFamilies": [family],
                    "ipFamilyPolicy": "SingleStack",
                    "internalTrafficPolicy": "Cluster",
                },
                "status": {"loadBalancer": {}},
            },
        ),
    )
    mirror = "endpointslice.kubernetes.io/skip-mirror"
    ports = [{"name": "https", "port": control.port, "protocol": "TCP"}]
    yield (
        "endpoints",
        made(
            "v1",
            "Endpoints",
            home | {"labels": {mirror: "true"}},
            {"f:metadata": owned_labels(mirror), "f:subsets": {}},
            {"subsets": [{"addresses": [{"ip": control.address}], "ports": ports}]},
        ),
    )
    of_service = "kubernetes.io/service-name"
    yield (
        "endpointslices.discovery.k8s.io",
        made(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            home | {"generation": 1, "labels": {of_service: "kubernetes"}},
            {"f:addressType": {}, "f:endpoints": {}, "f:metadata": owned_labels(of_service), "f:ports": {}},
            {
                "addressType": f"IPv{ipaddress.ip_address(control.address).version}",
                "endpoints": [{"addresses": [control.address], "conditions": {"ready": True}}],
                "ports": [{"name": "https", "protocol": "TCP", "port": control.port}],
            },
        ),
    )


def _authentication_data(control: Control) -> dict[str, str]:
    data = {"client-ca-file": control.client_ca_pem}
    if control.request_header_ca_pem:
        data |= {
            "requestheader-allowed-names": json.dumps(["front-proxy-client"]),
            "requestheader-client-ca-file": control.request_header_ca_pem,
            "requestheader-extra-headers-prefix": json.dumps(["X-Remote-Extra-"]),
            "requestheader-group-headers": json.dumps(["X-Remote-Group"]),
            "requestheader-username-headers": json.dumps(["X-Remote-User"]),
        }
    return data
