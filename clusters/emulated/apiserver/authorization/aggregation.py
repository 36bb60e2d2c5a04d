"""Aggregated ClusterRoles: their rules are gathered from the ClusterRoles that their selectors pick."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clusters.emulated.apiserver.authorization.rules import PolicyRule
from clusters.kube.selectors import from_label_selector

Object = dict[str, Any]


def aggregate(cluster_role: Object, cluster_roles: Iterable[Object]) -> list[PolicyRule]:
    """The rules it should have: selector by selector, roles by name, each rule once."""
    by_name = sorted(cluster_roles, key=lambda role: str(role["metadata"]["name"]))
    own_name = cluster_role["metadata"]["name"]
    rules: list[PolicyRule] = []
    for label_selector in (cluster_role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        selector = from_label_selector(label_selector)
        for role in by_name:
            metadata = role["metadata"]
            if metadata["name"] != own_name and selector.matches(metadata.get("labels") or {}):
                rules.extend(rule for rule in role.get("rules") or () if rule not in rules)
    return rules
