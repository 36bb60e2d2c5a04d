"""Which PersistentVolume a claim gets: the pure half of the binder.

Of the volumes that satisfy the claim, those with the fewest access modes come first, and of these the smallest.
"""

from __future__ import annotations

from typing import Any

from clusters.kube import selectors
from clusters.kube.quantity import ZERO, Quantity, parse

Object = dict[str, Any]

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
BETA_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_SHORT_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def annotations_of(obj: Object) -> dict[str, str]:
    found: dict[str, str] = obj["metadata"].get("annotations") or {}
    return found


def class_of(obj: Object) -> str:
    """The storage class of a claim or a volume; empty for none."""
    return annotations_of(obj).get(_BETA_CLASS) or obj["spec"].get("storageClassName") or ""


def has_class(claim: Object) -> bool:
    """Also when the claim says that it wants none."""
    return _BETA_CLASS in annotations_of(claim) or claim["spec"].get("storageClassName") is not None


def is_bound_to(volume: Object, claim: Object) -> bool:
    """Whether the volume is bound to this claim, or reserved for it by name."""
    reference, metadata = volume["spec"].get("claimRef"), claim["metadata"]
    return (
        reference is not None
        and (reference.get("name"), reference.get("namespace")) == (metadata["name"], metadata["namespace"])
        and reference.get("uid") in (None, "", metadata["uid"])
    )


def requested(claim: Object) -> Quantity:
    return _storage((claim["spec"].get("resources") or {}).get("requests"))


def capacity(volume: Object) -> Quantity:
    return _storage(volume["spec"].get("capacity"))


def _storage(amounts: Object | None) -> Quantity:
    text = (amounts or {}).get("storage")
    return ZERO if text is None else parse(str(text))


def _mode(obj: Object) -> str:
    return obj["spec"].get("volumeMode") or "Filesystem"


def modes_differ(volume: Object, claim: Object) -> bool:
    return _mode(volume) != _mode(claim)


def _attributes_class(obj: Object) -> str:
    return obj["spec"].get("volumeAttributesClassName") or ""


def _allows(volume: Object, claim: Object) -> bool:
    return set(volume["spec"].get("accessModes") or ()) >= set(claim["spec"].get("accessModes") or ())


def best_match(claim: Object, volumes: list[Object], *, delayed: bool) -> Object | None:
    """The volume to bind; with `delayed` only one that is reserved for this claim already."""
    groups: dict[tuple[str, ...], list[Object]] = {}
    for volume in volumes:
        if _allows(volume, claim):
            short = {_SHORT_MODES.get(mode, mode) for mode in volume["spec"].get("accessModes") or ()}
            groups.setdefault(tuple(sorted(short)), []).append(volume)
    for modes in sorted(groups, key=len):
        found = _smallest(claim, groups[modes], delayed)
        if found is not None:
            return found
    return None


def _smallest(claim: Object, volumes: list[Object], delayed: bool) -> Object | None:
    selector = claim["spec"].get("selector")
    compiled = None if selector is None else selectors.from_label_selector(selector)
    size, best = requested(claim), None
    for volume in volumes:
        bound = is_bound_to(volume, claim)
        if (
            (volume["spec"].get("claimRef") is not None and not bound)
            or capacity(volume) < size
            or modes_differ(volume, claim)
            or _attributes_class(volume) != _attributes_class(claim)
            or volume["metadata"].get("deletionTimestamp")
        ):
            continue
        if bound:
            return volume
        if (
            delayed
            or (volume.get("status") or {}).get("phase") != "Available"
            or (compiled is not None and not compiled.matches(volume["metadata"].get("labels") or {}))
            or class_of(volume) != class_of(claim)
        ):
            continue
        if best is None or capacity(best) > capacity(volume):
            best = volume
    return best


def mismatch(volume: Object, claim: Object) -> str:
    """Why a claim cannot have the volume that it names, in Kubernetes' words; empty if it can."""
    if volume["metadata"].get("deletionTimestamp"):
        return f'the volume is marked for deletion "{volume["metadata"]["name"]}"'
    if capacity(volume).value() < requested(claim).value():
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if _attributes_class(volume) != _attributes_class(claim):
        return "volumeAttributesClassName does not match"
    if modes_differ(volume, claim):
        return "incompatible volumeMode"
    return "" if _allows(volume, claim) else "incompatible accessMode"


def default_class(classes: list[Object]) -> Object | None:
    """The newest of the classes that are marked as default; of two of the same age the first by name."""
    marked = [
        each
        for each in classes
        if "true"
        in (
            annotations_of(each).get("storageclass.kubernetes.io/is-default-class"),
            annotations_of(each).get("storageclass.beta.kubernetes.io/is-default-class"),
        )
    ]
    marked.sort(key=lambda each: each["metadata"]["name"])
    return max(marked, key=lambda each: str(each["metadata"]["creationTimestamp"]), default=None)
