"""Managed fields of the `scale` subresource: a Scale has no entries of its own, they are those of its parent.

For a request on `…/scale` the Scale gets `entries_of_scale(parent)`, is updated or applied like any object of
`autoscaling/v1`, and `entries_of_parent` brings the result home.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusters.kube.apply.entries import Entry, Managed, encode, in_order, manager_of, read, written
from clusters.kube.apply.fieldset import Path, difference, from_paths, has

SCALE_VERSION = "autoscaling/v1"
_REPLICAS: Path = ("f:spec", "f:replicas")


def entries_of_scale(parent: list[Entry] | None, replicas: Mapping[str, Path]) -> list[Entry]:
    """`replicas` says, by the parent's apiVersion, where its replicas are: `("f:spec", "f:replicas")`."""
    of_scale: Managed = {}
    for manager, entry in read(parent).items():
        path = replicas.get(entry["apiVersion"])
        if path is not None and has(entry["fieldsV1"], path):
            of_scale[manager] = written(manager, SCALE_VERSION, from_paths(_REPLICAS), entry.get("time"))
    return encode(of_scale)


def entries_of_parent(
    parent: list[Entry] | None, scale: list[Entry] | None, api_version: str, replicas: Mapping[str, Path]
) -> list[Entry]:
    """The parent's entries after the Scale was written; new owners of the replicas have no time."""
    after = read(scale)
    entries: list[Entry] = []
    for manager, entry in read(parent).items():
        if entry["apiVersion"] not in replicas:
            continue
        path = replicas[entry["apiVersion"]]
        if not has(entry["fieldsV1"], path) or after.pop(manager, None) is not None:
            entries.append(entry)
            continue
        left = difference(entry["fieldsV1"], from_paths(path))
        if left:
            entries.append({**entry, "fieldsV1": left})
    for entry in after.values():
        if has(entry["fieldsV1"], _REPLICAS):
            owner = manager_of({**entry, "apiVersion": api_version})
            entries.append(written(owner, api_version, from_paths(replicas[api_version]), None))
    return in_order(entries)
