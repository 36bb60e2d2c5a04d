"""A Service of the cluster that leads to a real server on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusters.emulated.cluster import EmulatedCluster

#: Stands for a Pod that no kubelet runs.
_POD_ADDRESS = "10.244.250.1"
SERVICES = "/api/v1/namespaces/default/services"
ENDPOINT_SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


@contextmanager
def service_before(cluster: EmulatedCluster, name: str, port: int) -> Iterator[None]:
    """The Service `name` in `default`, port 443, whose only endpoint stands for this port of 127.0.0.1."""
    for replica in cluster.plane.replicas:
        replica.routes.forward(_POD_ADDRESS, port, "127.0.0.1", port)
    ports = [{"name": "https", "port": 443, "targetPort": port}]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": ports}}
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "ports": [{"name": "https", "port": port}],
        "endpoints": [{"addresses": [_POD_ADDRESS], "conditions": {"ready": True}}],
    }
    with cluster.levers.objects.present((SERVICES, service), (ENDPOINT_SLICES, endpoints)):
        yield
