"""Which volume a claim could be bound to on a node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusters.emulated.scheduler.node_selection import node_selector
from clusters.emulated.scheduler.volumes.pod_claims import claim_class, volume_class
from clusters.kube import quantity, selectors
from clusters.kube.quantity import ZERO, Quantity

Object = dict[str, Any]


def fits_node(volume: Object, labels: Mapping[str, str]) -> bool:
    """A volume that is only reachable from some nodes says so in its node affinity."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or node_selector(required)(labels, "")


def storage(resource_list: Object | None) -> Quantity:
    text = (resource_list or {}).get("storage")
    return ZERO if text is None else quantity.parse(str(text))


def requested(claim: Object) -> Quantity:
    return storage((claim["spec"].get("resources") or {}).get("requests"))


def is_bound_to(volume: Object, claim: Object) -> bool:
    reference = volume["spec"].get("claimRef")
    if not reference:
        return False
    metadata = claim["metadata"]
    if (reference.get("namespace"), reference.get("name")) != (metadata["namespace"], metadata["name"]):
        return False
    return not reference.get("uid") or reference["uid"] == metadata["uid"]


def find_volume(claim: Object, volumes: Sequence[Object], labels: Mapping[str, str], taken: set[str]) -> Object | None:
    """The volume that was reserved for the claim, or else the smallest one that will do."""
    wanted = requested(claim)
    selector = claim["spec"].get("selector")
    matches = None if selector is None else selectors.from_label_selector(selector).matches
    smallest: Object | None = None
    smallest_size = ZERO
    for volume in volumes:
        spec = volume["spec"]
        if volume["metadata"]["name"] in taken or not _may_be_used(volume, claim, wanted):
            continue
        reachable = fits_node(volume, labels)
        if is_bound_to(volume, claim):
            return volume if reachable else None
        if (volume.get("status") or {}).get("phase") != "Available" or not reachable:
            continue
        if matches is not None and not matches(volume["metadata"].get("labels") or {}):
            continue
        if volume_class(volume) != claim_class(claim):
            continue
        if not set(claim["spec"].get("accessModes") or ()) <= set(spec.get("accessModes") or ()):
            continue
        size = storage(spec.get("capacity"))
        if smallest is None or size < smallest_size:
            smallest, smallest_size = volume, size
    return smallest


def _may_be_used(volume: Object, claim: Object, wanted: Quantity) -> bool:
    spec = volume["spec"]
    if spec.get("claimRef") and not is_bound_to(volume, claim):
        return False
    if storage(spec.get("capacity")) < wanted or "deletionTimestamp" in volume["metadata"]:
        return False
    if (claim["spec"].get("volumeMode") or "Filesystem") != (spec.get("volumeMode") or "Filesystem"):
        return False
    attributes = "volumeAttributesClassName"
    return (claim["spec"].get(attributes) or "") == (spec.get(attributes) or "")
