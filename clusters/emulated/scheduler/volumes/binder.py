"""Claims that wait for their first consumer: what they could get on a node, and seeing that they get it.

claims = binder.claims_of(pod)                       # once per attempt
volumes = binder.find(claims, node)                  # per node; raises VolumeConflictError
binder.assume(pod, node, volumes)                    # nobody else may take them now
await binder.bind(pod, node, volumes)                # tell the api-server and wait until it is done
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import ApiFailure
from clusters.emulated.client.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from clusters.emulated.clock import Clock
from clusters.emulated.scheduler.fit_error import PluginError
from clusters.emulated.scheduler.listers import Listers
from clusters.emulated.scheduler.node_info import NodeInfo
from clusters.emulated.scheduler.pod_info import PodInfo
from clusters.emulated.scheduler.volumes import matching
from clusters.emulated.scheduler.volumes.pod_claims import (
    BOUND_BY_CONTROLLER,
    SELECTED_NODE,
    claim_class,
    claim_names,
    is_fully_bound,
    key_of,
    volume_class,
)
from clusters.kube import selectors

Object = dict[str, Any]

NODE_CONFLICT: Final = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT: Final = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE: Final = "node(s) did not have enough free storage"
VOLUME_GONE: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"

BIND_TIMEOUT_S: Final = 600.0
POLL_S: Final = 1.0


class VolumeConflictError(Exception):
    """The node cannot give the Pod its volumes."""

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__(", ".join(reasons))
        self.reasons = reasons


@dataclass(slots=True)
class ClaimsOfPod:
    bound: list[Object] = field(default_factory=list)
    delayed: list[Object] = field(default_factory=list)
    immediate: list[Object] = field(default_factory=list)


@dataclass(slots=True)
class PodVolumes:
    """`static` are (volume, claim) pairs; `provisions` are claims whose volume is still to be made."""

    static: list[tuple[Object, Object]] = field(default_factory=list)
    provisions: list[Object] = field(default_factory=list)


class VolumeBinder:
    def __init__(self, api: Api, clock: Clock, listers: Listers) -> None:
        self._api = api
        self._clock = clock
        self._listers = listers
        # What this scheduler promised and the informers do not show yet, by name and key.
        self._assumed_volumes: dict[str, Object] = {}
        self._assumed_claims: dict[str, Object] = {}

    # Reading, with what is assumed

    def claim(self, key: str) -> Object | None:
        return _newer(self._listers.claims.get(key), self._assumed_claims, key)

    def volume(self, name: str) -> Object | None:
        return _newer(self._listers.volumes.get(name), self._assumed_volumes, name)

    def claims_of(self, pod: PodInfo) -> ClaimsOfPod:
        found = ClaimsOfPod()
        for name, _ in claim_names(pod):
            key = f"{pod.namespace}/{name}"
            claim = self.claim(key)
            if claim is None:
                raise PluginError(f'error getting PVC "{key}": could not find v1.PersistentVolumeClaim "{key}"')
            if is_fully_bound(claim):
                found.bound.append(claim)
            elif self._waits_for_consumer(claim) and not claim["spec"].get("volumeName"):
                found.delayed.append(claim)
            else:
                found.immediate.append(claim)
        return found

    def _waits_for_consumer(self, claim: Object) -> bool:
        name = claim_class(claim)
        storage_class = self._listers.storage_classes.get(name) if name else None
        return storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"

    # Deciding

    def find(self, claims: ClaimsOfPod, node: NodeInfo) -> PodVolumes:
        """Raises VolumeConflictError with all reasons against the node."""
        reasons = []
        for claim in claims.bound:
            volume = self.volume(claim["spec"]["volumeName"])
            if volume is None:
                reasons.append(VOLUME_GONE)
                break
            if not matching.fits_node(volume, node.labels):
                reasons.append(NODE_CONFLICT)
                break
        found = PodVolumes()
        if claims.delayed:
            problem = self._find_delayed(claims.delayed, node, found)
            if problem:
                # The order in which Kubernetes lists them: a missing volume comes last.
                reasons.insert(1 if NODE_CONFLICT in reasons else 0, problem)
        if reasons:
            raise VolumeConflictError(tuple(reasons))
        return found

    def _find_delayed(self, delayed: list[Object], node: NodeInfo, found: PodVolumes) -> str:
        to_provision, to_match = [], []
        for claim in delayed:
            selected = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
            if selected is None:
                to_match.append(claim)
            elif selected != node.name:
                return BIND_CONFLICT
            else:
                to_provision.append(claim)
        taken: set[str] = set()
        for claim in sorted(to_match, key=matching.requested):
            candidates = self._volumes_of_class(claim_class(claim))
            volume = matching.find_volume(claim, candidates, node.labels, taken)
            if volume is None:
                to_provision.append(claim)
            else:
                taken.add(volume["metadata"]["name"])
                found.static.append((volume, claim))
        return self._check_provisions(to_provision, node, found)

    def _volumes_of_class(self, name: str) -> list[Object]:
        candidates = []
        for volume in self._listers.volumes.list():
            known = self.volume(volume["metadata"]["name"])
            if known is not None and volume_class(known) == name:
                candidates.append(known)
        return candidates

    def _check_provisions(self, claims: list[Object], node: NodeInfo, found: PodVolumes) -> str:
        for claim in claims:
            name = claim_class(claim)
            storage_class = self._listers.storage_classes.get(name)
            if storage_class is None:
                raise PluginError(f'failed to find storage class "{name}"')
            provisioner = storage_class.get("provisioner") or NO_PROVISIONER
            if provisioner == NO_PROVISIONER or not _allows(storage_class, node):
                return BIND_CONFLICT
            if not self._has_capacity(provisioner, claim, name, node):
                return NOT_ENOUGH_SPACE
            found.provisions.append(claim)
        return ""

    def _has_capacity(self, provisioner: str, claim: Object, class_name: str, node: NodeInfo) -> bool:
        """Drivers that publish their capacities are only asked for what some capacity object can hold."""
        driver = self._listers.csi_drivers.get(provisioner)
        if driver is None or not (driver.get("spec") or {}).get("storageCapacity"):
            return True
        if "storage" not in ((claim["spec"].get("resources") or {}).get("requests") or {}):
            return True
        wanted = matching.requested(claim)
        for capacity in self._listers.csi_storage_capacities.list():
            limit = capacity.get("maximumVolumeSize", capacity.get("capacity"))
            topology = capacity.get("nodeTopology")
            if (
                capacity.get("storageClassName") == class_name
                and limit is not None
                and topology is not None
                and matching.storage({"storage": limit}) >= wanted
                and selectors.from_label_selector(topology).matches(node.labels)
            ):
                return True
        return False

    # Keeping

    def assume(self, pod: PodInfo, node_name: str, volumes: PodVolumes) -> bool:
        """Whether all claims are bound already, so that nothing is left to do."""
        if all(self._is_bound(f"{pod.namespace}/{name}") for name, _ in claim_names(pod)):
            return True
        volumes.static = [(bound_to(volume, claim), claim) for volume, claim in volumes.static]
        for volume, _ in volumes.static:
            self._assumed_volumes[volume["metadata"]["name"]] = volume
        volumes.provisions = [_annotated(claim, SELECTED_NODE, node_name) for claim in volumes.provisions]
        for claim in volumes.provisions:
            self._assumed_claims[key_of(claim)] = claim
        return False

    def _is_bound(self, key: str) -> bool:
        claim = self.claim(key)
        return claim is not None and is_fully_bound(claim)

    def revert(self, volumes: PodVolumes) -> None:
        for volume, _ in volumes.static:
            self._assumed_volumes.pop(volume["metadata"]["name"], None)
        for claim in volumes.provisions:
            self._assumed_claims.pop(key_of(claim), None)

    # Doing

    async def bind(self, pod: PodInfo, node_name: str, volumes: PodVolumes) -> None:
        """Returns when all claims are bound. Raises PluginError."""
        try:
            for place, (volume, claim) in enumerate(volumes.static):
                written = await self._api.update(PERSISTENT_VOLUMES, volume)
                self._assumed_volumes[volume["metadata"]["name"]] = written
                volumes.static[place] = (written, claim)
            for place, claim in enumerate(volumes.provisions):
                written = await self._api.update(PERSISTENT_VOLUME_CLAIMS, claim)
                self._assumed_claims[key_of(claim)] = written
                volumes.provisions[place] = written
        except ApiFailure as refused:
            raise PluginError(refused.message) from refused
        deadline_s = self._clock.monotonic_s() + BIND_TIMEOUT_S
        while True:
            await self._clock.sleep(POLL_S)
            if self._all_bound(pod, node_name, volumes):
                return
            if self._clock.monotonic_s() >= deadline_s:
                raise PluginError("binding volumes: context deadline exceeded")

    def _all_bound(self, pod: PodInfo, node_name: str, volumes: PodVolumes) -> bool:
        if self._listers.pods.get(pod.key) is None:
            raise PluginError(f'binding volumes: pod does not exist any more: pod "{pod.name}" not found')
        if self._listers.nodes.get(node_name) is None:
            raise PluginError(f'binding volumes: failed to get node "{node_name}": node "{node_name}" not found')
        return all(self._static_bound(*pair) for pair in volumes.static) and all(
            self._provisioned(claim, node_name) for claim in volumes.provisions
        )

    def _static_bound(self, volume: Object, claim: Object) -> bool:
        name = volume["metadata"]["name"]
        current = self._listers.volumes.get(name)
        if current is None:
            raise PluginError(f'binding volumes: failed to check binding: could not find v1.PersistentVolume "{name}"')
        if _version(current) < _version(volume):
            return False
        if not (current["spec"].get("claimRef") or {}).get("uid"):
            raise PluginError(f'binding volumes: ClaimRef got reset for pv "{name}"')
        return self._claim_is_bound(key_of(claim))

    def _provisioned(self, claim: Object, node_name: str) -> bool:
        key, name = key_of(claim), claim["metadata"]["name"]
        current = self._listers.claims.get(key)
        if current is not None and _version(current) < _version(claim):
            return False
        if current is not None:
            selected = (current["metadata"].get("annotations") or {}).get(SELECTED_NODE)
            if selected != node_name:
                # The provisioner gave the node back: it cannot make the volume there.
                raise PluginError(f'binding volumes: provisioning failed for PVC "{name}"')
        return self._claim_is_bound(key)

    def _claim_is_bound(self, key: str) -> bool:
        claim = self._listers.claims.get(key)
        if claim is None:
            raise PluginError(
                f'binding volumes: failed to check binding: could not find v1.PersistentVolumeClaim "{key}"'
            )
        return is_fully_bound(claim)


def _version(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


def _newer(stored: Object | None, assumed: dict[str, Object], key: str) -> Object | None:
    """An assumption holds until the informer shows something newer than it was based on."""
    promised = assumed.get(key)
    if promised is None:
        return stored
    if stored is None or _version(stored) > _version(promised):
        del assumed[key]
        return stored
    return promised


def _allows(storage_class: Object, node: NodeInfo) -> bool:
    terms = storage_class.get("allowedTopologies")
    if not terms:
        return True
    return any(
        all(node.labels.get(one["key"]) in one.get("values", ()) for one in term.get("matchLabelExpressions") or ())
        for term in terms
    )


def _annotated(obj: Object, name: str, value: str) -> Object:
    metadata = obj["metadata"]
    return {**obj, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), name: value}}}


def bound_to(volume: Object, claim: Object) -> Object:
    """The volume, reserved for the claim."""
    metadata = claim["metadata"]
    reference = volume["spec"].get("claimRef") or {}
    if (reference.get("name"), reference.get("namespace"), reference.get("uid")) == (
        metadata["name"],
        metadata["namespace"],
        metadata["uid"],
    ):
        return volume
    by_user = matching.is_bound_to(volume, claim)
    claim_reference = {
        "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "apiVersion": "v1",
        "resourceVersion": metadata["resourceVersion"],
    }
    bound = {**volume, "spec": {**volume["spec"], "claimRef": claim_reference}}
    # Only what the scheduler chose is undone when the claim goes; a reservation by hand stays.
    return bound if by_user else _annotated(bound, BOUND_BY_CONTROLLER, "yes")
