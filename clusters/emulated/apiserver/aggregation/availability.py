"""Whether an aggregated api-server can be reached: its Service, its endpoints, and a look at its discovery."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clusters.emulated.outbound.client import Trust
from clusters.emulated.outbound.errors import join_host_port
from clusters.kube.gostring import quote

Object = dict[str, Any]

AVAILABLE = "Available"


@dataclass(frozen=True, slots=True)
class Backend:
    """Where an APIService leads."""

    name: str
    group: str
    version: str
    namespace: str
    service: str
    port: int
    trust: Trust

    @staticmethod
    def of(api_service: Object, certificate_pem: bytes, key_pem: bytes) -> Backend:
        spec = api_service["spec"]
        reference = spec["service"]
        namespace, name = reference.get("namespace", ""), reference.get("name", "")
        trust = Trust(
            ca_pem=_bundle(spec.get("caBundle")),
            server_name=f"{name}.{namespace}.svc",
            insecure=bool(spec.get("insecureSkipTLSVerify")),
            certificate_pem=certificate_pem,
            key_pem=key_pem,
        )
        port = reference.get("port") or 443
        return Backend(
            api_service["metadata"]["name"], spec.get("group", ""), spec["version"], namespace, name, port, trust
        )

    def url(self, service: Object, path: str) -> str:
        """Errors and headers name the Service's address, not that of the endpoint behind it."""
        spec = service["spec"]
        external = spec.get("type") == "ExternalName"
        host = spec.get("externalName", "") if external else spec.get("clusterIP", "")
        return f"https://{join_host_port(host, self.port)}{path}"

    @property
    def discovery_path(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


def _bundle(encoded: str | None) -> bytes | None:
    """None stands for the machine's own roots, as an empty bundle does in Kubernetes."""
    if not encoded:
        return None
    try:
        return base64.b64decode(encoded)
    except binascii.Error:
        return b""


def condition(status: str, reason: str, message: str) -> Object:
    return {"type": AVAILABLE, "status": status, "reason": reason, "message": message}


PASSED = condition("True", "Passed", "all checks passed")


def route_problem(backend: Backend, service: Object | None, slices: Sequence[Object]) -> Object | None:
    """What can be said without calling it: None when it is worth a try."""
    what = f"service/{backend.service} in {quote(backend.namespace)}"
    if service is None:
        return condition("False", "ServiceNotFound", f"{what} is not present")
    spec = service["spec"]
    if spec.get("type", "ClusterIP") != "ClusterIP":
        return None
    port = next((each for each in spec.get("ports") or () if each.get("port") == backend.port), None)
    if port is None:
        return condition("False", "ServicePortError", f"{what} is not listening on port {backend.port}")
    if not slices:
        return condition("False", "EndpointsNotFound", f"cannot find endpointslices for {what}")
    name = port.get("name", "")
    if not any(_has_endpoint(each, name) for each in slices):
        text = f"endpointslices for {what} have no addresses with port name {quote(name)}"
        return condition("False", "MissingEndpoints", text)
    return None


def _has_endpoint(each: Object, port_name: str) -> bool:
    ready = any((endpoint.get("conditions") or {}).get("ready", True) for endpoint in each.get("endpoints") or ())
    return ready and any(port.get("name", "") == port_name and port.get("port") for port in each.get("ports") or ())


def is_available(api_service: Object) -> bool:
    for each in (api_service.get("status") or {}).get("conditions") or ():
        if each.get("type") == AVAILABLE:
            return bool(each.get("status") == "True")
    return False


def with_condition(api_service: Object, wanted: Object, now: str) -> Object:
    """The APIService with this condition; the time changes only with the status."""
    status = api_service.get("status") or {}
    conditions: list[Object] = list(status.get("conditions") or ())
    for position, each in enumerate(conditions):
        if each.get("type") == wanted["type"]:
            since = each.get("lastTransitionTime") if each.get("status") == wanted["status"] else now
            conditions[position] = {**each, **wanted, "lastTransitionTime": since}
            break
    else:
        conditions.append({**wanted, "lastTransitionTime": now})
    return {**api_service, "status": {**status, "conditions": conditions}}
