"""How ownership moves when an object changes, whoever changed it and however.

Who changes a field owns it; appliers and updaters that owned it before lose it, and what is gone is owned by
nobody. Managers recorded their fields in the version they used, so each version is compared in itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from clusters.kube.apply.compare import compare_maps
from clusters.kube.apply.entries import Managed, Manager
from clusters.kube.apply.fieldset import FieldSet, difference, from_paths, in_order, intersection, union
from clusters.kube.apply.object_type import ObjectType
from clusters.kube.apply.schema_change import reconcile

Object: TypeAlias = dict[str, Any]
#: Takes out of a set what an endpoint does not let its clients write.
Filter: TypeAlias = Callable[[FieldSet], FieldSet]
#: The object in another version, with that version's type; None if the kind has no such version.
Convert: TypeAlias = Callable[[Object, str], tuple[Object, ObjectType] | None]

_UNMANAGED_METADATA = (
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields",
    "resourceVersion",
)  # fmt: skip
_SKIPPED_METADATA = frozenset(_UNMANAGED_METADATA)
_SKIPPED = frozenset(("apiVersion", "kind", "metadata"))
#: Fields that nobody ever owns.
UNMANAGED = from_paths(
    ("f:apiVersion",),
    ("f:kind",),
    ("f:metadata",),
    *(("f:metadata", f"f:{each}") for each in _UNMANAGED_METADATA),
)


@dataclass(slots=True)
class Changes:
    """Field sets, empty where there is nothing; fields that nobody owns are not in them."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    def taken(self) -> FieldSet:
        return union(self.modified, self.added)

    def filtered(self, keep: Filter | None) -> Changes:
        if keep is None:
            return self
        return Changes(keep(self.added), keep(self.modified), keep(self.removed))


def changes(kind: ObjectType, old: Object, new: Object) -> Changes:
    """What changed between two objects of one version."""
    root = kind.root.map
    assert root is not None
    metadata = root.of("metadata")
    assert metadata is not None
    assert metadata.map is not None
    top = compare_maps(root, old, new, _SKIPPED) or (None, None, None)
    old_metadata, new_metadata = old.get("metadata") or {}, new.get("metadata") or {}
    below = None
    if old_metadata is not new_metadata:
        below = compare_maps(metadata.map, old_metadata, new_metadata, _SKIPPED_METADATA)
    if below is None:
        return Changes(top[0] or {}, top[1] or {}, top[2] or {})
    return Changes(*(_with_metadata(*pair) for pair in zip(top, below, strict=True)))


def _with_metadata(fields: FieldSet | None, metadata: FieldSet | None) -> FieldSet:
    if metadata is None:
        return fields or {}
    return in_order({**fields, "f:metadata": metadata}) if fields else {"f:metadata": metadata}


@dataclass(slots=True)
class Versions:
    """One request's view: its own version, its type, and how to get to the versions others recorded."""

    api_version: str
    kind: ObjectType
    #: What the endpoint resets; all versions of a kind reset the same.
    keep: Filter | None = None
    convert: Convert | None = None

    def to(self, obj: Object, from_version: str, version: str) -> tuple[Object, ObjectType] | None:
        if version == from_version == self.api_version:
            return obj, self.kind
        if self.convert is None:
            return None
        if version == from_version:
            found = self.convert({}, version)
            return None if found is None else (obj, found[1])
        return self.convert(obj, version)

    def reconciled(self, managed: Managed) -> Managed:
        """The managed fields under the present schema; versions that are no more fall away later."""
        if not self.kind.may_change:
            return managed
        result = dict(managed)
        for manager, entry in managed.items():
            kind = self.kind
            if entry["apiVersion"] != self.api_version:
                found = self.to({}, self.api_version, entry["apiVersion"])
                if found is None:
                    continue
                kind = found[1]
            fields = reconcile(entry["fieldsV1"], kind.root)
            if fields is not entry["fieldsV1"]:
                result[manager] = {**entry, "fieldsV1": fields}
        return result

    def changed(self, old: Object, new: Object, version: str) -> Changes | None:
        """The changes in `version`, without what the endpoint resets; None if the version is no more."""
        if version == self.api_version:
            found = changes(self.kind, old, new)
        else:
            before = self.to(old, self.api_version, version)
            after = self.to(new, self.api_version, version)
            if before is None or after is None:
                return None
            found = changes(after[1], before[0], after[0])
        return found.filtered(self.keep)


def move(
    versions: Versions, old: Object, new: Object, managed: Managed, myself: Manager | None
) -> tuple[Managed, Changes, dict[Manager, FieldSet]]:
    """The others' entries after the change, what changed, and what of it was theirs (conflicts)."""
    own = versions.changed(old, new, versions.api_version)
    assert own is not None
    by_version: dict[str, tuple[Changes, FieldSet] | None] = {versions.api_version: (own, own.taken())}
    moved: Managed = {}
    conflicts: dict[Manager, FieldSet] = {}
    for manager, entry in managed.items():
        if manager == myself:
            moved[manager] = entry
            continue
        version = entry["apiVersion"]
        if version not in by_version:
            found = versions.changed(old, new, version)
            by_version[version] = None if found is None else (found, found.taken())
        changed = by_version[version]
        if changed is None:
            continue
        fields = entry["fieldsV1"]
        left = difference(difference(fields, changed[1]), changed[0].removed)
        if left is fields:
            if fields:
                moved[manager] = entry
            continue
        theirs = intersection(fields, changed[1])
        if theirs:
            conflicts[manager] = theirs
        if left:
            moved[manager] = {**entry, "fieldsV1": left}
    return moved, own, conflicts
