"""Endpoints, the older form of EndpointSlices: one object per Service, ready and not ready addresses by ports."""

from __future__ import annotations

from typing import Any

import orjson

from clusters.emulated.client.errors import AlreadyExists, ApiFailure, NotFound
from clusters.emulated.client.indexer import split_key
from clusters.emulated.client.resources import ENDPOINTS
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers import service_endpoints as behind
from clusters.emulated.controllers.endpoint_slice import HEADLESS, TRIGGER_TIME

Object = dict[str, Any]

OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
ADDRESSES_MAX = 1000


class EndpointsController(behind.ServiceFollower):
    name = "endpoint-controller"

    def setup(self) -> None:
        super().setup()
        self._endpoints = self.informer(ENDPOINTS)
        self._endpoints.add_handler(on_delete=lambda gone, _: self.enqueue(gone))

    async def reconcile(self, key: str) -> None:
        namespace, name = split_key(key)
        service = self.services.store.get(key)
        if service is None:
            try:
                await self.api.delete(ENDPOINTS, name, namespace)
            except NotFound:
                return
            return
        if not service["spec"].get("selector") or service["spec"].get("type") == "ExternalName":
            return
        pods = behind.selected_pods(service, self.pods.store.list(namespace))
        subsets = subsets_of(service, pods)
        present = self._endpoints.store.get(key)
        labels = {**(service["metadata"].get("labels") or {}), "endpoints.kubernetes.io/managed-by": self.name}
        if service["spec"].get("clusterIP") in (None, "", "None"):
            labels[HEADLESS] = ""
        if (
            present is not None
            and (present.get("subsets") or []) == subsets
            and present["metadata"].get("labels") == labels
        ):
            return
        annotations = {TRIGGER_TIME: rfc3339(self.clock.now_s())}
        try:
            if present is None:
                metadata = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
                await self.api.create(ENDPOINTS, {"metadata": metadata, "subsets": subsets})
            else:
                kept = {**(present["metadata"].get("annotations") or {}), **annotations}
                metadata = {**present["metadata"], "labels": labels, "annotations": kept}
                await self.api.update(ENDPOINTS, {**present, "metadata": metadata, "subsets": subsets})
        except AlreadyExists:
            self.queue.add_rate_limited(key)  # The informer has not shown it yet.
        except ApiFailure as failure:
            what = "create" if present is None else "update"
            reason = "FailedToCreateEndpoint" if present is None else "FailedToUpdateEndpoint"
            self.recorder.event(service, "Warning", reason, f"Failed to {what} endpoint {key}: {failure.message}")
            raise


def subsets_of(service: Object, pods: list[Object]) -> list[Object]:
    """Addresses grouped by the ports they serve, sorted as Kubernetes packs them."""
    groups: dict[bytes, tuple[list[Object], list[Object], list[Object]]] = {}
    family = behind.address_types(service)[0]
    for pod in pods:
        if not behind.belongs(pod, with_terminating=bool(service["spec"].get("publishNotReadyAddresses"))):
            continue
        found = behind.addresses_of(pod, family)
        if not found:
            continue
        ports = [{key: value for key, value in port.items() if value != ""} for port in behind.ports_of(service, pod)]
        group = groups.setdefault(orjson.dumps(ports), (ports, [], []))
        ready = bool(service["spec"].get("publishNotReadyAddresses")) or behind.is_ready(pod)
        group[1 if ready else 2].append(_address(service, pod, found[0]))
    subsets = []
    for ports, ready_ones, others in groups.values():
        subset: Object = {}
        if ready_ones:
            subset["addresses"] = sorted(ready_ones, key=lambda each: str(each["ip"]))
        if others:
            subset["notReadyAddresses"] = sorted(others, key=lambda each: str(each["ip"]))
        if ports:
            subset["ports"] = [_ordered(port) for port in ports]
        subsets.append(subset)
    return subsets


def _ordered(port: Object) -> Object:
    return {name: port[name] for name in ("name", "port", "protocol", "appProtocol") if name in port}


def _address(service: Object, pod: Object, ip: str) -> Object:
    metadata = pod["metadata"]
    address: Object = {"ip": ip}
    if behind.has_hostname(service, pod):
        address["hostname"] = pod["spec"]["hostname"]
    if pod["spec"].get("nodeName"):
        address["nodeName"] = pod["spec"]["nodeName"]
    address["targetRef"] = {
        "kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"],
    }  # fmt: skip
    return address
