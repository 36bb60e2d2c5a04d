"""`metadata.managedFields`: reading the entries, naming their managers, and the order they are written in."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from clusters.kube.apply import fieldset
from clusters.kube.apply.elements import BadElementError
from clusters.kube.gostring import quote, to_json

Entry: TypeAlias = dict[str, Any]


class Manager(NamedTuple):
    """Who an entry belongs to. An applier is the same whatever version it applies; an updater is not."""

    name: str
    operation: str
    api_version: str
    subresource: str

    def identifier(self) -> str:
        """The JSON by which Kubernetes sorts managers."""
        parts = zip(("manager", "operation", "apiVersion", "subresource"), self, strict=True)
        return "{" + ",".join(f'"{name}":{to_json(text)}' for name, text in parts if text) + "}"

    def printed(self) -> str:
        """As conflicts name it: `"alpha"`, `"kubelet" with subresource "status" using v1`."""
        text = quote(self.name)
        if self.subresource:
            text = f"{text} with subresource {quote(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == "Update" else text


Managed: TypeAlias = dict[Manager, Entry]


class BadManagedFieldsError(ValueError):
    """Managed fields that cannot be read; what the object had before is kept instead."""


def manager_of(entry: Entry) -> Manager:
    operation = entry.get("operation", "")
    version = entry.get("apiVersion", "") if operation == "Update" else ""
    return Manager(entry.get("manager") or "", operation, version, entry.get("subresource") or "")


def read(entries: Any) -> Managed:
    """Entries that this module wrote, by manager."""
    return {manager_of(entry): entry for entry in entries or ()}


def decode(entries: Any) -> Managed:
    """Entries that a client sent, checked and in canonical form, by manager."""
    managed: Managed = {}
    for position, entry in enumerate(entries or ()):
        if entry.get("operation") not in ("Apply", "Update"):
            raise BadManagedFieldsError("operation must be `Apply` or `Update`")
        if not entry.get("apiVersion"):
            raise BadManagedFieldsError("apiVersion must not be empty")
        kind = entry.get("fieldsType") or ""
        if kind != "FieldsV1":
            if not kind:
                raise BadManagedFieldsError(f"missing fieldsType in managed fields entry {position}")
            raise BadManagedFieldsError(f"invalid fieldsType {quote(kind)} in managed fields entry {position}")
        manager = manager_of(entry)
        try:
            fields = fieldset.decode(entry.get("fieldsV1"))
        except BadElementError as error:
            raise BadManagedFieldsError(f"error decoding versioned set: {error}") from error
        fields.pop(fieldset.SELF, None)
        managed[manager] = written(manager, entry["apiVersion"], fields, entry.get("time"))
    return managed


def written(manager: Manager, api_version: str, fields: fieldset.FieldSet, time: str | None) -> Entry:
    """An entry, members in the order of the API type."""
    entry: Entry = {"manager": manager.name} if manager.name else {}
    entry["operation"] = manager.operation
    entry["apiVersion"] = api_version
    if time:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = fields
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def encode(managed: Managed) -> list[Entry]:
    """The entries in order: appliers first, then by time, manager, version and subresource."""
    return in_order(list(managed.values()))


def in_order(entries: list[Entry]) -> list[Entry]:
    return entries if len(entries) == 1 else sorted(entries, key=_place)


def _place(entry: Entry) -> tuple[str, ...]:
    return (
        entry["operation"], entry.get("time") or "", entry.get("manager", ""), entry["apiVersion"],
        entry.get("subresource", ""),
    )  # fmt: skip


def is_reset(entries: Any) -> bool:
    """A client asks to forget who owns what: an empty list, or one empty entry."""
    return isinstance(entries, list) and (not entries or (len(entries) == 1 and not any(entries[0].values())))


_UPDATERS_MAX = 10
_ANCIENT = "ancient-changes"


def capped(managed: Managed) -> Managed:
    """At most ten updaters: the oldest of one version share an entry, `ancient-changes`."""
    updaters = [manager for manager in managed if manager.operation == "Update"]
    excess = len(updaters) - _UPDATERS_MAX
    if excess <= 0:
        return managed
    managed = dict(managed)
    updaters.sort(key=lambda manager: (managed[manager].get("time") or "", manager.identifier()))
    first_of: dict[str, Manager] = {}
    for manager in updaters:
        if excess <= 0:
            break
        entry = managed[manager]
        version = entry["apiVersion"]
        first = first_of.setdefault(version, manager)
        if first is manager:
            continue
        bucket = Manager(_ANCIENT, "Update", version, "")
        if bucket not in managed:
            managed[bucket] = managed.pop(first)
        both = fieldset.union(entry["fieldsV1"], managed[bucket]["fieldsV1"])
        managed[bucket] = written(bucket, version, both, entry.get("time"))
        managed.pop(manager, None)
        excess -= 1
    return managed
