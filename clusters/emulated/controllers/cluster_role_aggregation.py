"""A ClusterRole with an aggregationRule has the rules of all ClusterRoles that its selectors match."""

from __future__ import annotations

from typing import Any

from clusters.emulated.client.controller import Controller
from clusters.emulated.client.resources import CLUSTER_ROLES
from clusters.kube import selectors

Object = dict[str, Any]


class ClusterRoleAggregation(Controller):
    name = "clusterrole-aggregation-controller"

    def setup(self) -> None:
        self._roles = self.informer(CLUSTER_ROLES)
        self._roles.add_handler(
            self._any_changed, lambda _, new: self._any_changed(new), lambda gone, _: self._any_changed(gone)
        )

    def _any_changed(self, role: Object) -> None:
        for each in self._roles.store.list():
            if each.get("aggregationRule"):
                self.enqueue(each)

    async def reconcile(self, key: str) -> None:
        role = self._roles.store.get(key)
        if role is None or not role.get("aggregationRule"):
            return
        rules = aggregated(role, self._roles.store.list())
        if rules == (role.get("rules") or []):
            return
        applied = {
            "apiVersion": CLUSTER_ROLES.api_version,
            "kind": CLUSTER_ROLES.kind,
            "metadata": {"name": key},
            "rules": rules,
        }
        await self.api.patch(CLUSTER_ROLES, key, applied, type="apply", field_manager=self.name, force=True)


def aggregated(role: Object, roles: list[Object]) -> list[Object]:
    """The rules of the matching roles, by name, each rule once."""
    found: list[Object] = []
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        matches = selectors.from_label_selector(selector).matches
        for each in sorted(roles, key=lambda each: str(each["metadata"]["name"])):
            if each["metadata"]["name"] != role["metadata"]["name"] and matches(each["metadata"].get("labels") or {}):
                found += [rule for rule in each.get("rules") or () if rule not in found]
    return found
