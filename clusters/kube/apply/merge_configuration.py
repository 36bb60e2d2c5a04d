"""Applying a configuration to an object: merge it in, take out what the applier applied before and not now,
and say who owns what afterwards."""

from __future__ import annotations

from typing import Any

from clusters.kube.apply.conflicts import ConflictsError
from clusters.kube.apply.entries import Entry, Managed, Manager, written
from clusters.kube.apply.fieldset import FieldSet, difference, intersection, union
from clusters.kube.apply.object_type import ObjectType
from clusters.kube.apply.ownership import UNMANAGED, Object, Versions, move
from clusters.kube.apply.typed import merge, owned, remove, with_named_fields


def merge_configuration(
    versions: Versions, live: Object, config: Object, managed: Managed, manager: Manager, force: bool
) -> tuple[Object | None, Managed]:
    """The merged object, None if it is the live one, and the managed fields; raises `ConflictsError`."""
    managed = dict(versions.reconciled(managed))
    version = versions.api_version
    merged: Object = merge(versions.kind.root, live, config)
    last = managed.get(manager)
    fields = owned(versions.kind.root, config)
    if versions.keep is not None:
        fields = versions.keep(fields)
    managed[manager] = written(manager, version, fields, last.get("time") if last else None)
    # An applier that drops nothing takes nothing out, and most applies are such.
    if last is not None and (last["apiVersion"] != version or difference(last["fieldsV1"], fields)):
        merged = _pruned(versions, merged, managed, last)
    managed, _, conflicts = move(versions, live, merged, managed, manager)
    if conflicts and not force:
        raise ConflictsError.of(conflicts)
    fields = difference(fields, UNMANAGED)
    if fields:
        managed[manager] = {**managed[manager], "fieldsV1": fields}
    else:
        del managed[manager]
    return (None if merged == live else merged), managed


def _pruned(versions: Versions, merged: Object, managed: Managed, last: Entry) -> Object:
    """Without what the applier applied last time, unless it does again or anybody else owns it."""
    version = last["apiVersion"]
    found = versions.to(merged, versions.api_version, version)
    if found is None:
        return merged
    in_last, kind = found
    pruned = remove(kind.root, in_last, with_named_fields(last["fieldsV1"], kind.root))
    pruned = _with_owned(versions, in_last, pruned, version, managed)
    pruned = _without_applied(versions, in_last, kind, pruned, last)
    back = versions.to(pruned, version, versions.api_version)
    return merged if back is None else back[0]


def _with_owned(versions: Versions, merged: Any, pruned: Any, version: str, managed: Managed) -> tuple[Any, str]:
    """What was taken out and is owned by somebody is put back; the version it ends in is told."""
    sets: dict[str, FieldSet] = {version: {}}  # The pruned version first: others may need it to convert.
    for entry in managed.values():
        each = entry["apiVersion"]
        sets[each] = union(sets.get(each, {}), entry["fieldsV1"])
    at = version
    for each, fields in sets.items():
        found, found_pruned = versions.to(merged, at, each), versions.to(pruned, at, each)
        if found is None or found_pruned is None or not fields:
            continue
        (merged, kind), (pruned, _), at = found, found_pruned, each
        root = kind.root
        kept = union(with_named_fields(owned(root, pruned), root), with_named_fields(fields, root))
        pruned = remove(root, merged, difference(with_named_fields(owned(root, merged), root), kept))
    return pruned, at


def _without_applied(versions: Versions, merged: Any, kind: ObjectType, pruned: tuple[Any, str], last: Entry) -> Any:
    """Only what the applier itself had applied goes; what dangles below it stays."""
    found = versions.to(pruned[0], pruned[1], last["apiVersion"])
    if found is None:
        return merged
    root = kind.root
    left = with_named_fields(owned(root, found[0]), root)
    gone = difference(with_named_fields(owned(root, merged), root), left)
    return remove(root, merged, intersection(gone, with_named_fields(last["fieldsV1"], root)))
