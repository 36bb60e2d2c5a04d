"""The discovery documents, built from the resources that are served right now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusters.emulated.apiserver.registry.resources import Resource, Subresource

Object = dict[str, Any]


def by_version(resources: Sequence[Resource]) -> dict[str, dict[str, list[Resource]]]:
    """Resources by group, then by version; the most preferred version of a group comes first."""
    groups: dict[str, dict[str, list[Resource]]] = {}
    for resource in resources:
        groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)
    return groups


def api_versions(address: str) -> Object:
    cidrs = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": cidrs}


def group(name: str, versions: Sequence[str], *, whole: bool) -> Object:
    """An APIGroup; within a list it does not repeat its kind."""
    described = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    head: Object = {"kind": "APIGroup", "apiVersion": "v1"} if whole else {}
    return {**head, "name": name, "versions": described, "preferredVersion": described[0]}


def group_list(groups: dict[str, dict[str, list[Resource]]]) -> Object:
    listed = [group(name, list(versions), whole=False) for name, versions in groups.items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}


def resource_list(group_version: str, resources: Sequence[Resource]) -> Object:
    rows: list[Object] = []
    for resource in resources:
        rows.append(_row(resource))
        rows += [_sub_row(resource, sub) for sub in resource.subresources]
    # Of the core group alone, Kubernetes leaves the apiVersion of this document out.
    version = {} if group_version == "v1" else {"apiVersion": "v1"}
    return {"kind": "APIResourceList", **version, "groupVersion": group_version, "resources": rows}


def _row(resource: Resource) -> Object:
    row: Object = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    if resource.storage_version_hash:
        row["storageVersionHash"] = resource.storage_version_hash
    return row


def _sub_row(resource: Resource, sub: Subresource) -> Object:
    group_name, version, kind = sub.kind
    row: Object = {
        "name": f"{resource.plural}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
    }
    if group_name:
        row["group"] = group_name
    if version:
        row["version"] = version
    row["kind"] = kind or resource.kind
    row["verbs"] = list(sub.verbs)
    return row


def aggregated(
    groups: dict[str, dict[str, list[Resource]]], *, core: bool, stale: frozenset[str] = frozenset()
) -> Object:
    """APIGroupDiscoveryList of the core group, or of all others; `stale` group versions are not answering."""
    items = []
    for name, versions in groups.items():
        if bool(name) == core:
            continue
        described = [
            {
                "version": version,
                **({"resources": [_aggregated_row(resource) for resource in resources]} if resources else {}),
                "freshness": "Stale" if f"{name}/{version}" in stale else "Current",
            }
            for version, resources in versions.items()
        ]
        items.append({"metadata": {"name": name} if name else {}, "versions": described})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _response_kind(resource: Resource) -> Object:
    if resource.custom:
        return {"group": resource.group, "version": resource.version, "kind": resource.kind}
    return {"group": "", "version": "", "kind": resource.kind}


def _aggregated_row(resource: Resource) -> Object:
    row: Object = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    if resource.subresources:
        row["subresources"] = [_aggregated_sub_row(resource, sub) for sub in resource.subresources]
    return row


def _aggregated_sub_row(resource: Resource, sub: Subresource) -> Object:
    group_name, version, kind = sub.kind
    if resource.custom and not group_name:
        group_name, version = resource.group, resource.version
    return {
        "subresource": sub.name,
        "responseKind": {"group": group_name, "version": version, "kind": kind or resource.kind},
        "verbs": list(sub.verbs),
    }
