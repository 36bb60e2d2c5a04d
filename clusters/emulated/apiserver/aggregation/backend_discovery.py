"""What an aggregated api-server says it has: read from its aggregated discovery, or from the old documents."""

from __future__ import annotations

from typing import Any

from clusters.emulated.apiserver.registry.resources import Resource, Subresource

Object = dict[str, Any]

ACCEPT = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
)


def from_aggregated(document: Object, group: str, version: str) -> tuple[Resource, ...]:
    """The resources of one group and version in an APIGroupDiscoveryList."""
    for item in document.get("items") or ():
        if (item.get("metadata") or {}).get("name", "") != group:
            continue
        for each in item.get("versions") or ():
            if each.get("version") == version:
                return tuple(_resource(row, group, version) for row in each.get("resources") or ())
    return ()


def _resource(row: Object, group: str, version: str) -> Resource:
    kind = (row.get("responseKind") or {}).get("kind", "")
    return Resource(
        group=group,
        version=version,
        plural=row.get("resource", ""),
        kind=kind,
        singular=row.get("singularResource", ""),
        namespaced=row.get("scope") == "Namespaced",
        verbs=tuple(row.get("verbs") or ()),
        short_names=tuple(row.get("shortNames") or ()),
        categories=tuple(row.get("categories") or ()),
        subresources=tuple(_subresource(each) for each in row.get("subresources") or ()),
        list_kind=f"{kind}List",
        custom=True,
    )


def _subresource(row: Object) -> Subresource:
    kind = row.get("responseKind") or {}
    found = (kind.get("group", ""), kind.get("version", ""), kind.get("kind", ""))
    return Subresource(row.get("subresource", ""), tuple(row.get("verbs") or ()), found)


def from_legacy(document: Object, group: str, version: str) -> tuple[Resource, ...]:
    """The resources of an APIResourceList; `pods/status` belongs to `pods`."""
    rows: list[Object] = document.get("resources") or []
    below: dict[str, list[Subresource]] = {}
    for row in rows:
        parent, slash, name = row.get("name", "").partition("/")
        if slash:
            kind = (row.get("group", ""), row.get("version", ""), row.get("kind", ""))
            below.setdefault(parent, []).append(Subresource(name, tuple(row.get("verbs") or ()), kind))
    return tuple(
        Resource(
            group=group,
            version=version,
            plural=row["name"],
            kind=row.get("kind", ""),
            singular=row.get("singularName", ""),
            namespaced=bool(row.get("namespaced")),
            verbs=tuple(row.get("verbs") or ()),
            short_names=tuple(row.get("shortNames") or ()),
            categories=tuple(row.get("categories") or ()),
            subresources=tuple(below.get(row["name"], ())),
            storage_version_hash=row.get("storageVersionHash", ""),
            list_kind=f"{row.get('kind', '')}List",
            custom=True,
        )
        for row in rows
        if "/" not in row.get("name", "")
    )
