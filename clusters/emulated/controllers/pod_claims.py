"""The PersistentVolumeClaims that a Pod's volumes name, its own ephemeral ones included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]


def ephemeral_claim_name(pod: Object, volume: Object) -> str:
    return f"{pod['metadata']['name']}-{volume['name']}"


def claims_of(pod: Object) -> Iterator[tuple[str, Object]]:
    """The name of each claim with the volume that names it."""
    for volume in pod["spec"].get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            yield volume["persistentVolumeClaim"]["claimName"], volume
        elif volume.get("ephemeral"):
            yield ephemeral_claim_name(pod, volume), volume


def claim_keys_of(pod: Object) -> list[str]:
    namespace = pod["metadata"]["namespace"]
    return [f"{namespace}/{name}" for name, _ in claims_of(pod)]


def belongs_to(claim: Object, pod: Object) -> bool:
    """Whether an ephemeral volume's claim was made for this very Pod."""
    return any(
        reference.get("controller") and reference["uid"] == pod["metadata"]["uid"]
        for reference in claim["metadata"].get("ownerReferences") or ()
    )
