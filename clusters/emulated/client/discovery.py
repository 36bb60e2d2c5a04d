"""Which resources an api-server serves right now, for components that work on all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from clusters.emulated.client.api import Api
from clusters.emulated.client.errors import ApiFailure
from clusters.emulated.client.resources import Resource


@dataclass(frozen=True, slots=True)
class Discovered:
    """The preferred version of every resource with its verbs, and the group versions that did not answer."""

    resources: dict[Resource, frozenset[str]]
    failed: dict[str, str]


async def discover(api: Api) -> Discovered:
    """Asks for the group list and each group's preferred resources, one document each."""
    resources: dict[Resource, frozenset[str]] = {}
    failed: dict[str, str] = {}
    _collect(resources, "", "v1", await api.document("/api/v1"))
    for group in (await api.document("/apis"))["groups"]:
        seen: set[str] = set()
        for each in group["versions"]:
            group_version = each["groupVersion"]
            try:
                document = await api.document(f"/apis/{group_version}")
            except ApiFailure as failure:
                failed[group_version] = failure.message
                continue
            _collect(resources, group["name"], each["version"], document, seen)
    return Discovered(resources, failed)


def _collect(
    resources: dict[Resource, frozenset[str]],
    group: str,
    version: str,
    document: dict[str, Any],
    seen: set[str] | None = None,
) -> None:
    """Versions come most preferred first: a resource counts at the first that has it."""
    for row in document.get("resources") or ():
        name = row["name"]
        if "/" in name or (seen is not None and name in seen):
            continue
        if seen is not None:
            seen.add(name)
        resource = Resource(group, version, name, row["kind"], row["namespaced"])
        resources[resource] = frozenset(row["verbs"])
