"""EndpointSlices of every Service with a selector: at most 100 endpoints each, changed as little as possible.

desired endpoints per (address type, ports)  →  slices kept, updated, created, deleted
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from clusters.emulated.client.errors import ApiFailure, NotFound
from clusters.emulated.client.indexer import split_key
from clusters.emulated.client.resources import ENDPOINT_SLICES, NODES
from clusters.emulated.clock.clock import rfc3339
from clusters.emulated.controllers import service_endpoints as behind

Object = dict[str, Any]

ENDPOINTS_PER_SLICE_MAX = 100
SERVICE_NAME, MANAGED_BY = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"
HEADLESS = "service.kubernetes.io/headless"
MANAGER = "endpointslice-controller.k8s.io"
TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"
_ZONE = "topology.kubernetes.io/zone"
_RESERVED = frozenset((SERVICE_NAME, MANAGED_BY, HEADLESS))


@dataclass(slots=True)
class Plan:
    create: list[Object] = field(default_factory=list)
    update: list[Object] = field(default_factory=list)
    delete: list[Object] = field(default_factory=list)


class EndpointSliceController(behind.ServiceFollower):
    name = "endpointslice-controller"
    event_component = "endpoint-slice-controller"

    def setup(self) -> None:
        super().setup()
        self._nodes = self.informer(NODES)
        self._slices = self.informer(ENDPOINT_SLICES)
        self._slices.add_handler(None, lambda _, new: self._slice(new), lambda gone, _: self._slice(gone))
        self._nodes.add_handler(self._node, self._node_changed)

    def _slice(self, each: Object) -> None:
        labels = each["metadata"].get("labels") or {}
        if labels.get(MANAGED_BY) == MANAGER and labels.get(SERVICE_NAME):
            self.enqueue(f"{each['metadata']['namespace']}/{labels[SERVICE_NAME]}")

    def _node(self, node: Object) -> None:
        if (node["metadata"].get("labels") or {}).get(_ZONE):
            for service in self.services.store.list():
                self.enqueue(service)

    def _node_changed(self, old: Object, new: Object) -> None:
        if (old["metadata"].get("labels") or {}).get(_ZONE) != (new["metadata"].get("labels") or {}).get(_ZONE):
            self._node(new)

    async def reconcile(self, key: str) -> None:
        service = self.services.store.get(key)
        if service is None or not service["spec"].get("selector") or service["spec"].get("type") == "ExternalName":
            return  # Deleted (its slices go with their owner), or nobody's business but the user's.
        namespace, name = split_key(key)
        existing = [
            each
            for each in self._slices.store.list(namespace)
            if (each["metadata"].get("labels") or {}).items() >= {SERVICE_NAME: name, MANAGED_BY: MANAGER}.items()
        ]
        pods = behind.selected_pods(service, self.pods.store.list(namespace))
        zones = {
            node["metadata"]["name"]: (node["metadata"].get("labels") or {}).get(_ZONE)
            for node in self._nodes.store.list()
        }
        plan = decide(service, pods, existing, zones, rfc3339(self.clock.now_s()))
        try:
            await self._carry_out(plan)
        except ApiFailure as failure:
            text = f"Error updating Endpoint Slices for Service {key}: {failure.message}"
            self.recorder.event(service, "Warning", "FailedToUpdateEndpointSlices", text)
            raise

    async def _carry_out(self, plan: Plan) -> None:
        for each in plan.create:
            await self.api.create(ENDPOINT_SLICES, each)
        for each in plan.update:
            await self.api.update(ENDPOINT_SLICES, each)
        for each in plan.delete:
            try:
                await self.api.delete(ENDPOINT_SLICES, each["metadata"]["name"], each["metadata"]["namespace"])
            except NotFound:
                continue  # Gone already.


def decide(service: Object, pods: list[Object], existing: list[Object], zones: dict[str, str | None], now: str) -> Plan:
    """What to do so that the slices show these Pods."""
    plan = Plan()
    left = [each for each in existing if not each["metadata"].get("deletionTimestamp")]
    for address_type in behind.address_types(service):
        groups: dict[bytes, tuple[list[Object], list[Object]]] = {}
        for pod in pods:
            if behind.belongs(pod, with_terminating=True) and behind.addresses_of(pod, address_type):
                ports = behind.ports_of(service, pod)
                group = groups.setdefault(orjson.dumps(ports), (ports, []))
                group[1].append(endpoint(service, pod, address_type, zones))
        of_type = [each for each in left if each["addressType"] == address_type]
        if not groups:
            groups[b"[]"] = ([], [])  # A Service without Pods has one empty slice.
        for ports, endpoints in groups.values():
            same = [each for each in of_type if (each.get("ports") or []) == ports]
            _fill(plan, service, address_type, ports, endpoints, same, of_type, now)
            of_type = [each for each in of_type if each not in same]
        plan.delete += [each for each in of_type if each not in plan.update and not _updated(plan, each)]
    plan.delete += [each for each in left if each["addressType"] not in behind.address_types(service)]
    return plan


def _updated(plan: Plan, each: Object) -> bool:
    return any(changed["metadata"]["name"] == each["metadata"]["name"] for changed in plan.update)


def _fill(
    plan: Plan,
    service: Object,
    address_type: str,
    ports: list[Object],
    endpoints: list[Object],
    same: list[Object],
    of_type: list[Object],
    now: str,
) -> None:
    """Puts the endpoints of one port set into its slices: those it has, a spare one, then new ones."""
    labels = _labels(service)
    pending = {_identity(each): each for each in endpoints}
    kept: list[tuple[Object, list[Object]]] = []
    for each in same:
        mine = [pending.pop(_identity(old)) for old in each.get("endpoints") or () if _identity(old) in pending]
        kept.append((each, mine))
    rest = list(pending.values())
    for _, mine in kept:
        room = ENDPOINTS_PER_SLICE_MAX - len(mine)
        mine += rest[:room]
        rest = rest[room:]
    used = False
    for each, mine in kept:
        if not mine and (used or endpoints):
            plan.delete.append(each)
            continue
        used = True
        changed = _changed(service, each, ports, mine, labels, now)
        if changed is not None:
            plan.update.append(changed)
    if not kept or rest:
        spare = next((each for each in of_type if each not in same and not (each.get("endpoints") or ())), None)
        if spare is not None and not kept:
            changed = _changed(service, spare, ports, rest[:ENDPOINTS_PER_SLICE_MAX], labels, now)
            if changed is not None:
                plan.update.append(changed)
            rest = rest[ENDPOINTS_PER_SLICE_MAX:]
            if not rest:
                return
        elif not rest and kept:
            return
        for start in range(0, max(len(rest), 1), ENDPOINTS_PER_SLICE_MAX):
            plan.create.append(
                _new(service, address_type, ports, rest[start : start + ENDPOINTS_PER_SLICE_MAX], labels, now)
            )


def _changed(
    service: Object, each: Object, ports: list[Object], endpoints: list[Object], labels: dict[str, str], now: str
) -> Object | None:
    metadata = each["metadata"]
    if (
        (each.get("endpoints") or []) == endpoints
        and (each.get("ports") or []) == ports
        and metadata.get("labels") == labels
    ):
        return None
    annotations = {**(metadata.get("annotations") or {}), TRIGGER_TIME: now}
    return {
        **each,
        "metadata": {**metadata, "labels": labels, "annotations": annotations},
        "endpoints": endpoints,
        "ports": ports,
    }


def _new(
    service: Object, address_type: str, ports: list[Object], endpoints: list[Object], labels: dict[str, str], now: str
) -> Object:
    metadata = service["metadata"]
    owner = {
        "apiVersion": "v1", "kind": "Service", "name": metadata["name"], "uid": metadata["uid"],
        "controller": True, "blockOwnerDeletion": True,
    }  # fmt: skip
    return {
        "apiVersion": ENDPOINT_SLICES.api_version,
        "kind": ENDPOINT_SLICES.kind,
        "metadata": {
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "labels": labels,
            "annotations": {TRIGGER_TIME: now},
            "ownerReferences": [owner],
        },
        "addressType": address_type,
        "endpoints": endpoints,
        "ports": ports,
    }


def _labels(service: Object) -> dict[str, str]:
    labels = {key: value for key, value in (service["metadata"].get("labels") or {}).items() if key not in _RESERVED}
    if service["spec"].get("clusterIP") in (None, "", "None"):
        labels[HEADLESS] = ""
    return {**labels, SERVICE_NAME: service["metadata"]["name"], MANAGED_BY: MANAGER}


def endpoint(service: Object, pod: Object, address_type: str, zones: dict[str, str | None]) -> Object:
    serving, terminating = behind.is_ready(pod), behind.is_terminating(pod)
    ready = bool(service["spec"].get("publishNotReadyAddresses")) or (serving and not terminating)
    metadata = pod["metadata"]
    found: Object = {
        "addresses": behind.addresses_of(pod, address_type),
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
    }
    if behind.has_hostname(service, pod):
        found["hostname"] = pod["spec"]["hostname"]
    found["targetRef"] = {
        "kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"],
    }  # fmt: skip
    node = pod["spec"].get("nodeName")
    if node:
        found["nodeName"] = node
        if zones.get(node):
            found["zone"] = zones[node]
    return found


def _identity(each: Object) -> str:
    reference = each.get("targetRef") or {}
    return f"{reference.get('uid')}/{','.join(each['addresses'])}"
