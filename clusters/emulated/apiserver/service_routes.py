"""Where a Service leads: from a reference in a webhook or an APIService to an address that can be dialled.

The emulated cluster has no packet filter; what kube-proxy would do to a ClusterIP is done here. Addresses of
emulated Pods have no listener of their own: `forward` says which real one stands behind such an address.
"""

from __future__ import annotations

from clusters.emulated.apiserver.admission.webhooks.call import ServiceResolutionError
from clusters.emulated.apiserver.objects import Object, Objects
from clusters.emulated.outbound.dial import Address
from clusters.emulated.outbound.errors import join_host_port
from clusters.kube.gostring import quote

_SLICES = "endpointslices.discovery.k8s.io"
_SERVICE_NAME = "kubernetes.io/service-name"


class ServiceRoutes:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._forwards: dict[tuple[str, int], tuple[str, int]] = {}

    def forward(self, address: str, port: int, host: str, real_port: int) -> None:
        """Connections to an emulated address and port go to this real one."""
        self._forwards[address, port] = (host, real_port)

    async def dialled(self, host: str, port: int) -> Address:
        """Where a connection to an address of the cluster really goes; errors name the one that was asked for."""
        real_host, real_port = self._forwards.get((host, port), (host, port))
        return Address(real_host, real_port, join_host_port(host, port))

    async def resolve(self, namespace: str, name: str, port: int) -> Address:
        service = self._objects.get("services", namespace, name)
        if service is None:
            raise ServiceResolutionError(f"service {quote(name)} not found")
        spec = service["spec"]
        found = next((each for each in spec.get("ports") or () if each.get("port") == port), None)
        if found is None:
            raise ServiceResolutionError(f"no service port {port} found for service {quote(name)}")
        if spec.get("type") == "ExternalName":
            return Address(spec.get("externalName", ""), port)
        cluster_ip = spec.get("clusterIP", "")
        if not cluster_ip or cluster_ip == "None":
            raise ServiceResolutionError(f"no service IP found for service {quote(name)}")
        shown = f"{cluster_ip}:{port}"
        target = self._ready_endpoint(namespace, name, found)
        if target is None:
            # Nobody behind it: kube-proxy rejects the connection. Port 1 of loopback refuses just so.
            return Address("127.0.0.1", 1, shown)
        host, real_port = self._forwards.get(target, target)
        return Address(host, real_port, shown)

    def _ready_endpoint(self, namespace: str, name: str, port: Object) -> tuple[str, int] | None:
        for each in self._objects.list(_SLICES, namespace):
            if (each["metadata"].get("labels") or {}).get(_SERVICE_NAME) != name:
                continue
            for number in _port_numbers(each, port):
                for endpoint in each.get("endpoints") or ():
                    if (endpoint.get("conditions") or {}).get("ready", True) and endpoint.get("addresses"):
                        return endpoint["addresses"][0], number
        return None


def _port_numbers(each: Object, port: Object) -> list[int]:
    return [
        candidate["port"]
        for candidate in each.get("ports") or ()
        if candidate.get("port") and (candidate.get("name") or "") == (port.get("name") or "")
    ]
