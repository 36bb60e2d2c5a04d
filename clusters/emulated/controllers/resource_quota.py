"""Counts what namespaces use of their ResourceQuotas. Admission charges; this controller gives back and corrects.

A quota is counted anew when its limits change, when something it counts is deleted or comes to count less, and
every five minutes. Kinds that only a `count/…` names are watched from the first such quota on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clusters.emulated.apiserver.admission.quota import pods as pod_usage
from clusters.emulated.apiserver.admission.quota.usage import Evaluator, evaluator_for
from clusters.emulated.client.controller import Controller
from clusters.emulated.client.discovery import discover
from clusters.emulated.client.informers import SharedInformer
from clusters.emulated.client.resources import (
    CONFIG_MAPS,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    REPLICATION_CONTROLLERS,
    RESOURCE_QUOTAS,
    SECRETS,
    SERVICES,
    Resource,
)
from clusters.kube.quantity import ZERO, Quantity, parse

Object = dict[str, Any]
Amounts = dict[str, Quantity]

RESYNC_EVERY_S = 300.0
DISCOVER_EVERY_S = 30.0
_RESOURCE_CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")
_NAMED: tuple[Resource, ...] = (
    PODS, SERVICES, PERSISTENT_VOLUME_CLAIMS, CONFIG_MAPS, SECRETS, REPLICATION_CONTROLLERS, RESOURCE_QUOTAS,
    _RESOURCE_CLAIMS,
)  # fmt: skip
_NEEDED = frozenset(("create", "delete", "list", "watch"))


class ResourceQuotaController(Controller):
    name = "resourcequota-controller"

    def setup(self) -> None:
        self._quotas = self.informer(RESOURCE_QUOTAS)
        self._quotas.add_handler(self.enqueue, self._quota_changed)
        self._counted: dict[str, SharedInformer] = {}
        self._resources: dict[str, Resource] = {each.group_resource: each for each in _NAMED}
        self._discovered_s = -DISCOVER_EVERY_S
        self.periodic(RESYNC_EVERY_S, self._resync)

    def _quota_changed(self, old: Object, new: Object) -> None:
        if old["spec"].get("hard") != new["spec"].get("hard"):
            self.enqueue(new)

    async def _resync(self) -> None:
        for quota in self._quotas.store.list():
            self.enqueue(quota)

    async def reconcile(self, key: str) -> None:
        quota = self._quotas.store.get(key)
        if quota is None:
            return
        hard = amounts(quota["spec"].get("hard"))
        used: Amounts = {}
        for name in await self._countable(hard):
            informer = await self._watched(name)
            objects = informer.store.list(quota["metadata"]["namespace"])
            used |= usage(quota, evaluator_for(name), objects, hard, self.clock.now_s())
        status = status_of(quota, hard, used)
        if status is not None:
            await self.api.update(RESOURCE_QUOTAS, {**quota, "status": status}, subresource="status")

    # What is counted

    async def _countable(self, hard: Amounts) -> list[str]:
        """GroupResources that these limits count and that are served."""
        found = [each.group_resource for each in _NAMED if evaluator_for(each.group_resource).matching(hard)]
        for limit in hard:
            name = limit.removeprefix("count/")
            if limit != name and name not in found and await self._is_served(name):
                found.append(name)
        return found

    async def _is_served(self, name: str) -> bool:
        if name not in self._resources and self.clock.monotonic_s() - self._discovered_s >= DISCOVER_EVERY_S:
            self._discovered_s = self.clock.monotonic_s()
            for resource, verbs in (await discover(self.api)).resources.items():
                if resource.namespaced and verbs >= _NEEDED:
                    self._resources.setdefault(resource.group_resource, resource)
        return name in self._resources

    async def _watched(self, name: str) -> SharedInformer:
        informer = self._counted.get(name)
        if informer is None:
            informer = self._counted[name] = self.informer(self._resources[name])
            informer.add_handler(None, self._updated(name), lambda gone, _: self._replenish(name, gone))
            await informer.start()
        await informer.wait_synced()
        return informer

    def _updated(self, name: str) -> Callable[[Object, Object], None] | None:
        lowers = _LOWERS.get(name)
        if lowers is None:
            return None

        def updated(old: Object, new: Object) -> None:
            if lowers(old, new, self.clock.now_s()):
                self._replenish(name, new)

        return updated

    def _replenish(self, name: str, obj: Object) -> None:
        evaluator = evaluator_for(name)
        for quota in self._quotas.store.list(obj["metadata"].get("namespace") or ""):
            if evaluator.matching((quota.get("status") or {}).get("hard") or ()):
                self.enqueue(quota)


def amounts(texts: Object | None) -> Amounts:
    return {name: parse(str(text)) for name, text in (texts or {}).items()}


def usage(quota: Object, evaluator: Evaluator, objects: list[Object], hard: Amounts, now_s: float) -> Amounts:
    """What these objects of one kind use of the quota: every limit of the kind, also those nothing counts for."""
    names = evaluator.matching(hard)
    used = dict.fromkeys(names, ZERO)
    selectors = scope_selectors(quota["spec"])
    for obj in objects:
        if all(evaluator.matches_scope(selector, obj) for selector in selectors):
            for name, amount in evaluator.usage(obj, now_s).items():
                if name in used:
                    used[name] = used[name] + amount
    return used


def scope_selectors(spec: Object) -> list[Object]:
    plain: list[Object] = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    return plain + ((spec.get("scopeSelector") or {}).get("matchExpressions") or [])


def status_of(quota: Object, hard: Amounts, counted: Amounts) -> Object | None:
    """The quota's status; None when it is so already. What nobody could count keeps its number."""
    before = quota.get("status") or {}
    old_used = amounts(before.get("used"))
    used = {name: amount for name, amount in {**old_used, **counted}.items() if name in hard}
    if "hard" in before and "used" in before and amounts(before["hard"]) == hard and old_used == used:
        return None
    return {
        "hard": {name: str(amount) for name, amount in hard.items()},
        "used": {name: str(amount) for name, amount in used.items()},
    }


# Changes after which a kind's objects count for less, or for another scope


def _pod_counts_less(old: Object, new: Object, now_s: float) -> bool:
    if pod_usage.has_deadline(old) != pod_usage.has_deadline(new):
        return True
    if _container_resources(old) != _container_resources(new):
        return True
    return "pods" in pod_usage.usage(old, now_s) and "pods" not in pod_usage.usage(new, now_s)


def _container_resources(pod: Object) -> dict[str, Any]:
    status = pod.get("status") or {}
    return {
        each["name"]: each["resources"]
        for field in ("containerStatuses", "initContainerStatuses")
        for each in status.get(field) or ()
        if "resources" in each
    }


def _service_counts_less(old: Object, new: Object, now_s: float) -> bool:
    return bool(old["spec"].get("type") != new["spec"].get("type"))


def _claim_counts_less(old: Object, new: Object, now_s: float) -> bool:
    evaluator = evaluator_for("persistentvolumeclaims")
    return evaluator.usage(old, now_s) != evaluator.usage(new, now_s)


_LOWERS: dict[str, Callable[[Object, Object, float], bool]] = {
    "pods": _pod_counts_less,
    "services": _service_counts_less,
    "persistentvolumeclaims": _claim_counts_less,
}
